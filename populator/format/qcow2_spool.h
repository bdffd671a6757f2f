/* SPDX-License-Identifier: Apache-2.0 */
/* How to go on with a qcow2 file that cannot be read in one pass: what is left of it is copied to a
 * place that can be read anywhere (a temporary RBD image, say), and is a qcow2 file of its own
 * there which maps only those clusters that the stream has not given. In order:
 *
 *   1. qcow2_stream_next() says QCOW2_STREAM_FULL.
 *   2. qcow2_spool_write() writes what the stream knows and holds: the header, the L1 table, L2
 *      tables without what was given, clusters that wait. It says where the rest goes. From here on
 *      the stream is needed only for what it reads from; a checkpoint has the streams below and the
 *      offset in the spool.
 *   3. The caller copies qcow2_stream_below() there, to its end, as raw bytes. What was never
 *      written reads as zeros.
 *   4. qcow2_map_open() on the spool, which is as long as the file, and all that it maps is
 *      imported. Every check of the file is made there again.
 *
 * Each step may be repeated. */
#ifndef POPULATOR_FORMAT_QCOW2_SPOOL_H
#define POPULATOR_FORMAT_QCOW2_SPOOL_H

#include "populator/format/qcow2_stream.h"

struct qcow2_spool {
  int (*write_at)(void *context, const void *buf, size_t len, uint64_t offset, struct error **err);
  void *context;
};

/* *ret_offset is where the next byte of the stream below belongs. */
int qcow2_spool_write(struct qcow2_stream *stream, const struct qcow2_spool *spool,
                      uint64_t *ret_offset, struct error **err);

#endif
