/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is the disk itself, or a file that is to be kept as it is. */
#ifndef POPULATOR_TRANSFER_RAW_CONTENT_H
#define POPULATOR_TRANSFER_RAW_CONTENT_H

#include "populator/transfer/content_stream.h"

/* A disk. Where it turns out to be a VHD of fixed size, which only its last bytes tell, these are
 * left off. size: CONTENT_SIZE_UNKNOWN where only the end tells. Takes `below`. */
struct content_stream *raw_content_new(struct stream *below, uint64_t size);
/* A file, from an offset on, which `below` stands at. */
struct content_stream *raw_content_new_file(struct stream *below, uint64_t offset);
/* Goes on where the one was whose state this is. Takes `below`, also when it fails. */
int raw_content_restore(struct stream *below, uint64_t size, const void *state, size_t len,
                        size_t *ret_used, struct content_stream **ret_content, struct error **err);

/* How far it has come: at the end, the size. */
uint64_t raw_content_offset(const struct content_stream *content);
/* At the end: whether it was a VHD. False for content of another kind. */
bool raw_content_is_vhd(const struct content_stream *content);

#endif
