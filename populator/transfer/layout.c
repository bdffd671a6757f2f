/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/layout.h"

#include <stdlib.h>

#include "lib/base/memory.h"

void
layout_extents_add(struct layout_extents *extents, const struct layout_extent *extent)
{
  if (extents->count == extents->room) {
    extents->room = extents->room ? 2 * extents->room : 64;
    extents->items = xrealloc(extents->items, extents->room, sizeof(extents->items[0]));
  }
  extents->items[extents->count++] = *extent;
}

void
layout_extents_clear(struct layout_extents *extents)
{
  free(extents->items);
  *extents = (struct layout_extents){0};
}

void
layout_close(struct layout *layout)
{
  if (layout)
    layout->ops->close(layout);
}

static int
raw_extents(struct layout *layout, uint64_t first, uint64_t end, struct layout_extents *extents,
            struct error **err)
{
  (void)err;
  extents->count = 0;
  if (end > layout->virtual_size)
    end = layout->virtual_size;
  if (first < end)
    layout_extents_add(extents, &(struct layout_extent){.virtual_offset = first,
                                                        .file_offset = first,
                                                        .file_len = (uint32_t)(end - first),
                                                        .len = (uint32_t)(end - first)});
  return 0;
}

static void
raw_close(struct layout *layout)
{
  free(layout);
}

static const struct layout_ops raw_ops = {
    .name = "raw",
    .extents = raw_extents,
    .close = raw_close,
};

struct layout *
raw_layout_new(uint64_t size)
{
  struct layout *layout = xcalloc(1, sizeof(*layout));
  *layout = (struct layout){.ops = &raw_ops, .virtual_size = size};
  return layout;
}
