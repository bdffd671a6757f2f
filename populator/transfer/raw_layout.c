/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_layout.h"

#include <pthread.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

struct raw_layout {
  struct layout layout;
  struct source *source;
  pthread_mutex_t mutex; /* guards what the source has said last: */
  uint64_t asked;        /* there are zeros from here … */
  uint64_t start;        /* … to here, and data from here … */
  uint64_t end;          /* … to here */
};

/* The source's answer, or the last one where that still tells: holes may be as long as thousands of
 * chunks, and asking may cost a round trip. */
static int
next_data(struct raw_layout *raw, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
          struct error **err)
{
  MUTEX_GUARD(&raw->mutex);
  if (offset < raw->asked || offset >= raw->end) {
    uint64_t start, end;
    if (raw->source->ops->data_range(raw->source, offset, &start, &end, err) < 0)
      return -1;
    raw->asked = offset;
    raw->start = start;
    raw->end = end;
  }
  *ret_start = raw->start > offset ? raw->start : offset;
  *ret_end = raw->end;
  return 0;
}

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
    uint64_t start = first, stop = end;
    if (raw->source->ops->data_range && next_data(raw, first, &start, &stop, err) < 0)
      return -1;
    if (stop > end)
      stop = end;
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
  (void)pthread_mutex_destroy(&raw->mutex);
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
  raw->source = source;
  (void)pthread_mutex_init(&raw->mutex, NULL);
  return &raw->layout;
}
