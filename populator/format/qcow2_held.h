/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a qcow2 file that were read and that nobody has claimed yet: their table may come later.
 * Kept by their offset in the file, in segments in that order. Part of one pass; no locking.
 *
 * What lies between the end of one compressed cluster and the next sector is kept too, as slack: a
 * cluster of a few bytes could be in there. As that is as good as never so, only the last
 * QCOW2_SLACK_MAX of these are kept, and they do not count. */
#ifndef POPULATOR_FORMAT_QCOW2_HELD_H
#define POPULATOR_FORMAT_QCOW2_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cleanup.h"

#define QCOW2_SLACK_MAX 1024
/* No segment is longer, so that cutting one costs little. */
#define QCOW2_SEGMENT_MAX ((size_t)256 << 10)

struct qcow2_segment {
  uint64_t offset;
  uint32_t len;   /* 0: it is gone */
  uint32_t start; /* into memory */
  uint32_t room;  /* of memory */
  bool is_slack;
  char *memory;
};

struct qcow2_held {
  struct qcow2_segment *segments;
  size_t count, room, gone;
  size_t bytes; /* without slack */
  size_t slack_count;
  size_t slack_from; /* no segment before this one is slack */
};

void qcow2_held_clear(struct qcow2_held *held);
/* Behind all that was added before. */
void qcow2_held_add(struct qcow2_held *held, uint64_t offset, const void *data, size_t len,
                    bool is_slack);
/* Copies what there is from offset on, without a hole, up to len bytes; returns how much. */
size_t qcow2_held_read(const struct qcow2_held *held, uint64_t offset, void *buf, size_t len);
void qcow2_held_remove(struct qcow2_held *held, uint64_t offset, size_t len);

#endif
