/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image.h"

#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_snap.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

static const struct image_layout usual;

static void
check_layout(const char *name, const struct image_layout *expected)
{
  rbd_image_t rbd;
  REQUIRE(rbd_open_read_only(place.pool->ioctx, name, &rbd, NULL) == 0);
  rbd_image_info_t info;
  uint64_t features = 0, unit = 0, count = 0;
  REQUIRE(rbd_stat(rbd, &info, sizeof(info)) == 0);
  REQUIRE(rbd_get_features(rbd, &features) == 0);
  REQUIRE(rbd_get_stripe_unit(rbd, &unit) == 0);
  REQUIRE(rbd_get_stripe_count(rbd, &count) == 0);
  int64_t data_pool = rbd_get_data_pool_id(rbd);
  REQUIRE(rbd_close(rbd) == 0);
  CHECK_NUMBER(info.order, expected->order);
  CHECK_NUMBER(features & expected->features, expected->features);
  CHECK_NUMBER(unit, expected->stripe_unit);
  CHECK_NUMBER(count, expected->stripe_count);
  CHECK_NUMBER(data_pool, expected->data_pool ? place.other->pool_id : place.pool->pool_id);
}

static void
test_an_image_has_the_layout_that_was_asked_for(void)
{
  const struct {
    const char *name;
    struct image_layout asked, got;
  } rows[] = {
      {"nothing", {0}, {.order = 22, .stripe_unit = 4 * MIB, .stripe_count = 1}},
      {"order", {.order = 20}, {.order = 20, .stripe_unit = MIB, .stripe_count = 1}},
      {"features",
       {.features = RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK | RBD_FEATURE_OBJECT_MAP},
       {.features = RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK | RBD_FEATURE_OBJECT_MAP,
        .order = 22,
        .stripe_unit = 4 * MIB,
        .stripe_count = 1}},
      {"stripes",
       {.stripe_unit = 64 * KIB, .stripe_count = 4},
       {.features = RBD_FEATURE_STRIPINGV2,
        .order = 22,
        .stripe_unit = 64 * KIB,
        .stripe_count = 4}},
      {"data pool",
       {.data_pool = place.other->pool},
       {.features = RBD_FEATURE_DATA_POOL,
        .order = 22,
        .stripe_unit = 4 * MIB,
        .stripe_count = 1,
        .data_pool = place.other->pool}},
      {"all",
       {.order = 23, .stripe_unit = MIB, .stripe_count = 2, .data_pool = place.other->pool},
       {.features = RBD_FEATURE_DATA_POOL | RBD_FEATURE_STRIPINGV2,
        .order = 23,
        .stripe_unit = MIB,
        .stripe_count = 2,
        .data_pool = place.other->pool}},
  };
  const char *name = named("layout");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CHECK_ROW(image_create(place.pool, name, 10 * MIB, &rows[i].asked, NULL) == 0, rows[i].name);
    check_layout(name, &rows[i].got);
    drop_image(place.pool, name);
  }
}

static void
test_features_that_are_not_asked_for_are_not_set(void)
{
  const char *name = named("plain");
  struct image_layout layout = {.features = RBD_FEATURE_LAYERING};
  REQUIRE(image_create(place.pool, name, MIB, &layout, NULL) == 0);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.pool, name, &id, NULL) == 0);
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(header.features, RBD_FEATURE_LAYERING);
  CHECK_NUMBER(header.size_bytes, MIB);
  header_clear(&header);
  drop_image(place.pool, name);
}

static void
test_a_layout_that_cannot_be_is_an_invalid_argument(void)
{
  static const struct image_layout rows[] = {
      {.order = 5}, {.stripe_unit = 3 * MIB, .stripe_count = 2}, {.features = 1ULL << 60}};
  for (size_t i = 0; i < 3; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    const char *name = named("impossible");
    char row[8];
    (void)snprintf(row, sizeof(row), "%zu", i);
    CHECK_ROW(image_create(place.pool, name, MIB, &rows[i], &err) == -1, row);
    if (err && err->code != ERROR_UNIMPLEMENTED && err->code != ERROR_OUT_OF_RANGE)
      CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, name);
    CU_ASSERT_FALSE(has_object(place.pool, "rbd_id.%s", name));
    drop_image(place.pool, name);
  }
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_layout layout = {.data_pool = "no-such-pool"};
  CHECK_NUMBER(image_create(place.pool, named("impossible"), MIB, &layout, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, named("impossible"));
}

