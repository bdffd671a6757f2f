/* SPDX-License-Identifier: Apache-2.0 */
/* What a device holds, before anybody decides to format it: any signature that libblkid knows
 * (filesystems, RAID members, LUKS, LVM, partition tables), or any non-zero byte at its beginning.
 * Only a device with neither is blank. */
#ifndef NODEPLUGIN_SIGNATURE_H
#define NODEPLUGIN_SIGNATURE_H

#include "lib/base/error.h"

enum signature_kind {
  SIGNATURE_BLANK,
  SIGNATURE_FILESYSTEM, /* a filesystem by its name */
  SIGNATURE_OTHER,      /* something else that libblkid knows, or bytes that it does not know */
};

struct signature {
  enum signature_kind kind;
  char name[64]; /* "ext4", "gpt partition table", "unknown data"; "" when blank */
};

int signature_read(const char *device, struct signature *ret_signature, struct error **err);

#endif
