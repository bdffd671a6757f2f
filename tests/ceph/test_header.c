/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/header.h"

#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_change.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

#define NO_IMAGE "feedbeef0003"

static void
test_a_header_tells_what_librbd_tells(void)
{
  const char *name = named("header");
  CLEANUP(freep) char *id = make_image(place.pool, name, 12345678);
  uint64_t first = snapshot_image(place.pool, id, "first");
  uint64_t second = snapshot_image(place.pool, id, "second");
  struct image *image = open_image(place.pool, id);
  REQUIRE(image_set_metadata(image, "k", "v", NULL) == 0);
  uint64_t features = 0;
  REQUIRE(rbd_get_features(image_rbd(image), &features) == 0);
  image_close(image);
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(header.size_bytes, 12345678);
  CHECK_NUMBER(header.order, 22);
  CHECK_NUMBER(header.features, features);
  REQUIRE(header.snap_count == 2);
  CHECK_NUMBER(header.snap_ids[0], second);
  CHECK_NUMBER(header.snap_ids[1], first);
  CHECK_NUMBER(header.parent.pool_id, -1);
  CHECK_STRING(string_map_get(&header.metadata, "k"), "v");
  header_clear(&header);
  drop_image(place.pool, name);
}

static void
test_a_clones_header_names_the_parent(void)
{
  const char *parent = named("parent"), *child = named("child");
  CLEANUP(freep) char *parent_id = make_image(place.tenant, parent, MIB);
  uint64_t snap_id = snapshot_image(place.tenant, parent_id, "s");
  clone_image(place.tenant, parent, "s", place.other, child);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.other, child, &id, NULL) == 0);
  struct header header;
  REQUIRE(header_read(place.other, id, &header, NULL) == 0);
  CHECK_NUMBER(header.parent.pool_id, place.tenant->pool_id);
  CHECK_STRING(header.parent.name_space, place.tenant->name_space);
  CHECK_STRING(header.parent.image_id, parent_id);
  CHECK_NUMBER(header.parent.snap_id, snap_id);
  header_clear(&header);
  drop_image(place.other, child);
  drop_image(place.tenant, parent);
}

static void
test_a_header_that_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct header header;
  CHECK_NUMBER(header_read(place.pool, NO_IMAGE, &header, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, NO_IMAGE);
  struct snaps snaps = {0};
  CHECK_NUMBER(header_read_snaps(place.pool, NO_IMAGE, (uint64_t[]){4}, 1, &snaps, &err), 0);
  CHECK_NUMBER(snaps.count, 0);
  snaps_clear(&snaps);
  CU_ASSERT_FALSE(has_object(place.pool, "rbd_header.%s", NO_IMAGE));
}

/* More than are asked for at once, with gaps. */
#define MANY 150

static void
test_many_are_read_at_once_and_gaps_are_told(void)
{
  CLEANUP(freep) char *id = make_image(place.pool, named("a"), 3 * MIB);
  CLEANUP(freep) char *other = make_image(place.pool, named("b"), 5 * MIB);
  char *ids[MANY];
  for (size_t i = 0; i < MANY; i++)
    ids[i] = i % 3 == 0 ? id : i % 3 == 1 ? other : (char *)NO_IMAGE;
  struct header headers[MANY];
  bool found[MANY];
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(header_read_many(place.pool, ids, MANY, headers, found, &err) == 0);
  size_t wrong = 0;
  for (size_t i = 0; i < MANY; i++) {
    uint64_t expected = i % 3 == 0 ? 3 * MIB : i % 3 == 1 ? 5 * MIB : 0;
    wrong += found[i] != (expected > 0) || headers[i].size_bytes != expected;
    header_clear(&headers[i]);
  }
  CHECK_NUMBER(wrong, 0);
  CHECK_NUMBER(header_read_many(place.pool, ids, 0, headers, found, &err), 0);
  drop_image(place.pool, named("a"));
  drop_image(place.pool, named("b"));
}

static void
check_metadata(const char *id, const char *key, const char *expected)
{
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_STRING(string_map_get(&header.metadata, key), expected);
  header_clear(&header);
}

static void
test_metadata_is_set_and_removed_together(void)
{
  const char *name = named("metadata");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map set = {0}, remove = {0};
  string_map_set(&set, "a", "1");
  string_map_set(&set, "b", "");
  CHECK_NUMBER(header_update_metadata(place.pool, id, &set, NULL, &err), 0);
  check_metadata(id, "a", "1");
  check_metadata(id, "b", "");
  string_map_set(&set, "a", "2");
  string_map_set(&set, "c", "3");
  string_map_set(&remove, "b", "");
  string_map_remove(&set, "b");
  CHECK_NUMBER(header_update_metadata(place.pool, id, &set, &remove, &err), 0);
  check_metadata(id, "a", "2");
  check_metadata(id, "b", NULL);
  check_metadata(id, "c", "3");
  CHECK_NUMBER(header_update_metadata(place.pool, id, NULL, NULL, &err), 0);
  string_map_clear(&set);
  string_map_clear(&remove);
  drop_image(place.pool, name);
}