static void
test_a_name_that_is_taken_already_exists(void)
{
  const char *name = named("taken");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(image_create(place.pool, name, 2 * MIB, &usual, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, name);
  CLEANUP(freep) char *same = NULL;
  REQUIRE(directory_id_of(place.pool, name, &same, NULL) == 0);
  CHECK_STRING(same, id);
  (void)snapshot_image(place.pool, id, "s");
  CHECK_NUMBER(image_clone(place.pool, name, "s", place.pool, name, &usual, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, name);
  drop_image(place.pool, name);
}

static void
check_byte(struct location *location, const char *id, uint64_t offset, char expected)
{
  CLEANUP(image_closep) struct image *image = open_image(location, id);
  char byte = '?';
  CHECK_NUMBER(rbd_read(image_rbd(image), offset, 1, &byte), 1);
  CHECK_NUMBER(byte, expected);
}

static void
test_a_clone_reads_its_parent_from_another_place(void)
{
  const char *parent = named("parent"), *child = named("child");
  CLEANUP(freep) char *parent_id = make_image(place.pool, parent, 8 * MIB);
  write_image(place.pool, parent_id, 5 * MIB, 10, 'p');
  (void)snapshot_image(place.pool, parent_id, "s");
  write_image(place.pool, parent_id, 5 * MIB, 10, 'q'); /* after the snapshot */
  struct image_layout layout = {.order = 20, .data_pool = place.other->pool};
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(image_clone(place.pool, parent, "s", place.tenant, child, &layout, &err) == 0);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.tenant, child, &id, NULL) == 0);
  check_byte(place.tenant, id, 5 * MIB, 'p');
  struct header header;
  REQUIRE(header_read(place.tenant, id, &header, NULL) == 0);
  CHECK_NUMBER(header.order, 20);
  CHECK_NUMBER(header.size_bytes, 8 * MIB);
  CHECK_NUMBER(header.parent.pool_id, place.pool->pool_id);
  CHECK_STRING(header.parent.image_id, parent_id);
  header_clear(&header);
  drop_image(place.tenant, child);
  drop_image(place.pool, parent);
}

static void
test_a_clone_of_what_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(
      image_clone(place.pool, named("none"), "s", place.pool, named("child"), &usual, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, named("none"));
  free(make_image(place.pool, named("parent"), MIB));
  CHECK_NUMBER(
      image_clone(place.pool, named("parent"), "s", place.pool, named("child"), &usual, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "@s");
  drop_image(place.pool, named("parent"));
}

static int
stop_at_once(void *context, int percent)
{
  (void)percent;
  ++*(int *)context;
  return -1;
}

static int
see_progress(void *context, int percent)
{
  int *last = context;
  if (percent < *last || percent > 100)
    *last = 1000;
  else
    *last = percent;
  return 0;
}

static void
test_flattening_cuts_the_tie_and_may_be_stopped(void)
{
  const char *parent = named("parent"), *child = named("child");
  CLEANUP(freep) char *parent_id = make_image(place.pool, parent, 64 * MIB);
  for (uint64_t at = 0; at < 64 * MIB; at += 8 * MIB)
    write_image(place.pool, parent_id, at, 10, 'p');
  (void)snapshot_image(place.pool, parent_id, "s");
  clone_image(place.pool, parent, "s", place.pool, child);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.pool, child, &id, NULL) == 0);
  struct image *image = open_image(place.pool, id);
  int calls = 0, percent = 0;
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(image_flatten(image, stop_at_once, &calls, &err), -1);
  CU_ASSERT_PTR_NOT_NULL(err);
  uint64_t flags = 1;
  REQUIRE(rbd_get_flags(image_rbd(image), &flags) == 0);
  CHECK_NUMBER(flags, 0); /* its object map is as good as before */
  CU_ASSERT(calls > 0);
  CHECK_NUMBER(image_flatten(image, see_progress, &percent, NULL), 0);
  CU_ASSERT(percent > 0 && percent <= 100);
  CHECK_NUMBER(image_flatten(image, NULL, NULL, NULL), 0); /* nothing is left to do */
  image_close(image);
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(header.parent.pool_id, -1);
  header_clear(&header);
  drop_image(place.pool, parent);
  check_byte(place.pool, id, 56 * MIB, 'p');
  drop_image(place.pool, child);
}

