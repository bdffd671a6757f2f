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