static void
test_a_header_is_never_made_anew(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct string_map set = {0};
  string_map_set(&set, "a", "1");
  CHECK_NUMBER(header_update_metadata(place.pool, NO_IMAGE, &set, NULL, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, NO_IMAGE);
  CHECK_NUMBER(header_update_metadata(place.pool, NO_IMAGE, NULL, &set, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, NO_IMAGE);
  CHECK_NUMBER(header_update_metadata(place.pool, NO_IMAGE, NULL, NULL, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, NO_IMAGE);
  CU_ASSERT_FALSE(has_object(place.pool, "rbd_header.%s", NO_IMAGE));
  string_map_clear(&set);
}

/* Writers set two keys to the same value; a reader must never see them differ. */
struct racer {
  const char *id;
  const char *value; /* NULL reads */
  int failed;
};

static void
race(void *context)
{
  struct racer *racer = context;
  struct string_map set = {0};
  if (racer->value) {
    string_map_set(&set, "left", racer->value);
    string_map_set(&set, "right", racer->value);
  }
  for (int i = 0; i < 25; i++) {
    if (racer->value) {
      racer->failed += header_update_metadata(place.pool, racer->id, &set, NULL, NULL) < 0;
      continue;
    }
    struct header header;
    if (header_read(place.pool, racer->id, &header, NULL) < 0) {
      racer->failed++;
      continue;
    }
    const char *left = string_map_get(&header.metadata, "left");
    const char *right = string_map_get(&header.metadata, "right");
    racer->failed += !left || !right || strcmp(left, right) != 0;
    header_clear(&header);
  }
  string_map_clear(&set);
}

static void
test_readers_never_see_half_a_change(void)
{
  const char *name = named("race");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct string_map set = {0};
  string_map_set(&set, "left", "");
  string_map_set(&set, "right", "");
  REQUIRE(header_update_metadata(place.pool, id, &set, NULL, NULL) == 0);
  string_map_clear(&set);
  struct racer racers[] = {{id, "a", 0}, {id, "b", 0}, {id, NULL, 0}, {id, NULL, 0}};
  threads_run(race, racers, sizeof(racers[0]), 4);
  for (int i = 0; i < 4; i++)
    CHECK_NUMBER(racers[i].failed, 0);
  drop_image(place.pool, name);
}

static void
test_much_metadata_is_read_whole(void)
{
  const char *name = named("much");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(freep) char *long_value = xcalloc(64 * KIB, 1);
  memset(long_value, 'v', 64 * KIB - 1);
  struct string_map set = {0};
  for (int i = 0; i < 100; i++) {
    char key[16];
    (void)snprintf(key, sizeof(key), "key%03d", i);
    string_map_set(&set, key, i == 50 ? long_value : "v");
  }
  REQUIRE(header_update_metadata(place.pool, id, &set, NULL, NULL) == 0);
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(header.metadata.count, 100);
  CHECK_STRING(string_map_get(&header.metadata, "key050"), long_value);
  CHECK_STRING(string_map_get(&header.metadata, "key099"), "v");
  header_clear(&header);
  string_map_clear(&set);
  drop_image(place.pool, name);
}

static void
test_snapshots_are_read_in_the_order_asked_for(void)
{
  const char *name = named("snaps");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  int64_t begin_s = time(NULL);
  uint64_t first = snapshot_image(place.pool, id, "first");
  struct image *image = open_image(place.pool, id);
  REQUIRE(image_grow(image, 2 * MIB, NULL) == 0);
  image_close(image);
  uint64_t second = snapshot_image(place.pool, id, "second");
  clone_image(place.pool, name, "second", place.pool, named("child"));
  struct snaps snaps;
  uint64_t ids[] = {first, 999999, second};
  REQUIRE(header_read_snaps(place.pool, id, ids, 3, &snaps, NULL) == 0);
  REQUIRE(snaps.count == 2);
  CHECK_NUMBER(snaps.items[0].id, first);
  CHECK_STRING(snaps.items[0].name, "first");
  CHECK_NUMBER(snaps.items[0].kind, SNAP_KIND_USER);
  CHECK_NUMBER(snaps.items[0].size_bytes, MIB);
  CHECK_NUMBER(snaps.items[0].children, 0);
  CU_ASSERT(snaps.items[0].created_s >= begin_s - 1 && snaps.items[0].created_s <= time(NULL) + 1);
  CHECK_NUMBER(snaps.items[1].size_bytes, 2 * MIB);
  CHECK_NUMBER(snaps.items[1].children, 1);
  CU_ASSERT_PTR_EQUAL(snaps_find(&snaps, second), &snaps.items[1]);
  CU_ASSERT_PTR_EQUAL(snaps_find_name(&snaps, "first"), &snaps.items[0]);
  snaps_clear(&snaps);
  drop_image(place.pool, named("child"));
  drop_image(place.pool, name);
}

CEPH_MAIN("ceph/header", UNIT_TEST(test_a_header_tells_what_librbd_tells),
          UNIT_TEST(test_a_clones_header_names_the_parent),
          UNIT_TEST(test_a_header_that_is_not_there_is_not_found),
          UNIT_TEST(test_many_are_read_at_once_and_gaps_are_told),
          UNIT_TEST(test_metadata_is_set_and_removed_together),
          UNIT_TEST(test_a_header_is_never_made_anew),
          UNIT_TEST(test_readers_never_see_half_a_change),
          UNIT_TEST(test_much_metadata_is_read_whole),
          UNIT_TEST(test_snapshots_are_read_in_the_order_asked_for))