/* As a client leaves it that was killed before it wrote what it had entered in the object map. */
static void
test_flattening_copies_what_only_the_object_map_has(void)
{
  const char *parent = named("parent"), *child = named("child");
  CLEANUP(freep) char *parent_id = make_image(place.pool, parent, 16 * MIB);
  write_image(place.pool, parent_id, 4 * MIB, 10, 'p');
  (void)snapshot_image(place.pool, parent_id, "s");
  clone_image(place.pool, parent, "s", place.pool, child);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.pool, child, &id, NULL) == 0);
  write_image(place.pool, id, 5 * MIB, 10, 'c');
  CLEANUP(freep) char *object = xasprintf("rbd_data.%s.%016x", id, 1);
  REQUIRE(rados_remove(place.pool->ioctx, object) == 0);
  check_byte(place.pool, id, 4 * MIB, 'p');
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_flatten(image, NULL, NULL, NULL), 0);
  uint64_t flags = 1;
  REQUIRE(rbd_get_flags(image_rbd(image), &flags) == 0);
  CHECK_NUMBER(flags, 0);
  image_close(image);
  check_byte(place.pool, id, 4 * MIB, 'p');
  drop_image(place.pool, child);
  drop_image(place.pool, parent);
}

struct opener {
  const char *id;
  struct image *image;
  struct location *location;
};

static void
open_it(void *context)
{
  struct opener *opener = context;
  (void)image_open(opener->location, opener->id, &opener->image, NULL);
}

static void
close_it(void *context)
{
  image_close(((struct opener *)context)->image);
}

static size_t
count_watches(const char *id)
{
  rbd_image_t rbd;
  REQUIRE(rbd_open_by_id_read_only(place.pool->ioctx, id, &rbd, NULL) == 0);
  rbd_image_watcher_t watchers[16];
  size_t count = 16;
  REQUIRE(rbd_watchers_list(rbd, watchers, &count) == 0);
  rbd_watchers_list_cleanup(watchers, count);
  REQUIRE(rbd_close(rbd) == 0);
  return count;
}

static void
test_threads_share_one_handle_and_one_watch(void)
{
  const char *name = named("shared");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct opener openers[8];
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 8; i++)
      openers[i] = (struct opener){.id = id, .location = place.pool};
    threads_run(open_it, openers, sizeof(openers[0]), 8);
    for (int i = 0; i < 8; i++)
      CU_ASSERT(openers[i].image && openers[i].image == openers[0].image);
    CHECK_NUMBER(count_watches(id), 1);
    threads_run(close_it, openers, sizeof(openers[0]), 8);
    CHECK_NUMBER(count_watches(id), 0);
  }
  drop_image(place.pool, name);
}

static void
open_and_close(void *context)
{
  struct opener *opener = context;
  for (int i = 0; i < 10; i++) {
    struct image *image;
    if (image_open(opener->location, opener->id, &image, NULL) < 0)
      continue;
    if (strcmp(image_id(image), opener->id) == 0)
      opener->image = image; /* only to say that it was open */
    image_close(image);
  }
}

/* The same id in two places, and one that is not there, all at once. */
static void
test_opening_and_closing_may_meet(void)
{
  CLEANUP(freep) char *id = make_image(place.pool, named("meet"), MIB);
  CLEANUP(freep) char *tenant_id = make_image(place.tenant, named("meet"), MIB);
  struct opener openers[8];
  for (int i = 0; i < 8; i++)
    openers[i] = (struct opener){.id = i < 4   ? id
                                       : i < 6 ? tenant_id
                                               : "feedbeef0002",
                                 .location = i >= 4 && i < 6 ? place.tenant : place.pool};
  threads_run(open_and_close, openers, sizeof(openers[0]), 8);
  for (int i = 0; i < 8; i++)
    CU_ASSERT_EQUAL(openers[i].image != NULL, i < 6);
  drop_image(place.pool, named("meet"));
  drop_image(place.tenant, named("meet"));
}

static void
test_an_open_image_outlives_the_location_it_was_opened_by(void)
{
  const char *name = named("outlives");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct cluster *cluster = place_connect();
  struct location *location = place_open(cluster, place.pool);
  struct image *image = open_image(location, id);
  location_close(location);
  cluster_unref(cluster);
  CHECK_NUMBER(image_grow(image, 2 * MIB, NULL), 0);
  CHECK_STRING(image_location(image)->label, place.pool->label);
  image_close(image); /* and with it the connection */
  image_close(NULL);
  drop_image(place.pool, name);
}

