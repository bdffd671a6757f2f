/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses clusters for a qcow2 file. Each thread has its own. */
#ifndef POPULATOR_FORMAT_QCOW2_COMPRESS_H
#define POPULATOR_FORMAT_QCOW2_COMPRESS_H

#include <stddef.h>

#include "populator/format/qcow2_writer.h"

struct qcow2_compressor;

struct qcow2_compressor *qcow2_compressor_new(enum qcow2_compression compression);
void qcow2_compressor_free(struct qcow2_compressor *compressor);
DEFINE_CLEANUP(struct qcow2_compressor *, qcow2_compressor_free)

/* One cluster into out, which has room for one. 0 when it does not get smaller: store it plain. */
size_t qcow2_compress(struct qcow2_compressor *compressor, const void *cluster, void *out);

#endif
