/* SPDX-License-Identifier: Apache-2.0 */
/* Imports from a source that is read front to back: as it comes where that can be done, else by way
 * of a spool (import_spool.h). */
#ifndef POPULATOR_TRANSFER_IMPORT_FRONT_H
#define POPULATOR_TRANSFER_IMPORT_FRONT_H

#include "lib/ceph/image_create.h"
#include "populator/format/foreign/foreign_helper.h"
#include "populator/transfer/import_stack.h"
#include "populator/transfer/import_tail.h"
#include "populator/transfer/progress.h"
#include "populator/transfer/target.h"

struct import_front_options {
  struct source *source;
  const char *checksum;           /* of the source, or CHECKSUM_ASKED, or NULL */
  char *ret_digest;               /* gets it, CHECKSUM_TEXT_MAX bytes, once all was read */
  struct foreign_helper *foreign; /* or NULL: foreign formats are refused */
  struct target *target;
  struct image_layout layout; /* of the spool, when one is made */
  const char *identity;       /* for checkpoints; NULL: none are made */
  uint64_t size;              /* content beyond it is an error; 0: none is */
  unsigned workers;
  struct progress *progress;
  /* Of an upload, else NULL: where an earlier process got to cannot be read again, so the stack is
   * empty but for its probe unless it was opened at the beginning. */
  struct import_tail *tail;
};

/* The stack stands at the beginning of the source; `from` is where an earlier process got to, or
 * NULL. Of an upload, CANCELLED when no more of it comes now; what came is saved then. On success
 * all is written and proven, and *ret_size is the size of the disk. The stack stays the caller's,
 * and may be another one. */
int import_front(const struct import_front_options *options, struct import_stack *stack,
                 const struct checkpoint *from, uint64_t *ret_size, struct error **err);

#endif
