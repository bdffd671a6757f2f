/* SPDX-License-Identifier: Apache-2.0 */
/* Imports from a source that is read front to back: as it comes where that can be done, else by way
 * of a spool (import_spool.h). */
#ifndef POPULATOR_TRANSFER_IMPORT_FRONT_H
#define POPULATOR_TRANSFER_IMPORT_FRONT_H

#include "lib/ceph/image_create.h"
#include "populator/format/foreign/foreign_helper.h"
#include "populator/transfer/import_stack.h"
#include "populator/transfer/progress.h"
#include "populator/transfer/target.h"

struct import_front_options {
  struct source *source;
  const char *checksum;           /* of the source, or NULL */
  struct foreign_helper *foreign; /* or NULL: foreign formats are refused */
  struct target *target;
  struct image_layout layout; /* of the spool, when one is made */
  const char *identity;       /* for checkpoints; NULL: none are made */
  uint64_t size;              /* content beyond it is an error; 0: none is */
  unsigned workers;
  struct progress *progress;
};

/* The stack stands at the beginning of the source; `from` is where an earlier process got to, or
 * NULL. On success all is written and proven, and *ret_size is the size of the disk. The stack
 * stays the caller's, and may be another one. */
int import_front(const struct import_front_options *options, struct import_stack *stack,
                 const struct checkpoint *from, uint64_t *ret_size, struct error **err);

#endif
