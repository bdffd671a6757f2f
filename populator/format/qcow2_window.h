/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that begin in one stretch of a qcow2 file, in the order of the file. Filled by one
 * thread, then looked at by one at a time (the map's lock). */
#ifndef POPULATOR_FORMAT_QCOW2_WINDOW_H
#define POPULATOR_FORMAT_QCOW2_WINDOW_H

#include "populator/format/qcow2_table.h"

struct qcow2_extents {
  struct qcow2_extent *items; /* in the order of the file */
  size_t count, room;
};

void qcow2_extents_clear(struct qcow2_extents *extents);

struct qcow2_window {
  uint64_t first, end; /* of the file; multiples of the cluster size */
  struct qcow2_run *runs;
  size_t count, room;
};

void qcow2_window_clear(struct qcow2_window *window);
/* Adds what of the run begins inside the window, if anything. */
void qcow2_window_add(struct qcow2_window *window, const struct qcow2_header *header,
                      const struct qcow2_run *run);
/* After the last was added. DATA_LOSS when two of them overlap. */
int qcow2_window_sort(struct qcow2_window *window, const struct qcow2_header *header,
                      struct error **err);
/* Appends the extents of what begins in [first, end); pieces that lie one behind the other both on
 * the disk and in the file become one. */
void qcow2_window_extents(const struct qcow2_window *window, const struct qcow2_header *header,
                          uint64_t first, uint64_t end, struct qcow2_extents *extents);

#endif
