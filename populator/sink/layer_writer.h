/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a disk's bytes into its layer as they come: puts the archive around them, compresses it if
 * that is wanted, and keeps the digest of the archive. One thread at a time. */
#ifndef POPULATOR_SINK_LAYER_WRITER_H
#define POPULATOR_SINK_LAYER_WRITER_H

#include "populator/format/gzip_writer.h"
#include "populator/transfer/checksum.h"

struct layer_writer;

/* The layer goes to take(context, …). */
struct layer_writer *layer_writer_new(bool is_compressed, gzip_writer_take *take, void *context);
void layer_writer_free(struct layer_writer *writer);
DEFINE_CLEANUP(struct layer_writer *, layer_writer_free)

/* What stands in front of the disk; name and size were checked. */
int layer_writer_begin(struct layer_writer *writer, const char *name, uint64_t size,
                       struct error **err);
/* OUT_OF_RANGE when more comes than was said. */
int layer_writer_write(struct layer_writer *writer, const void *data, size_t len,
                       struct error **err);
/* OUT_OF_RANGE when less came than was said. *ret_diff_id is the digest of the archive. */
int layer_writer_finish(struct layer_writer *writer, char ret_diff_id[CHECKSUM_TEXT_MAX],
                        struct error **err);

#endif