static void
test_an_image_that_is_not_there_cannot_be_opened(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image *image = NULL;
  CHECK_NUMBER(image_open(place.pool, "feedbeef0002", &image, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "feedbeef0002");
  CU_ASSERT_PTR_NULL(image);
}

static uint64_t
size_of(struct image *image)
{
  uint64_t size = 0;
  REQUIRE(rbd_get_size(image_rbd(image), &size) == 0);
  return size;
}

static void
test_growing_never_shrinks_and_cutting_does(void)
{
  const char *name = named("size");
  CLEANUP(freep) char *id = make_image(place.pool, name, 8 * MIB);
  write_image(place.pool, id, 5 * MIB, 10, 'x');
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_grow(image, 16 * MIB, NULL), 0);
  CHECK_NUMBER(size_of(image), 16 * MIB);
  CHECK_NUMBER(image_grow(image, 16 * MIB, NULL), 0);
  CHECK_NUMBER(image_grow(image, 8 * MIB, NULL), 0);
  CHECK_NUMBER(image_grow(image, 0, NULL), 0);
  CHECK_NUMBER(size_of(image), 16 * MIB);
  CHECK_NUMBER(image_cut(image, 4 * MIB, NULL), 0);
  CHECK_NUMBER(size_of(image), 4 * MIB);
  CHECK_NUMBER(image_grow(image, 8 * MIB, NULL), 0);
  image_close(image);
  check_byte(place.pool, id, 5 * MIB, 0); /* what was cut off does not come back */
  drop_image(place.pool, name);
}

static void
test_an_emptied_image_reads_as_zeros_and_takes_no_space(void)
{
  const char *name = named("empty");
  CLEANUP(freep) char *id = make_image(place.pool, name, (2ULL << 30) + 8 * MIB);
  write_image(place.pool, id, 0, 10, 'x');
  write_image(place.pool, id, 1ULL << 30, 10, 'x');
  write_image(place.pool, id, (2ULL << 30) + 8 * MIB - 10, 10, 'x');
  CLEANUP(freep) char *data = xasprintf("rbd_data.%s.", id);
  CHECK_NUMBER(count_objects(place.pool, data), 3);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_empty(image, NULL), 0);
  CHECK_NUMBER(image_empty(image, NULL), 0);
  image_close(image);
  CHECK_NUMBER(count_objects(place.pool, data), 0);
  check_byte(place.pool, id, 1ULL << 30, 0);
  drop_image(place.pool, name);
}

/* Neither a multiple of an object nor of what librbd discards. */
static void
test_an_image_of_an_odd_size_is_emptied_to_its_last_byte(void)
{
  const char *name = named("odd");
  const uint64_t size = 5 * MIB + 1000;
  CLEANUP(freep) char *id = make_image(place.pool, name, size);
  write_image(place.pool, id, 0, 6, 'x');
  write_image(place.pool, id, size - 2000, 2000, 'x');
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_empty(image, NULL), 0);
  image_close(image);
  check_byte(place.pool, id, 0, 0);
  check_byte(place.pool, id, size - 2000, 0);
  check_byte(place.pool, id, size - 1, 0);
  CHECK_NUMBER(has_object(place.pool, "rbd_data.%s.0000000000000000", id), 0);
  drop_image(place.pool, name);
}

static void
test_a_snapshot_is_made_once_and_removed_once(void)
{
  const char *name = named("snaps");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct image *image = open_image(place.pool, id);
  uint64_t a = 0, again = 0, b = 0;
  CHECK_NUMBER(image_snap_create(image, "a", &a, NULL), 0);
  CHECK_NUMBER(image_snap_create(image, "a", &again, NULL), 0);
  CHECK_NUMBER(again, a);
  CHECK_NUMBER(image_snap_create(image, "b", &b, NULL), 0);
  CU_ASSERT_NOT_EQUAL(a, b);
  CHECK_NUMBER(image_snap_remove(image, a, NULL), 0);
  CHECK_NUMBER(image_snap_remove(image, a, NULL), 0);
  CHECK_NUMBER(image_snap_remove(image, 999999, NULL), 0);
  CHECK_NUMBER(image_snap_create(image, "a", &again, NULL), 0);
  CU_ASSERT_NOT_EQUAL(again, a); /* an id is never given twice */
  image_close(image);
  drop_image(place.pool, name);
}

