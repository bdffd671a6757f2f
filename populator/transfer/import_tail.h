/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints of an import from an upload. Its bytes come once, so a checkpoint holds the last
 * state of the streams and all that was sent behind it (populator/source/upload.h): whatever came
 * to this process need not be sent again once one is written, to the byte, be it in the middle of
 * whatever. progress->safe tells how much that is. One thread. */
#ifndef POPULATOR_TRANSFER_IMPORT_TAIL_H
#define POPULATOR_TRANSFER_IMPORT_TAIL_H

#include <stdatomic.h>

#include "populator/source/source.h"
#include "populator/transfer/progress.h"
#include "populator/transfer/target.h"

struct import_tail {
  struct source *source; /* an upload */
  struct target *image;  /* that is imported to … */
  struct target *target; /* … and what is filled now: the same, or its spool */
  const char *identity;
  struct progress *progress;
  struct buffer state;        /* the last one; empty: the beginning of the file */
  const atomic_uint *pending; /* writes from before it that are not durable yet; NULL: none */
  bool is_marked;             /* the image's checkpoint says that the spool is filled */
  bool is_over;               /* nothing is to be saved any more */
  int64_t next_ms;
};

void import_tail_clear(struct import_tail *tail);

/* Whether another state can be taken: one at a time waits for its writes. */
bool import_tail_is_free(const struct import_tail *tail);
/* Whether one should be, for much has come since the last. */
bool import_tail_is_due(const struct import_tail *tail);
/* A state was taken just now, or restored; `target` is filled from there on. */
void import_tail_take(struct import_tail *tail, struct target *target, const struct buffer *state,
                      const atomic_uint *pending);
void import_tail_restored(struct import_tail *tail, struct target *target,
                          const struct buffer *state);
/* Saves it now and then. What was written before the last state must be durable. */
int import_tail_look(struct import_tail *tail, struct error **err);
/* Saves it now; likewise. */
int import_tail_save(struct import_tail *tail, struct error **err);
/* All that was sent is safe, and nothing is to be saved here any more. */
void import_tail_end(struct import_tail *tail);

#endif
