/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its first bytes and never by its name.
 *
 * A probe only says what the bytes claim to be; whether the claim holds is for the reader of that
 * format to say. Everything that claims nothing is raw. A fixed VHD claims nothing in front: it is
 * a raw disk with a footer, which only its last 512 bytes tell (probe_is_vhd_footer()). */
#ifndef POPULATOR_FORMAT_PROBE_H
#define POPULATOR_FORMAT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

/* As many bytes are looked at, where there are as many: an ISO 9660 volume says so at 32 KiB. */
#define PROBE_BYTES ((size_t)64 << 10)
#define PROBE_FOOTER_BYTES ((size_t)512)

enum probe_format {
  PROBE_RAW,
  PROBE_QCOW2,
  PROBE_GZIP,
  PROBE_XZ,
  PROBE_ZSTD,
  PROBE_TAR,
  PROBE_VMDK,
  PROBE_VDI,
  PROBE_VHD, /* with blocks; a fixed one is PROBE_RAW */
  PROBE_VHDX,
  PROBE_QED,
  PROBE_LUKS,
  PROBE_UNSUPPORTED, /* something that is known and cannot be read: `name` says what */
};

struct probe {
  enum probe_format format;
  const char *name;   /* "qcow2", "gzip", "bzip2": static, for messages */
  const char *detail; /* of a raw disk: "GPT", "MBR", "ISO 9660"; else NULL */
};

void probe_bytes(const void *bytes, size_t len, struct probe *ret_probe);

/* A stream of it is decompressed, and what comes out is probed again. */
bool probe_is_compressed(enum probe_format format);
/* It is read with qemu's help, from a file that can be read anywhere. */
bool probe_is_foreign(enum probe_format format);

/* Why what is none of these cannot be imported: INVALID_ARGUMENT, -1. */
int probe_refuse(const struct probe *probe, struct error **err);

/* Whether the last 512 bytes of a file that looks raw are the footer of a fixed VHD, sound to its
 * checksum: then the disk is what stands before it. */
bool probe_is_vhd_footer(const void *footer, size_t len);

#endif
