/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ceph/place.h"

#include <errno.h>
#include <libgen.h>
#include <rbd/librbd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/string_map.h"
#include "lib/base/text.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/trash.h"

#define TRIM_MS 30000
#define LOOK_AGAIN_US 200000

struct place place;

/* Names handed out, and the objects that were there before. */
static struct string_map names, before;

static const char *
from_environment(const char *variable)
{
  const char *value = getenv(variable);
  if (!value) {
    (void)fprintf(stderr, "%s is not set: run './dev test ceph'\n", variable);
    exit(1);
  }
  return value;
}

void
place_config(struct cluster_config *ret_config)
{
  const char *conf = from_environment("CEPH_CONF");
  CLEANUP(freep) char *path = xstrdup(conf);
  *ret_config = (struct cluster_config){.cluster_id = xstrdup("local"),
                                        .conf_file = xstrdup(conf),
                                        .user = xstrdup("imprint"),
                                        .keyring = xasprintf("%s/imprint.keyring", dirname(path))};
}

struct cluster *
place_connect(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = NULL;
  if (cluster_connect(&place.config, NULL, &cluster, &err) < 0) {
    (void)fprintf(stderr, "%s\n", err->message);
    exit(1);
  }
  return cluster;
}

static struct location *
open_location(struct cluster *cluster, const char *pool, const char *name_space)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct location *location = NULL;
  if (location_open(cluster, pool, name_space, &location, &err) < 0) {
    (void)fprintf(stderr, "%s\n", err->message);
    exit(1);
  }
  return location;
}

struct location *
place_open(struct cluster *cluster, const struct location *like)
{
  return open_location(cluster, like->pool, like->name_space);
}

/* librbd makes these when they are first needed and keeps them. */
static bool
is_kept(const char *object)
{
  static const char *const kept[] = {"rbd_directory", "rbd_trash",     "rbd_children",
                                     "rbd_info",      "rbd_namespace", "rbd_task"};
  for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
    if (strcmp(object, kept[i]) == 0)
      return true;
  }
  return false;
}

/* Calls each() with every object of the pool, in whatever namespace. */
static void
walk_objects(struct location *location,
             void (*each)(void *context, const char *name_space, const char *object), void *context)
{
  rados_ioctx_t all;
  REQUIRE(rados_ioctx_create2(location->cluster->rados, location->pool_id, &all) == 0);
  rados_ioctx_set_namespace(all, LIBRADOS_ALL_NSPACES);
  rados_list_ctx_t list;
  REQUIRE(rados_nobjects_list_open(all, &list) == 0);
  const char *object, *name_space;
  while (rados_nobjects_list_next(list, &object, NULL, &name_space) == 0)
    each(context, name_space, object);
  rados_nobjects_list_close(list);
  rados_ioctx_destroy(all);
}

static void
note_object(void *context, const char *name_space, const char *object)
{
  CLEANUP(freep) char *key = xasprintf("%s/%s/%s", (const char *)context, name_space, object);
  string_map_set(&before, key, "");
}

/* What is to be found in a pool, and how much is there that was not before. */
struct search {
  const char *pool;
  bool is_last; /* what is there now is left behind */
  size_t found;
};

static void
look_at_object(void *context, const char *name_space, const char *object)
{
  struct search *search = context;
  CLEANUP(freep) char *key = xasprintf("%s/%s/%s", search->pool, name_space, object);
  if (is_kept(object) || string_map_get(&before, key))
    return;
  search->found++;
  if (search->is_last)
    CHECK_ROW(false, key);
}

/* Data that only a snapshot had is removed by the OSDs when they find the time. */
static void
check_no_objects(struct location *location)
{
  int64_t until_ms = clock_now_ms() + TRIM_MS;
  for (;;) {
    struct search search = {.pool = location->pool, .is_last = clock_now_ms() >= until_ms};
    walk_objects(location, look_at_object, &search);
    if (search.found == 0 || search.is_last)
      return;
    (void)usleep(LOOK_AGAIN_US);
  }
}

