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
  const struct source *source;
  struct content_stream *content;
  struct stream *counted; /* the source's bytes as they come; below the content */
  struct stream *ahead;   /* the next above it; NULL: the source reads ahead by itself */
  bool needs_proof;       /* the source cannot tell whether it was cut off: the bytes have to */
  struct probe probe;     /* what the content is; of a foreign format, it is the file itself */
};

/* Takes compressions off, and an archive around the image, with whatever is compressed inside it.
 * *size is that of `below`, then that of the image; SOURCE_SIZE_UNKNOWN where it is not known.
 * path: of the image in an archive, or NULL: its only file. Takes `below`, also when it fails. */
int import_stack_unwrap(struct stream *below, const char *path, struct stream **ret_inside,
                        struct probe *ret_probe, uint64_t *size, struct error **err);

/* checksum: of the source, or CHECKSUM_ASKED, or NULL. path: see above; the disk of a container
 * image was found by it. FAILED_PRECONDITION when the end of the source proves nothing, and neither
 * does a checksum or what the image is. */
int import_stack_open(struct source *source, const char *checksum, const char *path,
                      struct import_stack *ret_stack, struct error **err);
/* DATA_LOSS or UNIMPLEMENTED when the state is of no use: then start anew. */
int import_stack_restore(struct source *source, const char *checksum, const struct buffer *state,
                         struct import_stack *ret_stack, struct error **err);
void import_stack_close(struct import_stack *stack);
/* The content has come to its end: reads what is left of the source, compressions included, and
 * checks its checksum. FAILED_PRECONDITION when nothing proves that this was the end. */
int import_stack_finish(struct import_stack *stack, struct error **err);

/* Whether import_stack_save() can work at all. */
bool import_stack_can_save(const struct import_stack *stack);
int import_stack_save(struct import_stack *stack, struct buffer *state, struct error **err);

#endif
