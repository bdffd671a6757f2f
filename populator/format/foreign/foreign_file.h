/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a foreign format as qemu-nbd gets to see it.
 *
 * qemu reads what lies behind the end of a file as zeros. It looks for itself whether a VHD or VHDX
 * file is as long as its tables say, but a vmdk, vdi or qed that was cut off would be a disk with
 * zeros in it. So these are shown without an end: whatever is read behind the real one comes here,
 * and is an error. Where qemu has to know the end to find what it looks for, it is shown.
 *
 * Any number of threads at once. */
#ifndef POPULATOR_FORMAT_FOREIGN_FOREIGN_FILE_H
#define POPULATOR_FORMAT_FOREIGN_FOREIGN_FILE_H

#include <pthread.h>

#include "populator/format/foreign/block_cache.h"

struct foreign_file {
  struct source *source;
  struct block_cache *cache;
  uint64_t size;      /* as it is shown */
  bool is_endless;    /* the real end is not shown */
  bool is_compressed; /* what is read may go beyond the end, as long as it begins before it */

  pthread_mutex_t mutex; /* guards all below */
  uint64_t looked_to;    /* … from the beginning, in one go: qemu looks for a vmdk's descriptor */
  bool has_looked;
};

/* The source stays the caller's. To be cleared also on failure. */
int foreign_file_init(struct foreign_file *file, struct source *source, const char *format,
                      struct error **err);
void foreign_file_clear(struct foreign_file *file);

/* For disk_server.h, with the file as its context. DATA_LOSS where the file is too short. */
int foreign_file_read(void *context, void *buf, size_t len, uint64_t offset, struct error **err);

#endif
