/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_parts.h"

#include <inttypes.h>
#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/unfinished.h"
#include "lib/ceph/wire.h"

/* RBD's own limit, which keeps names of objects short. */
#define ID_MAX 14
#define DIRECTORY_READY 0
#define OBJECT_NONEXISTENT 0
#define NO_DATA_POOL UINT64_MAX
#define PARENT_VERSION 1
#define PARENT_COMPAT 1

/* As librbd does: who makes it, and a random number. */
static void
choose_id(struct image_parts *parts)
{
  uint32_t random = 0;
  (void)!getrandom(&random, sizeof(random), 0);
  char text[48];
  int len = snprintf(text, sizeof(text), "%" PRIx64 "%" PRIx32,
                     cluster_client_id(parts->location->cluster), random);
  (void)snprintf(parts->id, sizeof(parts->id), "%s", len > ID_MAX ? text + len - ID_MAX : text);
}

void
image_parts_begin(struct image_parts *parts, struct location *location, const char *name,
                  uint64_t size_bytes, uint64_t order, uint64_t features)
{
  *parts = (struct image_parts){.location = location,
                                .name = name,
                                .size_bytes = size_bytes,
                                .order = order,
                                .features = features};
  /* A map without fast-diff is of the past; librbd does not make any. */
  if (features & RBD_FEATURE_OBJECT_MAP)
    parts->features |= RBD_FEATURE_FAST_DIFF;
  choose_id(parts);
}

static void
add_call(rados_write_op_t op, const char *method, struct wire_writer *input)
{
  rados_write_op_exec(op, "rbd", method, input->data, input->len, NULL);
  wire_writer_clear(input);
}

int
image_parts_enter_in_directory(struct image_parts *parts)
{
  struct wire_writer w = {0};
  rados_write_op_t op = rados_create_write_op();
  if (*parts->location->name_space) { /* not in one that is being removed */
    wire_put_u8(&w, DIRECTORY_READY);
    add_call(op, "dir_state_assert", &w);
  }
  wire_put_string(&w, parts->name);
  wire_put_string(&w, parts->id);
  add_call(op, "dir_add_image", &w);
  int r = CEPH_CALL(rados_write_op_operate(op, parts->location->ioctx, "rbd_directory", NULL, 0));
  rados_release_write_op(op);
  return r;
}

/* A write operation that is under way. */
struct started {
  rados_write_op_t op;
  rados_completion_t completion;
};

static void
start(struct started *started, struct image_parts *parts, const char *object)
{
  (void)rados_aio_create_completion2(NULL, NULL, &started->completion);
  (void)rados_aio_write_op_operate(started->op, parts->location->ioctx, started->completion, object,
                                   NULL, 0);
}

static int
finish(struct started *started)
{
  (void)CEPH_CALL(rados_aio_wait_for_complete(started->completion));
  int r = rados_aio_get_return_value(started->completion);
  rados_aio_release(started->completion);
  rados_release_write_op(started->op);
  return r;
}

static void
start_name_object(struct started *started, struct image_parts *parts)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", parts->name);
  started->op = rados_create_write_op();
  rados_write_op_create(started->op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  wire_put_string(&w, parts->id);
  add_call(started->op, "set_id", &w);
  start(started, parts, object);
}

static void
start_object_map(struct started *started, struct image_parts *parts)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_object_map.%s", parts->id);
  uint64_t object_bytes = 1ULL << parts->order;
  started->op = rados_create_write_op();
  wire_put_u64(&w, (parts->size_bytes + object_bytes - 1) / object_bytes);
  wire_put_u8(&w, OBJECT_NONEXISTENT);
  add_call(started->op, "object_map_resize", &w);
  start(started, parts, object);
}

int
image_parts_make_name_and_map(struct image_parts *parts)
{
  struct started name, map;
  bool has_map = parts->features & RBD_FEATURE_OBJECT_MAP;
  start_name_object(&name, parts);
  if (has_map)
    start_object_map(&map, parts);
  int r = finish(&name);
  int map_r = has_map ? finish(&map) : 0;
  return r < 0 ? r : map_r;
}

