/* SPDX-License-Identifier: Apache-2.0 */
/* What a server has said of a stretch of its export: which parts of it hold data. One stretch is
 * kept at a time, because exports are gone through from front to back; asking costs a round trip.
 * One thread at a time. */
#ifndef POPULATOR_SOURCE_DISK_STATUS_H
#define POPULATOR_SOURCE_DISK_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Further parts of one answer are not taken; what they said is asked again. */
#define DISK_STATUS_PARTS_MAX 4096

struct disk_part {
  uint64_t start;
  uint64_t end;
};

struct disk_status {
  uint64_t start; /* what is known */
  uint64_t end;
  struct disk_part *data; /* ascending, none touches the next */
  size_t count;
};

/* Forgets everything; the next part begins at `start`. */
void disk_status_begin(struct disk_status *status, uint64_t start);
/* The next part of an answer, which goes no further than `limit`. False when it is of no more use:
 * empty, or one too many. */
bool disk_status_add(struct disk_status *status, uint64_t len, bool is_zero, uint64_t limit);
/* The first data at or behind offset within what is known; true when there is any. Without any,
 * *ret_start is the end of what is known. */
bool disk_status_find(const struct disk_status *status, uint64_t offset, uint64_t *ret_start,
                      uint64_t *ret_end);
bool disk_status_covers(const struct disk_status *status, uint64_t offset);
void disk_status_clear(struct disk_status *status);

#endif
