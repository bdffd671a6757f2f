/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is read ahead: a thread of its own reads the stream below, so that fetching goes on
 * while the reader is busy, and the other way round. What has been read ahead is part of its state;
 * while the streams are being saved the thread pauses. Short streams never get a thread. */
#ifndef POPULATOR_SOURCE_AHEAD_STREAM_H
#define POPULATOR_SOURCE_AHEAD_STREAM_H

#include "populator/source/stream.h"

#define AHEAD_STREAM_NAME "ahead"
/* Read ahead at most. */
#define AHEAD_STREAM_BYTES ((size_t)2 << 20)

/* Whoever closes or saves it while the stream below waits for something waits too, unless that is
 * cancelled first. Takes `below`. */
struct stream *ahead_stream_new(struct stream *below);
/* Goes on where the one was whose save wrote what `state` begins with: *ret_used bytes of it. Takes
 * `below`, which was restored to where it was then, also when it fails. */
int ahead_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                         struct stream **ret_stream, struct error **err);
/* Ends the thread: what it has read is lost, and the stream below is the caller's to read on. */
void ahead_stream_stop(struct stream *stream);

#endif
