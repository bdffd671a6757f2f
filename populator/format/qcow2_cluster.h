/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses clusters of a qcow2 file. Each thread has its own decoder. */
#ifndef POPULATOR_FORMAT_QCOW2_CLUSTER_H
#define POPULATOR_FORMAT_QCOW2_CLUSTER_H

#include <stddef.h>

#include "populator/format/qcow2_header.h"

struct qcow2_cluster_decoder;

struct qcow2_cluster_decoder *qcow2_cluster_decoder_new(enum qcow2_compression compression,
                                                        size_t cluster_size);
void qcow2_cluster_decoder_free(struct qcow2_cluster_decoder *decoder);
DEFINE_CLEANUP(struct qcow2_cluster_decoder *, qcow2_cluster_decoder_free)

/* Clusters that are decoded at once, at most. */
#define QCOW2_PIECES_MAX 64

/* A compressed cluster, and room for what is wanted of it. */
struct qcow2_piece {
  const void *bytes;
  size_t bytes_len;
  void *content;
  size_t len;
};

/* Makes exactly one cluster, of which the first `len` bytes are wanted: `content` has room for just
 * these. The compressed bytes end somewhere in `bytes`; what stands behind them is ignored.
 * DATA_LOSS when they do not make a whole cluster, or make more. */
int qcow2_cluster_decode(struct qcow2_cluster_decoder *decoder, const void *bytes, size_t bytes_len,
                         void *content, size_t len, struct error **err);
/* The same for several, which is faster than one by one. On failure *ret_failed is the first that
 * is damaged. */
int qcow2_cluster_decode_all(struct qcow2_cluster_decoder *decoder,
                             const struct qcow2_piece *pieces, size_t count, size_t *ret_failed,
                             struct error **err);

#endif
