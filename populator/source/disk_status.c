/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_status.h"

#include <stdlib.h>

#include "lib/base/memory.h"

void
disk_status_clear(struct disk_status *status)
{
  free(status->data);
  *status = (struct disk_status){0};
}

void
disk_status_begin(struct disk_status *status, uint64_t start)
{
  status->start = status->end = start;
  status->count = 0;
}

bool
disk_status_add(struct disk_status *status, uint64_t len, bool is_zero, uint64_t limit)
{
  uint64_t start = status->end;
  if (len == 0 || start >= limit)
    return false;
  uint64_t end = len < limit - start ? start + len : limit;
  struct disk_part *last = status->count > 0 ? &status->data[status->count - 1] : NULL;
  if (is_zero) {
    status->end = end;
  } else if (last && last->end == start) {
    last->end = status->end = end;
  } else if (status->count == DISK_STATUS_PARTS_MAX) {
    return false;
  } else {
    if (!status->data)
      status->data = xcalloc(DISK_STATUS_PARTS_MAX, sizeof(status->data[0]));
    status->data[status->count++] = (struct disk_part){.start = start, .end = end};
    status->end = end;
  }
  return true;
}

bool
disk_status_covers(const struct disk_status *status, uint64_t offset)
{
  return offset >= status->start && offset < status->end;
}

bool
disk_status_find(const struct disk_status *status, uint64_t offset, uint64_t *ret_start,
                 uint64_t *ret_end)
{
  size_t low = 0, high = status->count; /* the first part that ends behind offset */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (status->data[middle].end > offset)
      high = middle;
    else
      low = middle + 1;
  }
  if (low == status->count) {
    *ret_start = status->end;
    return false;
  }
  const struct disk_part *part = &status->data[low];
  *ret_start = part->start > offset ? part->start : offset;
  *ret_end = part->end;
  return true;
}
