/* SPDX-License-Identifier: Apache-2.0 */
/* Imports content that is read front to back: one thread reads and decodes, the writes are
 * asynchronous. Where the content's state can be saved, it is, every now and then: the state is
 * taken between two pieces, and becomes the checkpoint once everything written before it is
 * durable. Reading does not wait for that. */
#ifndef POPULATOR_TRANSFER_IMPORT_STREAM_H
#define POPULATOR_TRANSFER_IMPORT_STREAM_H

#include "populator/transfer/import_stack.h"
#include "populator/transfer/import_tail.h"
#include "populator/transfer/progress.h"
#include "populator/transfer/target.h"

struct import_stream_options {
  struct import_stack *stack;
  struct target *target;
  const char *identity; /* of the source, for checkpoints; NULL: none are made */
  uint64_t size_limit;  /* content beyond it is an error */
  /* How many bytes of the source were read so far, for the progress. */
  uint64_t (*position)(void *context);
  void *context;
  struct progress *progress;
  struct import_tail *tail; /* of an upload, which has checkpoints of its own; else NULL */
};

/* CANCELLED when progress->is_cancelled was set. */
int import_stream(const struct import_stream_options *options, struct error **err);

#endif