int
image_parts_make_header(struct image_parts *parts, const struct string_map *metadata)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", parts->id);
  CLEANUP(freep) char *prefix = xasprintf("rbd_data.%s", parts->id);
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  wire_put_u64(&w, parts->size_bytes);
  wire_put_u8(&w, (uint8_t)parts->order);
  wire_put_u64(&w, parts->features);
  wire_put_string(&w, prefix);
  wire_put_u64(&w, NO_DATA_POOL);
  add_call(op, "create", &w);
  if (metadata) {
    header_encode_metadata(metadata, &w);
    add_call(op, "metadata_set", &w);
  }
  int r = CEPH_CALL(rados_write_op_operate(op, parts->location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  return r;
}

static void
put_parent(const struct image_snap *parent, struct wire_writer *w)
{
  struct wire_writer spec = {0};
  wire_put_u64(&spec, (uint64_t)parent->location->pool_id);
  wire_put_string(&spec, parent->location->name_space);
  wire_put_string(&spec, parent->image_id);
  wire_put_u64(&spec, parent->snap_id);
  wire_put_struct(w, PARENT_VERSION, PARENT_COMPAT, &spec);
  wire_writer_clear(&spec);
}

int
image_parts_name_parent(struct image_parts *parts, const struct image_snap *parent, uint64_t bytes,
                        const struct string_map *metadata)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", parts->id);
  struct wire_writer w = {0};
  rados_write_op_t op = rados_create_write_op();
  put_parent(parent, &w);
  wire_put_u64(&w, bytes);
  add_call(op, "parent_attach", &w);
  wire_put_u64(&w, RBD_OPERATION_FEATURE_CLONE_CHILD);
  wire_put_u64(&w, RBD_OPERATION_FEATURE_CLONE_CHILD); /* the mask */
  add_call(op, "op_features_set", &w);
  if (metadata->count > 0) {
    header_encode_metadata(metadata, &w);
    add_call(op, "metadata_set", &w);
  }
  int r = CEPH_CALL(rados_write_op_operate(op, parts->location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  return r;
}

bool
image_parts_suffice(const struct location *location, const struct image_layout *layout)
{
  char text[64] = "";
  bool has_default_pool =
      rados_conf_get(location->cluster->rados, "rbd_default_data_pool", text, sizeof(text)) == 0 &&
      *text;
  /* No features means those of the cluster's configuration, which librbd knows. */
  return layout->features && !layout->stripe_unit && !layout->data_pool && !has_default_pool &&
         !(layout->features & RBD_FEATURE_JOURNALING);
}

uint64_t
image_parts_default_order(const struct location *location)
{
  char text[64] = "";
  uint64_t order = 0;
  (void)rados_conf_get(location->cluster->rados, "rbd_default_order", text, sizeof(text));
  return text_to_u64(text, 10, &order) == 0 && order > 0 ? order : 22;
}

void
image_parts_remove(struct image_parts *parts, bool has_header)
{
  CLEANUP(freep) char *map = xasprintf("rbd_object_map.%s", parts->id);
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", parts->id);
  if (has_header)
    (void)CEPH_CALL(rados_remove(parts->location->ioctx, header));
  (void)CEPH_CALL(rados_remove(parts->location->ioctx, map));
  (void)directory_remove(parts->location, parts->name, parts->id);
}

int
image_parts_confirm(struct image_parts *parts, struct error **err)
{
  bool is_ours = false;
  if (unfinished_is_ours(parts->location, parts->name, parts->id, &is_ours, err) < 0)
    return -1;
  if (is_ours)
    return 0;
  image_parts_remove(parts, true);
  return error_set(err, ERROR_ALREADY_EXISTS, "the name '%s/%s' was taken by somebody else",
                   parts->location->label, parts->name);
}
