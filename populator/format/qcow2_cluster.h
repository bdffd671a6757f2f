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

/* Makes exactly one cluster, of which the first `len` bytes are wanted: `content` has room for just
 * these. The compressed bytes end somewhere in `bytes`; what stands behind them is ignored.
 * DATA_LOSS when they do not make a whole cluster, or make more. */
int qcow2_cluster_decode(struct qcow2_cluster_decoder *decoder, const void *bytes, size_t bytes_len,
                         void *content, size_t len, struct error **err);

#endif
