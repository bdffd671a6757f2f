/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/qcow2_layout.h"

#include <assert.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_map.h"
#include "populator/transfer/data_ranges.h"

struct qcow2_layout {
  struct layout layout;
  struct qcow2_file file;
  struct qcow2_map *map;
  struct data_ranges ranges;
};

static_assert(QCOW2_CLUSTER_MAX + QCOW2_COMPRESSED_OVERHEAD <= LAYOUT_OVERHANG_MAX, "overhang");

static int
read_source(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct source *source = context;
  return source->ops->read_at(source, buf, len, offset, err);
}

/* The map gives pieces as long as the file has them; 32 bits are plenty for a chunk. */
static void
add_extent(struct layout_extents *extents, const struct qcow2_extent *extent)
{
  layout_extents_add(extents, &(struct layout_extent){.virtual_offset = extent->virtual_offset,
                                                      .file_offset = extent->host_offset,
                                                      .file_len = (uint32_t)extent->host_length,
                                                      .len = (uint32_t)extent->length,
                                                      .is_encoded = extent->is_compressed});
}

/* Without its holes: a file whose clusters were all made beforehand (preallocation=metadata) has
 * little else. */
static int
add_data(struct qcow2_layout *self, struct layout_extents *extents,
         const struct qcow2_extent *extent, struct error **err)
{
  uint64_t at = extent->host_offset;
  uint64_t end = at + extent->host_length;
  while (at < end) {
    uint64_t start, stop;
    if (data_ranges_next(&self->ranges, at, end, &start, &stop, err) < 0)
      return -1;
    if (start < stop)
      add_extent(extents, &(struct qcow2_extent){.virtual_offset = extent->virtual_offset + start -
                                                                   extent->host_offset,
                                                 .host_offset = start,
                                                 .length = stop - start,
                                                 .host_length = stop - start});
    at = stop;
  }
  return 0;
}

static int
layout_extents(struct layout *layout, uint64_t first, uint64_t end, struct layout_extents *extents,
               struct error **err)
{
  struct qcow2_layout *self = (struct qcow2_layout *)layout;
  struct qcow2_extents found = {0};
  extents->count = 0;
  int r = qcow2_map_chunk(self->map, first, end, &found, err);
  for (size_t i = 0; r == 0 && i < found.count; i++) {
    if (found.items[i].is_compressed)
      add_extent(extents, &found.items[i]);
    else
      r = add_data(self, extents, &found.items[i], err);
  }
  qcow2_extents_clear(&found);
  return r;
}

static_assert(LAYOUT_PIECES_MAX <= QCOW2_PIECES_MAX, "pieces");

static int
layout_decode(struct layout *layout, const struct layout_piece *pieces, size_t count,
              struct error **err)
{
  struct qcow2_layout *self = (struct qcow2_layout *)layout;
  struct qcow2_piece own[LAYOUT_PIECES_MAX];
  size_t failed;
  for (size_t i = 0; i < count; i++)
    own[i] = (struct qcow2_piece){.bytes = pieces[i].bytes,
                                  .bytes_len = pieces[i].extent->file_len,
                                  .content = pieces[i].content,
                                  .len = pieces[i].extent->len};
  if (qcow2_map_decode(self->map, own, count, &failed, err) < 0)
    return error_wrap(err, "disk offset %ju", (uintmax_t)pieces[failed].extent->virtual_offset);
  return 0;
}

static void
layout_free(struct layout *layout)
{
  struct qcow2_layout *self = (struct qcow2_layout *)layout;
  qcow2_map_close(self->map);
  data_ranges_clear(&self->ranges);
  free(self);
}

static const struct layout_ops ops = {
    .name = "qcow2",
    .extents = layout_extents,
    .decode = layout_decode,
    .close = layout_free,
};

int
qcow2_layout_open(struct source *source, unsigned threads, struct layout **ret_layout,
                  struct error **err)
{
  struct qcow2_layout *self = xcalloc(1, sizeof(*self));
  self->layout.ops = &ops;
  self->file = (struct qcow2_file){.read_at = read_source, .context = source, .size = source->size};
  if (qcow2_map_open(&self->file, threads, &self->map, err) < 0) {
    free(self);
    return -1;
  }
  data_ranges_init(&self->ranges, source);
  self->layout.virtual_size = qcow2_map_header(self->map)->virtual_size;
  *ret_layout = &self->layout;
  return 0;
}
