/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of bytes that lie in memory, handed out in pieces as small as a test likes. */
#ifndef TESTS_UNIT_POPULATOR_BYTE_STREAM_H
#define TESTS_UNIT_POPULATOR_BYTE_STREAM_H

#include "populator/source/stream.h"

/* From offset on. piece: the most that one read gives; 0: as much as is asked for. The bytes must
 * outlive it. It is named "blob", and its state is its position. */
struct stream *byte_stream_new(const void *data, size_t len, size_t offset, size_t piece);
/* How many of them are open. */
unsigned byte_streams_open(void);

/* All that a stream gives, to be cleared; -1 when it fails. */
int byte_stream_drain(struct stream *stream, struct buffer *ret_content, struct error **err);

#endif
