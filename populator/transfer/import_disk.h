/* SPDX-License-Identifier: Apache-2.0 */
/* A file that can be read anywhere, opened as the disk that is in it: raw, qcow2, or a foreign
 * format with qemu-nbd's help. What import_chunks.h needs. */
#ifndef POPULATOR_TRANSFER_IMPORT_DISK_H
#define POPULATOR_TRANSFER_IMPORT_DISK_H

#include "populator/format/foreign/foreign_helper.h"
#include "populator/format/probe.h"
#include "populator/source/source.h"
#include "populator/transfer/layout.h"

struct import_disk {
  struct source *source;  /* that the layout is of: the file, or what qemu-nbd makes of it */
  struct source *decoded; /* the latter, which belongs to the disk; else NULL */
  struct layout *layout;
  const char *format; /* "vmdk" */
};

/* Looks at the first bytes. */
int import_disk_probe(struct source *file, struct probe *ret_probe, struct error **err);

/* File and helper stay the caller's and must outlive the disk; the helper may be NULL, then foreign
 * formats are refused. INVALID_ARGUMENT and DATA_LOSS when the file is not what it claims to be. */
int import_disk_open(struct source *file, const struct probe *probe, struct foreign_helper *helper,
                     unsigned workers, struct import_disk *ret_disk, struct error **err);
/* Fine for one that is all zeros. */
void import_disk_close(struct import_disk *disk);

#endif
