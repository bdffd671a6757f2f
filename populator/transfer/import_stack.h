/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of an import that is read front to back: the source, counted and checked, whatever
 * compressions and archives are around the image, and the image's content on top. Built anew, or
 * from the state that another process has saved. */
#ifndef POPULATOR_TRANSFER_IMPORT_STACK_H
#define POPULATOR_TRANSFER_IMPORT_STACK_H

#include "populator/format/probe.h"
#include "populator/source/source.h"
#include "populator/transfer/content_stream.h"

struct import_stack {
  struct content_stream *content;
  struct stream *counted; /* the source's bytes as they come; below the content */
  struct probe probe;     /* what the content is; of a foreign format, it is the file itself */
};

/* checksum: of the source, or NULL. */
int import_stack_open(struct source *source, const char *checksum, struct import_stack *ret_stack,
                      struct error **err);
/* DATA_LOSS or UNIMPLEMENTED when the state is of no use: then start anew. */
int import_stack_restore(struct source *source, const char *checksum, const struct buffer *state,
                         struct import_stack *ret_stack, struct error **err);
void import_stack_close(struct import_stack *stack);

/* Whether import_stack_save() can work at all. */
bool import_stack_can_save(const struct import_stack *stack);
int import_stack_save(struct import_stack *stack, struct buffer *state, struct error **err);

#endif
