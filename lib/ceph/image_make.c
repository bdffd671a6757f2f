/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_make.h"

#include <errno.h>
#include <inttypes.h>
#include <rbd/librbd.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The image being made. */
struct making {
  struct location *location;
  const char *name;
  char id[48];
  uint64_t size_bytes;
  uint64_t order;
  uint64_t features;
};

/* As librbd does: who makes it, and a random number. */
static void
choose_id(struct making *m)
{
  uint32_t random = 0;
  (void)!getrandom(&random, sizeof(random), 0);
  char text[48];
  int len = snprintf(text, sizeof(text), "%" PRIx64 "%" PRIx32,
                     cluster_client_id(m->location->cluster), random);
  (void)snprintf(m->id, sizeof(m->id), "%s", len > ID_MAX ? text + len - ID_MAX : text);
}

static void
add_call(rados_write_op_t op, const char *method, struct wire_writer *input)
{
  rados_write_op_exec(op, "rbd", method, input->data, input->len, NULL);
  wire_writer_clear(input);
}

static int
enter_in_directory(struct making *m)
{
  struct wire_writer w = {0};
  rados_write_op_t op = rados_create_write_op();
  if (*m->location->name_space) { /* not in one that is being removed */
    wire_put_u8(&w, DIRECTORY_READY);
    add_call(op, "dir_state_assert", &w);
  }
  wire_put_string(&w, m->name);
  wire_put_string(&w, m->id);
  add_call(op, "dir_add_image", &w);
  int r = CEPH_CALL(rados_write_op_operate(op, m->location->ioctx, "rbd_directory", NULL, 0));
  rados_release_write_op(op);
  return r;
}

/* A write operation that is under way. */
struct started {
  rados_write_op_t op;
  rados_completion_t completion;
};

static void
start(struct started *started, struct making *m, const char *object)
{
  (void)rados_aio_create_completion2(NULL, NULL, &started->completion);
  (void)rados_aio_write_op_operate(started->op, m->location->ioctx, started->completion, object,
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
start_name_object(struct started *started, struct making *m)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", m->name);
  started->op = rados_create_write_op();
  rados_write_op_create(started->op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  wire_put_string(&w, m->id);
  add_call(started->op, "set_id", &w);
  start(started, m, object);
}

static void
start_object_map(struct started *started, struct making *m)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_object_map.%s", m->id);
  uint64_t object_bytes = 1ULL << m->order;
  started->op = rados_create_write_op();
  wire_put_u64(&w, (m->size_bytes + object_bytes - 1) / object_bytes);
  wire_put_u8(&w, OBJECT_NONEXISTENT);
  add_call(started->op, "object_map_resize", &w);
  start(started, m, object);
}

static int
make_objects(struct making *m)
{
  struct started name, map;
  bool has_map = m->features & RBD_FEATURE_OBJECT_MAP;
  start_name_object(&name, m);
  if (has_map)
    start_object_map(&map, m);
  int r = finish(&name);
  int map_r = has_map ? finish(&map) : 0;
  return r < 0 ? r : map_r;
}

/* The last step. */
static int
make_header(struct making *m, const struct string_map *metadata)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", m->id);
  CLEANUP(freep) char *prefix = xasprintf("rbd_data.%s", m->id);
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  wire_put_u64(&w, m->size_bytes);
  wire_put_u8(&w, (uint8_t)m->order);
  wire_put_u64(&w, m->features);
  wire_put_string(&w, prefix);
  wire_put_u64(&w, NO_DATA_POOL);
  add_call(op, "create", &w);
  header_encode_metadata(metadata, &w);
  add_call(op, "metadata_set", &w);
  int r = CEPH_CALL(rados_write_op_operate(op, m->location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  return r;
}

/* Whether nothing but the plain case is asked for, by the layout or by the cluster's configuration.
 */
static bool
is_plain(const struct location *location, const struct image_layout *layout)
{
  char text[64] = "";
  bool has_default_pool =
      rados_conf_get(location->cluster->rados, "rbd_default_data_pool", text, sizeof(text)) == 0 &&
      *text;
  /* No features means those of the cluster's configuration, which librbd knows. */
  return layout->features && !layout->stripe_unit && !layout->data_pool && !has_default_pool &&
         !(layout->features & RBD_FEATURE_JOURNALING);
}

static uint64_t
default_order(const struct location *location)
{
  char text[64] = "";
  uint64_t order = 0;
  (void)rados_conf_get(location->cluster->rados, "rbd_default_order", text, sizeof(text));
  return text_to_u64(text, 10, &order) == 0 && order > 0 ? order : 22;
}

/* Takes back what was made before a step failed. */
static void
unmake(struct making *m, bool has_header)
{
  CLEANUP(freep) char *map = xasprintf("rbd_object_map.%s", m->id);
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", m->id);
  if (has_header)
    (void)CEPH_CALL(rados_remove(m->location->ioctx, header));
  (void)CEPH_CALL(rados_remove(m->location->ioctx, map));
  (void)directory_remove(m->location, m->name, m->id);
}

/* Everything is written: is it still ours, or did somebody take us for dead meanwhile? */
static int
confirm(struct making *m, struct error **err)
{
  bool is_ours = false;
  if (unfinished_is_ours(m->location, m->name, m->id, &is_ours, err) < 0)
    return -1;
  if (is_ours)
    return 0;
  unmake(m, true);
  return error_set(err, ERROR_ALREADY_EXISTS, "the name '%s/%s' was taken by somebody else",
                   m->location->label, m->name);
}

static int
make_plain(struct making *m, const struct image_request *request, struct error **err)
{
  struct string_map metadata = {0};
  choose_id(m);
  request->describe(request->context, m->id, &metadata);
  int r = enter_in_directory(m);
  if (r == 0) {
    r = make_objects(m);
    if (r == 0)
      r = make_header(m, &metadata);
    if (r < 0)
      unmake(m, false);
  }
  string_map_clear(&metadata);
  if (r < 0)
    return location_error_set(m->location, err, r, "create image '%s/%s'", m->location->label,
                              m->name);
  return confirm(m, err);
}

static int
make_by_librbd(struct making *m, const struct image_request *request, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct string_map metadata = {0};
  if (image_create(m->location, m->name, m->size_bytes, request->layout, err) < 0 ||
      directory_id_of(m->location, m->name, &id, err) < 0)
    return -1;
  (void)snprintf(m->id, sizeof(m->id), "%s", id);
  request->describe(request->context, m->id, &metadata);
  int r =
      header_update_metadata_if(m->location, m->id, UNFINISHED_DOOMED, NULL, &metadata, NULL, err);
  string_map_clear(&metadata);
  return r;
}

int
image_make(struct location *location, const struct image_request *request, char **ret_id,
           struct error **err)
{
  const struct image_layout *layout = request->layout;
  struct making m = {.location = location,
                     .name = request->name,
                     .size_bytes = request->size_bytes,
                     .order = layout->order ? layout->order : default_order(location),
                     .features = layout->features};
  /* A map without fast-diff is of the past; librbd does not make any. */
  if (m.features & RBD_FEATURE_OBJECT_MAP)
    m.features |= RBD_FEATURE_FAST_DIFF;
  int r =
      is_plain(location, layout) ? make_plain(&m, request, err) : make_by_librbd(&m, request, err);
  if (r < 0)
    return -1;
  *ret_id = xstrdup(m.id);
  return 0;
}
