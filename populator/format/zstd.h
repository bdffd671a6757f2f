/* SPDX-License-Identifier: Apache-2.0 */
/* What a zstd file holds: all its frames, one after the other; frames without data are passed over.
 * Checksums are verified where there are any, an end that comes too early is an error.
 *
 * It can be saved between two frames, and inside a frame behind nearly every block (zstd_frame.h);
 * a little may be decoded ahead for that. The window is a part of what is saved, so a frame whose
 * window is longer than ZSTD_FRAME_SAVED_MAX can be saved only at its end and near its beginning:
 * "zstd --ultra -22" and "--long" make such ones, up to "zstd --ultra -21" there are none. */
#ifndef POPULATOR_FORMAT_ZSTD_H
#define POPULATOR_FORMAT_ZSTD_H

#include "populator/source/stream.h"

/* The largest window, as a power of two: 128 MiB, what "zstd --ultra -22" and "--long" use. A file
 * that wants more is refused. */
#define ZSTD_STREAM_WINDOW_LOG_MAX 27

/* Takes `below`, also when it fails. */
int zstd_stream_new(struct stream *below, struct stream **ret_stream, struct error **err);
/* Goes on where the one was whose save wrote what `state` begins with: *ret_used bytes of it. Takes
 * `below`, which stands where the other one's stood, also when it fails. */
int zstd_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                        struct stream **ret_stream, struct error **err);

#endif
