/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_reader.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/header.h"

struct image_reader {
  struct location *location; /* its own */
  rbd_image_t rbd;
  char *label;
  char *id;
  uint64_t size_bytes;
  uint64_t object_bytes;
  uint64_t snap_id;
};

static int
learn(struct image_reader *reader, const char *snap_name)
{
  rbd_image_info_t info;
  int r = rbd_stat(reader->rbd, &info, sizeof(info));
  if (r < 0)
    return r;
  reader->size_bytes = info.size;
  reader->object_bytes = info.obj_size;
  char id[256];
  r = rbd_get_id(reader->rbd, id, sizeof(id));
  if (r < 0)
    return r;
  reader->id = xstrdup(id);
  return snap_name ? rbd_snap_get_id(reader->rbd, snap_name, &reader->snap_id) : 0;
}

int
image_reader_open(struct location *location, const char *name, const char *snap_name,
                  struct image_reader **ret_reader, struct error **err)
{
  CLEANUP(image_reader_closep) struct image_reader *reader = xcalloc(1, sizeof(*reader));
  reader->label = xasprintf("%s/%s%s%s", location->label, name, snap_name ? "@" : "",
                            snap_name ? snap_name : "");
  if (location_open_by_id(location->cluster, location->pool_id, location->name_space,
                          &reader->location, err) < 0)
    return -1;
  int r = CEPH_CALL(rbd_open_read_only(reader->location->ioctx, name, &reader->rbd, snap_name));
  if (r < 0)
    reader->rbd = NULL;
  else
    r = learn(reader, snap_name);
  if (r < 0)
    return location_error_set(location, err, r, "open image '%s' for reading", reader->label);
  *ret_reader = TAKE(reader);
  return 0;
}

void
image_reader_close(struct image_reader *reader)
{
  if (!reader)
    return;
  if (reader->rbd)
    (void)CEPH_CALL(rbd_close(reader->rbd));
  location_close(reader->location);
  free(reader->label);
  free(reader->id);
  free(reader);
}

uint64_t
image_reader_size(const struct image_reader *reader)
{
  return reader->size_bytes;
}

uint64_t
image_reader_object_size(const struct image_reader *reader)
{
  return reader->object_bytes;
}

const char *
image_reader_id(const struct image_reader *reader)
{
  return reader->id;
}

uint64_t
image_reader_snap_id(const struct image_reader *reader)
{
  return reader->snap_id;
}

int
image_reader_read(struct image_reader *reader, void *buf, size_t len, uint64_t offset,
                  struct error **err)
{
  ssize_t r = CEPH_CALL(rbd_read(reader->rbd, offset, len, buf));
  if (r >= 0 && (size_t)r != len)
    r = -EIO; /* beyond the end: the caller has asked for what is not there */
  if (r < 0)
    return location_error_set(reader->location, err, (int)r, "read %zu bytes of '%s' at %llu", len,
                              reader->label, (unsigned long long)offset);
  return 0;
}

static bool
has_snap(const struct header *header, uint64_t snap_id)
{
  for (size_t i = 0; i < header->snap_count; i++) {
    if (header->snap_ids[i] == snap_id)
      return true;
  }
  return false;
}

int
image_reader_check(struct image_reader *reader, struct error **err)
{
  struct header header;
  if (header_read(reader->location, reader->id, &header, err) < 0)
    return -1;
  bool is_there = reader->snap_id == 0 || has_snap(&header, reader->snap_id);
  header_clear(&header);
  if (!is_there)
    return error_set(err, ERROR_NOT_FOUND, "'%s' was removed while it was read", reader->label);
  return 0;
}

static int
on_extent(uint64_t offset, size_t len, int exists, void *arg)
{
  struct image_extents *extents = arg;
  if (!exists)
    return 0;
  struct image_extent *last = extents->count ? &extents->items[extents->count - 1] : NULL;
  if (last && last->offset + last->len == offset) {
    last->len += len;
    return 0;
  }
  extents->items = xrealloc(extents->items, extents->count + 1, sizeof(extents->items[0]));
  extents->items[extents->count++] = (struct image_extent){.offset = offset, .len = len};
  return 0;
}

int
image_reader_extents(struct image_reader *reader, uint64_t offset, uint64_t len,
                     struct image_extents *ret_extents, struct error **err)
{
  struct image_extents extents = {0};
  int r = CEPH_CALL(rbd_diff_iterate2(reader->rbd, NULL, offset, len, 1, 1, on_extent, &extents));
  if (r < 0) {
    image_extents_clear(&extents);
    return location_error_set(reader->location, err, r, "list the data of '%s'", reader->label);
  }
  *ret_extents = extents;
  return 0;
}

void
image_extents_clear(struct image_extents *extents)
{
  free(extents->items);
  *extents = (struct image_extents){0};
}
