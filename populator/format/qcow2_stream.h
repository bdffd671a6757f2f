/* SPDX-License-Identifier: Apache-2.0 */
/* A qcow2 file read front to back, once: from a pipe, an upload, out of a gzip stream.
 *
 * In files that qemu-img writes, an L2 table stands before the clusters it maps, or, where they are
 * compressed, a few hundred kB behind them. Clusters whose table has not come yet are held in a
 * bounded window; extents are given in the order in which both are there. At the end everything
 * that the tables map has been given, or the file is truncated.
 *
 * When a file is in another order and the window is full, qcow2_stream_next() says so: see
 * qcow2_spool.h for how to go on. One thread at a time. */
#ifndef POPULATOR_FORMAT_QCOW2_STREAM_H
#define POPULATOR_FORMAT_QCOW2_STREAM_H

#include "populator/format/qcow2_table.h"
#include "populator/source/stream.h"

#define QCOW2_STREAM_WINDOW ((size_t)64 << 20)
#define QCOW2_STREAM_SAVED_MAX ((size_t)8 << 20)
/* Room that a buffer for qcow2_stream_next() has at least. */
#define QCOW2_STREAM_BUFFER_MIN (QCOW2_CLUSTER_MAX + QCOW2_COMPRESSED_OVERHEAD)

struct qcow2_stream;

enum qcow2_stream_result {
  QCOW2_STREAM_END,    /* all has been given, and `below` is at its end too */
  QCOW2_STREAM_EXTENT, /* there is an extent */
  QCOW2_STREAM_FULL,   /* it cannot go on: the window is full */
};

/* Reads the header. `window` is how many bytes are held at most. Takes `below`, also when it fails.
 */
int qcow2_stream_open(struct stream *below, size_t window, struct qcow2_stream **ret_stream,
                      struct error **err);
void qcow2_stream_close(struct qcow2_stream *stream);
DEFINE_CLEANUP(struct qcow2_stream *, qcow2_stream_close)

const struct qcow2_header *qcow2_stream_header(const struct qcow2_stream *stream);
/* Of the file: how much has been read. */
uint64_t qcow2_stream_position(const struct qcow2_stream *stream);
/* The stream it reads from, which it still owns. */
struct stream *qcow2_stream_below(struct qcow2_stream *stream);
/* Hands it over: then the stream can only be closed. */
struct stream *qcow2_stream_take_below(struct qcow2_stream *stream);

/* The next extent: its host_length bytes are put into buf. Data is as it is on the disk, runs of
 * clusters up to the room; a compressed cluster is given as it is in the file, for
 * qcow2_cluster_decode() in whatever thread. Returns an enum qcow2_stream_result, or -1. */
int qcow2_stream_next(struct qcow2_stream *stream, void *buf, size_t room,
                      struct qcow2_extent *ret_extent, struct error **err);

/* Appends what another process needs to go on behind the last extent given. Does not read; the
 * streams below are saved after it. RESOURCE_EXHAUSTED while it holds more than
 * QCOW2_STREAM_SAVED_MAX: that would be written anew each time. */
int qcow2_stream_save(struct qcow2_stream *stream, struct buffer *state, struct error **err);
/* Goes on where the stream was whose save wrote what `state` begins with: *ret_used bytes of it.
 * Takes `below`, which was restored to where it was then. */
int qcow2_stream_restore(struct stream *below, size_t window, const void *state, size_t len,
                         size_t *ret_used, struct qcow2_stream **ret_stream, struct error **err);

struct qcow2_pass;
/* For qcow2_spool.c only. */
struct qcow2_pass *qcow2_stream_pass(struct qcow2_stream *stream);

#endif
