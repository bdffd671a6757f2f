/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out a qcow2 file (version 3, clusters of 64 KiB, 16-bit refcounts) and fills its tables.
 * Pure: it makes bytes, others write them.
 *
 * All tables stand in front, [0, data_offset), behind them the data in the order of the disk. Which
 * clusters are allocated is said first, so data_offset is known before the first byte of data.
 * Where they are stored plain, so is everything else: the tables can be sent first. Where they are
 * compressed, each gets its place when its compressed size is known, and the tables come last. */
#ifndef POPULATOR_FORMAT_QCOW2_WRITER_H
#define POPULATOR_FORMAT_QCOW2_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "populator/format/qcow2_header.h"

#define QCOW2_WRITER_CLUSTER_BITS 16
#define QCOW2_WRITER_CLUSTER ((uint64_t)1 << QCOW2_WRITER_CLUSTER_BITS)

struct qcow2_writer;

struct qcow2_writer *qcow2_writer_new(uint64_t virtual_size, enum qcow2_compression compression);
void qcow2_writer_free(struct qcow2_writer *writer);
DEFINE_CLEANUP(struct qcow2_writer *, qcow2_writer_free)

/* Says that [offset, offset + len) holds data: the clusters it touches are allocated. In ascending
 * order. INVALID_ARGUMENT beyond the virtual size. */
int qcow2_writer_allocate(struct qcow2_writer *writer, uint64_t offset, uint64_t len,
                          struct error **err);
/* All is said: fixes where the tables stand. The data can be at most the allocated clusters, plain,
 * or somewhat more when compressed ones alternate with plain ones; room for that is kept.
 * data_align rounds data_offset up (a part of an S3 upload). */
void qcow2_writer_seal(struct qcow2_writer *writer, uint64_t data_align);

uint64_t qcow2_writer_data_offset(const struct qcow2_writer *writer);
uint64_t qcow2_writer_cluster_count(const struct qcow2_writer *writer);
/* The offset on the disk of the index-th allocated cluster. */
uint64_t qcow2_writer_cluster_offset(const struct qcow2_writer *writer, uint64_t index);

/* Places the next allocated cluster, plain: *ret_offset in the file, aligned to a cluster. */
void qcow2_writer_place_plain(struct qcow2_writer *writer, uint64_t *ret_offset);
/* Places the next allocated cluster, compressed to len bytes: behind the one before. */
void qcow2_writer_place_compressed(struct qcow2_writer *writer, size_t len, uint64_t *ret_offset);
/* Leaves the next allocated cluster out: it turned out to hold zeros. */
void qcow2_writer_place_nothing(struct qcow2_writer *writer);
/* Where the index-th allocated cluster was placed; 0: nowhere. */
uint64_t qcow2_writer_place_of(const struct qcow2_writer *writer, uint64_t index);
/* How long the file is now: up to the end of the last placed cluster, or data_offset; whole
 * clusters. */
uint64_t qcow2_writer_file_size(const struct qcow2_writer *writer);

/* Every allocated cluster is placed: the bytes [offset, offset + len) of the tables into buf. */
void qcow2_writer_tables(const struct qcow2_writer *writer, uint64_t offset, size_t len, void *buf);

#endif
