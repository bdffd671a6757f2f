/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/data_ranges.h"

#include "lib/base/lock.h"

void
data_ranges_init(struct data_ranges *ranges, struct source *source)
{
  *ranges = (struct data_ranges){.source = source};
  (void)pthread_mutex_init(&ranges->mutex, NULL);
}

void
data_ranges_clear(struct data_ranges *ranges)
{
  (void)pthread_mutex_destroy(&ranges->mutex);
}

static int
ask(struct data_ranges *ranges, uint64_t offset, struct error **err)
{
  uint64_t start, end;
  if (ranges->source->ops->data_range(ranges->source, offset, &start, &end, err) < 0)
    return -1;
  ranges->asked = offset;
  ranges->start = start;
  ranges->end = end;
  return 0;
}

int
data_ranges_next(struct data_ranges *ranges, uint64_t first, uint64_t end, uint64_t *ret_start,
                 uint64_t *ret_end, struct error **err)
{
  *ret_start = first;
  *ret_end = end;
  if (!ranges->source->ops->data_range)
    return 0;
  MUTEX_GUARD(&ranges->mutex);
  if ((first < ranges->asked || first >= ranges->end) && ask(ranges, first, err) < 0)
    return -1;
  uint64_t start = ranges->start > first ? ranges->start : first;
  *ret_start = start < end ? start : end;
  *ret_end = ranges->end < end ? ranges->end : end;
  if (*ret_end < *ret_start)
    *ret_end = *ret_start;
  return 0;
}
