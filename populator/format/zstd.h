/* SPDX-License-Identifier: Apache-2.0 */
/* What a zstd file holds: all its frames, one after the other; frames without data are passed over.
 * Checksums are verified where there are any, an end that comes too early is an error. libzstd's
 * state cannot be saved. */
#ifndef POPULATOR_FORMAT_ZSTD_H
#define POPULATOR_FORMAT_ZSTD_H

#include "populator/source/stream.h"

/* The largest window, as a power of two: 128 MiB, what "zstd --ultra -22" and "--long" use. A file
 * that wants more is refused. */
#define ZSTD_STREAM_WINDOW_LOG_MAX 27

/* Takes `below`, also when it fails. */
int zstd_stream_new(struct stream *below, struct stream **ret_stream, struct error **err);

#endif
