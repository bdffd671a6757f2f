/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_layout.h"

#include "lib/base/memory.h"
#include "populator/transfer/data_ranges.h"

struct raw_layout {
  struct layout layout;
  struct data_ranges ranges;
};

static void
add_extent(struct layout_extents *extents, uint64_t start, uint64_t end)
{
  layout_extents_add(extents, &(struct layout_extent){.virtual_offset = start,
                                                      .file_offset = start,
                                                      .file_len = (uint32_t)(end - start),
                                                      .len = (uint32_t)(end - start)});
}

static int
raw_extents(struct layout *layout, uint64_t first, uint64_t end, struct layout_extents *extents,
            struct error **err)
{
  struct raw_layout *raw = (struct raw_layout *)layout;
  extents->count = 0;
  if (end > layout->virtual_size)
    end = layout->virtual_size;
  while (first < end) {
    uint64_t start, stop;
    if (data_ranges_next(&raw->ranges, first, end, &start, &stop, err) < 0)
      return -1;
    if (start >= stop)
      break;
    add_extent(extents, start, stop);
    first = stop;
  }
  return 0;
}

static void
raw_close(struct layout *layout)
{
  struct raw_layout *raw = (struct raw_layout *)layout;
  data_ranges_clear(&raw->ranges);
  free(raw);
}

static const struct layout_ops ops = {
    .name = "raw",
    .extents = raw_extents,
    .close = raw_close,
};

struct layout *
raw_layout_new(struct source *source)
{
  struct raw_layout *raw = xcalloc(1, sizeof(*raw));
  raw->layout = (struct layout){.ops = &ops, .virtual_size = source->size};
  data_ranges_init(&raw->ranges, source);
  return &raw->layout;
}
