/* SPDX-License-Identifier: Apache-2.0 */
/* Where the disk lies in a qcow2 file that can be read anywhere, asked by stretches of the file: so
 * an importer can fetch the file in large pieces, several at once, in its own order, and knows for
 * each what of the disk is in it.
 *
 * Opening reads and checks all tables; nothing of an image that is refused has been imported by
 * then. Memory stays bounded: where the file has more than QCOW2_MAP_RUNS pieces, only those of two
 * stretches of it are kept, and the tables are read again for the others. Asking in about the order
 * of the file, by however many threads, thus costs little; asking at random may not.
 *
 * Cost follows what is allocated, not the size of the disk: 8 bytes of memory for each L2 table
 * that the disk could have, and a read for each that there is, neighbours together. */
#ifndef POPULATOR_FORMAT_QCOW2_MAP_H
#define POPULATOR_FORMAT_QCOW2_MAP_H

#include "populator/format/qcow2_cluster.h"
#include "populator/format/qcow2_file.h"
#include "populator/format/qcow2_window.h"

/* Runs in each of two windows: 12 MiB each, and as much again while one is sorted. */
#define QCOW2_MAP_RUNS ((size_t)512 << 10)

struct qcow2_map;

/* What is in `file` must outlive the map. `threads` read tables at once; 1 starts none. */
int qcow2_map_open(const struct qcow2_file *file, unsigned threads, struct qcow2_map **ret_map,
                   struct error **err);
void qcow2_map_close(struct qcow2_map *map);
DEFINE_CLEANUP(struct qcow2_map *, qcow2_map_close)

const struct qcow2_header *qcow2_map_header(const struct qcow2_map *map);
/* Bytes of the disk that the file has: clusters, whole. */
uint64_t qcow2_map_allocated(const struct qcow2_map *map);

/* The extents of those clusters that begin in [first, end) of the file. Zeros and holes have none.
 * Where `first` and `end` are multiples of the cluster size, and QCOW2_CLUSTER_MAX is one of each,
 * data lies between them; a compressed cluster may reach beyond `end` by the size of a cluster and
 * QCOW2_COMPRESSED_OVERHEAD. Replaces what is in *extents, whose memory is used again. Any number
 * of threads at once. */
int qcow2_map_chunk(struct qcow2_map *map, uint64_t first, uint64_t end,
                    struct qcow2_extents *extents, struct error **err);
/* The content of compressed extents, at most QCOW2_PIECES_MAX of them, as qcow2_cluster.h has it.
 * On failure *ret_failed is the first that is damaged. Any number of threads at once. */
int qcow2_map_decode(struct qcow2_map *map, const struct qcow2_piece *pieces, size_t count,
                     size_t *ret_failed, struct error **err);

#endif
