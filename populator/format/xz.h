/* SPDX-License-Identifier: Apache-2.0 */
/* What an xz file holds: all its streams, one after the other, padding in between as the format
 * allows it. Checksums are verified, an end that comes too early is an error.
 *
 * It can be saved nearly anywhere: a block that may be long is decoded by xz_block, the others by
 * liblzma, whose state cannot be saved, and which has none between two blocks. Not in the middle of
 * a long block with a check that the format has given no meaning.
 *
 * One thread decodes: liblzma's decoder with threads needs a buffer for each block, which a file
 * can make as large as it likes, and it has had the graver mistakes. */
#ifndef POPULATOR_FORMAT_XZ_H
#define POPULATOR_FORMAT_XZ_H

#include "populator/source/stream.h"

/* "xz -9" needs 65 MiB; a file that wants more is refused. */
#define XZ_MEMORY_MAX ((uint64_t)128 << 20)

/* Takes `below`, also when it fails. */
int xz_stream_new(struct stream *below, struct stream **ret_stream, struct error **err);
/* Goes on where the one was whose save wrote what `state` begins with: *ret_used bytes of it. Takes
 * `below`, which stands where the other one's stood, also when it fails. */
int xz_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                      struct stream **ret_stream, struct error **err);

#endif