static void
test_a_snapshot_with_a_clone_vanishes_with_the_clone(void)
{
  const char *name = named("parent"), *child = named("child");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  uint64_t snap_id = snapshot_image(place.pool, id, "s");
  clone_image(place.pool, name, "s", place.pool, child);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_snap_remove(image, snap_id, NULL), 0);
  struct snaps snaps;
  REQUIRE(header_read_snaps(place.pool, id, &snap_id, 1, &snaps, NULL) == 0);
  REQUIRE(snaps.count == 1);
  CHECK_NUMBER(snaps.items[0].kind, SNAP_KIND_TRASH);
  CHECK_NUMBER(snaps.items[0].children, 1);
  snaps_clear(&snaps);
  uint64_t next = 0;
  CHECK_NUMBER(image_snap_create(image, "s", &next, NULL), 0); /* its name is free */
  CU_ASSERT_NOT_EQUAL(next, snap_id);
  CHECK_NUMBER(image_snap_remove(image, next, NULL), 0);
  image_close(image);
  drop_image(place.pool, child);
  REQUIRE(header_read_snaps(place.pool, id, &snap_id, 1, &snaps, NULL) == 0);
  CHECK_NUMBER(snaps.count, 0);
  snaps_clear(&snaps);
  drop_image(place.pool, name);
}

static void
test_metadata_is_set_and_removed(void)
{
  const char *name = named("metadata");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct image *image = open_image(place.pool, id);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(image_set_metadata(image, "k", "v", &err), 0);
  CHECK_NUMBER(image_set_metadata(image, "k", "w", &err), 0);
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_STRING(string_map_get(&header.metadata, "k"), "w");
  header_clear(&header);
  CHECK_NUMBER(image_set_metadata(image, "k", NULL, &err), 0);
  CHECK_NUMBER(image_set_metadata(image, "k", NULL, &err), 0); /* gone is gone */
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CU_ASSERT_PTR_NULL(string_map_get(&header.metadata, "k"));
  header_clear(&header);
  image_close(image);
  drop_image(place.pool, name);
}

/* A limit set here is in force at another client that has the image open. */
static void
test_another_client_learns_of_metadata(void)
{
  const char *name = named("limit");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image *watching = open_image(theirs, id);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_set_metadata(image, "conf_rbd_qos_iops_limit", "77", NULL), 0);
  image_close(image);
  char value[16] = "";
  size_t len = sizeof(value);
  CHECK_NUMBER(rbd_metadata_get(image_rbd(watching), "conf_rbd_qos_iops_limit", value, &len), 0);
  CHECK_STRING(value, "77");
  image_close(watching);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name);
}

CEPH_MAIN("ceph/image", UNIT_TEST(test_an_image_has_the_layout_that_was_asked_for),
          UNIT_TEST(test_features_that_are_not_asked_for_are_not_set),
          UNIT_TEST(test_a_layout_that_cannot_be_is_an_invalid_argument),
          UNIT_TEST(test_a_name_that_is_taken_already_exists),
          UNIT_TEST(test_a_clone_reads_its_parent_from_another_place),
          UNIT_TEST(test_a_clone_of_what_is_not_there_is_not_found),
          UNIT_TEST(test_flattening_cuts_the_tie_and_may_be_stopped),
          UNIT_TEST(test_flattening_copies_what_only_the_object_map_has),
          UNIT_TEST(test_threads_share_one_handle_and_one_watch),
          UNIT_TEST(test_opening_and_closing_may_meet),
          UNIT_TEST(test_an_open_image_outlives_the_location_it_was_opened_by),
          UNIT_TEST(test_an_image_that_is_not_there_cannot_be_opened),
          UNIT_TEST(test_growing_never_shrinks_and_cutting_does),
          UNIT_TEST(test_an_emptied_image_reads_as_zeros_and_takes_no_space),
          UNIT_TEST(test_an_image_of_an_odd_size_is_emptied_to_its_last_byte),
          UNIT_TEST(test_a_snapshot_is_made_once_and_removed_once),
          UNIT_TEST(test_a_snapshot_with_a_clone_vanishes_with_the_clone),
          UNIT_TEST(test_metadata_is_set_and_removed),
          UNIT_TEST(test_another_client_learns_of_metadata))