static void
check_no_entries(struct location *location)
{
  struct directory directory;
  REQUIRE(directory_list(location, named(""), &directory, NULL) == 0);
  CHECK_NUMBER(directory.count, 0);
  directory_clear(&directory);
  struct trash trash;
  REQUIRE(trash_list(location, named(""), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, 0);
  trash_clear(&trash);
}

static void
test_nothing_is_left_behind(void)
{
  check_no_objects(place.pool);
  check_no_objects(place.other);
  check_no_entries(place.pool);
  check_no_entries(place.tenant);
  check_no_entries(place.other);
}

int
place_run(const char *suite, const struct unit_test *tests, size_t count)
{
  place_config(&place.config);
  place.cluster = place_connect();
  place.pool = open_location(place.cluster, from_environment("POOL"), "");
  place.tenant = open_location(place.cluster, place.pool->pool, from_environment("NAMESPACE"));
  place.other = open_location(place.cluster, from_environment("DATA_POOL"), "");
  walk_objects(place.pool, note_object, place.pool->pool);
  walk_objects(place.other, note_object, place.other->pool);

  CLEANUP(freep) struct unit_test *all = xcalloc(count + 1, sizeof(*all));
  memcpy(all, tests, count * sizeof(*all));
  all[count] = (struct unit_test)UNIT_TEST(test_nothing_is_left_behind);
  int status = unit_run(suite, all, count + 1);

  location_close(place.pool);
  location_close(place.tenant);
  location_close(place.other);
  cluster_unref(place.cluster);
  cluster_config_clear(&place.config);
  string_map_clear(&names);
  string_map_clear(&before);
  return status;
}

const char *
named(const char *what)
{
  const char *name = string_map_get(&names, what);
  if (name)
    return name;
  CLEANUP(freep) char *made = xasprintf("test-%d-%s", (int)getpid(), what);
  string_map_set(&names, what, made);
  return string_map_get(&names, what);
}

char *
make_image(struct location *location, const char *name, uint64_t size_bytes)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char *id = NULL;
  REQUIRE(image_create(location, name, size_bytes, &(struct image_layout){0}, &err) == 0);
  REQUIRE(directory_id_of(location, name, &id, &err) == 0);
  return id;
}

struct image *
open_image(struct location *location, const char *id)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image *image = NULL;
  REQUIRE(image_open(location, id, &image, &err) == 0);
  return image;
}

uint64_t
snapshot_image(struct location *location, const char *id, const char *snap_name)
{
  CLEANUP(image_closep) struct image *image = open_image(location, id);
  uint64_t snap_id = 0;
  REQUIRE(image_snap_create(image, snap_name, &snap_id, NULL) == 0);
  return snap_id;
}

void
clone_image(struct location *parent, const char *parent_name, const char *snap_name,
            struct location *location, const char *name)
{
  REQUIRE(image_clone(parent, parent_name, snap_name, location, name, &(struct image_layout){0},
                      NULL) == 0);
}

static void
remove_snapshots(rbd_image_t rbd)
{
  rbd_snap_info_t snaps[64];
  int room = 64;
  int count = rbd_snap_list(rbd, snaps, &room);
  for (int i = 0; i < count; i++)
    (void)rbd_snap_remove_by_id(rbd, snaps[i].id);
  if (count > 0)
    rbd_snap_list_end(snaps);
}

void
drop_image(struct location *location, const char *name)
{
  rbd_image_t rbd;
  if (rbd_open(location->ioctx, name, &rbd, NULL) == 0) {
    remove_snapshots(rbd);
    (void)rbd_close(rbd);
  }
  int r = rbd_remove(location->ioctx, name);
  CHECK_ROW(r == 0 || r == -ENOENT, name);
}

void
write_image(struct location *location, const char *id, uint64_t offset, size_t len,
            unsigned char byte)
{
  CLEANUP(freep) char *data = xcalloc(len, 1);
  memset(data, byte, len);
  CLEANUP(image_closep) struct image *image = open_image(location, id);
  REQUIRE(rbd_write(image_rbd(image), offset, len, data) == (ssize_t)len);
}

bool
has_object(struct location *location, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *object = xvasprintf(format, args);
  va_end(args);
  uint64_t size;
  time_t modified;
  return rados_stat(location->ioctx, object, &size, &modified) == 0;
}

struct counted {
  const char *prefix;
  const char *name_space;
  size_t count;
};

static void
count_object(void *context, const char *name_space, const char *object)
{
  struct counted *counted = context;
  if (strcmp(name_space, counted->name_space) == 0 && text_starts_with(object, counted->prefix))
    counted->count++;
}

size_t
count_objects(struct location *location, const char *prefix)
{
  struct counted counted = {.prefix = prefix, .name_space = location->name_space};
  walk_objects(location, count_object, &counted);
  return counted.count;
}

char *
admin_command(const char *json)
{
  rados_t rados;
  REQUIRE(rados_create2(&rados, "ceph", "client.admin", 0) == 0);
  REQUIRE(rados_conf_read_file(rados, place.config.conf_file) == 0);
  (void)rados_conf_set(rados, "admin_socket", "");
  REQUIRE(rados_connect(rados) == 0);
  char *answer = NULL, *status = NULL;
  size_t answer_len = 0, status_len = 0;
  int r = rados_mon_command(rados, &json, 1, "", 0, &answer, &answer_len, &status, &status_len);
  CHECK_ROW(r == 0, json);
  char *text = xstrndup(answer ? answer : "", answer_len);
  if (answer)
    rados_buffer_free(answer);
  if (status)
    rados_buffer_free(status);
  rados_shutdown(rados);
  return text;
}
