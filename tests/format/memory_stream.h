/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of bytes in memory, which the caller keeps. */
#ifndef TESTS_FORMAT_MEMORY_STREAM_H
#define TESTS_FORMAT_MEMORY_STREAM_H

#include "populator/source/stream.h"

/* From offset on; no read gives more than `piece` bytes (0: as many as are asked for). */
struct stream *memory_stream_new(const void *data, size_t len, size_t offset, size_t piece);
/* Fails, UNAVAILABLE, at this offset. */
void memory_stream_fail_at(struct stream *stream, size_t offset);
/* How many bytes of the data have been read. */
size_t memory_stream_position(const struct stream *stream);

/* gzip_stream_restore() and its like. */
typedef int stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                           struct stream **ret_stream, struct error **err);
/* Takes a stream that reads from `data` and goes on with it as another process would: from what it
 * saves, and from the data. NULL when it cannot, or takes more or less of its state than is its
 * own. */
struct stream *memory_stream_restart(struct stream *stream, stream_restore *restore,
                                     const struct buffer *data, size_t piece);

#endif
