/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_window.h"

#include <stdlib.h>

#include "lib/base/memory.h"

void
qcow2_extents_clear(struct qcow2_extents *extents)
{
  free(extents->items);
  *extents = (struct qcow2_extents){0};
}

void
qcow2_window_clear(struct qcow2_window *window)
{
  free(window->runs);
  *window = (struct qcow2_window){0};
}

/* Leaves of a run what begins in [first, end); false when that is nothing. */
static bool
clip(const struct qcow2_header *header, struct qcow2_run *run, uint64_t first, uint64_t end)
{
  if (run->kind == QCOW2_DATA && run->host_offset < first) {
    uint64_t skip = (first - run->host_offset + header->cluster_size - 1) >> header->cluster_bits;
    if (skip >= run->count)
      return false;
    run->host_offset += skip * header->cluster_size;
    run->virtual_offset += skip * header->cluster_size;
    run->count -= skip;
  }
  if (run->host_offset < first || run->host_offset >= end)
    return false;
  if (run->kind == QCOW2_DATA) {
    uint64_t left = (end - run->host_offset - 1) / header->cluster_size + 1;
    if (left < run->count)
      run->count = left;
  }
  return true;
}

void
qcow2_window_add(struct qcow2_window *window, const struct qcow2_header *header,
                 const struct qcow2_run *run)
{
  struct qcow2_run part = *run;
  if (!clip(header, &part, window->first, window->end))
    return;
  if (window->count == window->room) {
    window->room = window->room < 64 ? 64 : window->room + window->room / 2;
    window->runs = xrealloc(window->runs, window->room, sizeof(part));
  }
  window->runs[window->count++] = part;
}

static int
compare(const void *a, const void *b)
{
  const struct qcow2_run *x = a, *y = b;
  if (x->host_offset != y->host_offset)
    return x->host_offset < y->host_offset ? -1 : 1;
  return x->virtual_offset < y->virtual_offset ? -1 : x->virtual_offset > y->virtual_offset;
}

int
qcow2_window_sort(struct qcow2_window *window, const struct qcow2_header *header,
                  struct error **err)
{
  if (window->count > 1)
    qsort(window->runs, window->count, sizeof(window->runs[0]), compare);
  for (size_t i = 1; i < window->count; i++) {
    if (qcow2_run_check_order(header, &window->runs[i - 1], &window->runs[i], err) < 0)
      return -1;
  }
  return 0;
}

static void
append(struct qcow2_extents *extents, const struct qcow2_extent *extent)
{
  struct qcow2_extent *last = extents->count > 0 ? &extents->items[extents->count - 1] : NULL;
  if (last && !last->is_compressed && !extent->is_compressed &&
      last->host_offset + last->host_length == extent->host_offset &&
      last->virtual_offset + last->length == extent->virtual_offset) {
    last->length += extent->length;
    last->host_length += extent->host_length;
    return;
  }
  if (extents->count == extents->room) {
    extents->room = extents->room < 64 ? 64 : 2 * extents->room;
    extents->items = xrealloc(extents->items, extents->room, sizeof(*extent));
  }
  extents->items[extents->count++] = *extent;
}

/* The first run that may have something at or behind the offset: none of those before begins so
 * late, and runs do not overlap. */
static size_t
find(const struct qcow2_window *window, uint64_t offset)
{
  size_t low = 0, high = window->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (window->runs[middle].host_offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 ? low - 1 : 0; /* that one may reach over the offset */
}

void
qcow2_window_extents(const struct qcow2_window *window, const struct qcow2_header *header,
                     uint64_t first, uint64_t end, struct qcow2_extents *extents)
{
  for (size_t i = find(window, first); i < window->count; i++) {
    struct qcow2_run run = window->runs[i];
    if (run.host_offset >= end)
      break;
    struct qcow2_extent extent;
    if (!clip(header, &run, first, end))
      continue;
    while (qcow2_run_next_extent(header, &run, UINT64_MAX, &extent))
      append(extents, &extent);
  }
}
