/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is the disk itself. */
#ifndef POPULATOR_TRANSFER_RAW_CONTENT_H
#define POPULATOR_TRANSFER_RAW_CONTENT_H

#include "populator/transfer/content_stream.h"

/* size: CONTENT_SIZE_UNKNOWN where only the end tells. Takes `below`. */
struct content_stream *raw_content_new(struct stream *below, uint64_t size);
/* Goes on where the one was whose state this is. Takes `below`, also when it fails. */
int raw_content_restore(struct stream *below, uint64_t size, const void *state, size_t len,
                        size_t *ret_used, struct content_stream **ret_content, struct error **err);

#endif
