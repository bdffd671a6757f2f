/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/children.h"

#include <errno.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/wire.h"

/* As the object class counts its versions. */
#define CHILD_VERSION 2
#define CHILD_COMPAT 1

struct child {
  int64_t pool_id;
  char *name_space;
  char *image_id;
};

/* A method of the object class that takes a snapshot and one of its clones. */
static int
call_with_child(const struct image_snap *snap, const char *method, const struct child *child)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", snap->image_id);
  struct wire_writer spec = {0}, w = {0};
  wire_put_u64(&spec, (uint64_t)child->pool_id);
  wire_put_string(&spec, child->image_id);
  wire_put_string(&spec, child->name_space);
  wire_put_u64(&w, snap->snap_id);
  wire_put_struct(&w, CHILD_VERSION, CHILD_COMPAT, &spec);
  char answer[1];
  int r = CEPH_CALL(rados_exec(snap->location->ioctx, object, "rbd", method, w.data, w.len, answer,
                               sizeof(answer)));
  wire_writer_clear(&spec);
  wire_writer_clear(&w);
  return r < 0 ? r : 0;
}

int
children_add(const struct image_snap *snap, const struct location *location, const char *child_id)
{
  const struct child child = {.pool_id = location->pool_id,
                              .name_space = (char *)location->name_space,
                              .image_id = (char *)child_id};
  int r = call_with_child(snap, "child_attach", &child);
  return r == -EEXIST ? 0 : r;
}

static int
take_out(const struct image_snap *snap, const struct child *child)
{
  int r = call_with_child(snap, "child_detach", child);
  return r == -ENOENT ? 0 : r;
}

int
children_remove(const struct image_snap *snap, const struct location *location,
                const char *child_id)
{
  const struct child child = {.pool_id = location->pool_id,
                              .name_space = (char *)location->name_space,
                              .image_id = (char *)child_id};
  return take_out(snap, &child);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

static void
get_child(struct wire_reader *r, struct child *ret_child)
{
  struct wire_reader body;
  wire_get_struct(r, &body);
  ret_child->pool_id = (int64_t)wire_get_u64(&body);
  ret_child->image_id = wire_get_string(&body);
  ret_child->name_space = body.left ? wire_get_string(&body) : xstrdup("");
  r->failed = r->failed || body.failed;
}

static void
child_clear(struct child *child)
{
  free(child->image_id);
  free(child->name_space);
}

static bool
is_ghost(struct cluster *cluster, const struct child *child)
{
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", child->image_id);
  if (location_open_by_id(cluster, child->pool_id, child->name_space, &location, NULL) < 0)
    return false;
  return CEPH_CALL(rados_stat(location->ioctx, header, NULL, NULL)) == -ENOENT;
}

static size_t
drop_ghosts_of(const struct image_snap *snap, struct wire_reader *list)
{
  size_t dropped = 0;
  uint32_t count = wire_get_u32(list);
  for (uint32_t i = 0; i < count && i < CHILDREN_LOOKED_AT && !list->failed; i++) {
    struct child child = {0};
    get_child(list, &child);
    if (!list->failed && is_ghost(snap->location->cluster, &child) && take_out(snap, &child) == 0)
      dropped++;
    child_clear(&child);
  }
  return dropped;
}

size_t
children_drop_ghosts(const struct image_snap *snap)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", snap->image_id);
  struct wire_writer w = {0};
  char *answer = NULL;
  size_t len = 0, dropped = 0;
  int result = 0;
  wire_put_u64(&w, snap->snap_id);
  rados_read_op_t op = rados_create_read_op();
  rados_read_op_exec(op, "rbd", "children_list", w.data, w.len, &answer, &len, &result);
  int r = CEPH_CALL(rados_read_op_operate(op, snap->location->ioctx, object, 0));
  rados_release_read_op(op);
  wire_writer_clear(&w);
  if (r == 0 && answer) {
    struct wire_reader list = {.at = answer, .left = len};
    dropped = drop_ghosts_of(snap, &list);
  }
  if (answer)
    rados_buffer_free(answer);
  return dropped;
}
