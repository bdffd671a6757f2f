/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/clone_make.h"

#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_snap.h"
#include "tests/ceph/place.h"

#define USUAL                                                                                      \
  (RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK | RBD_FEATURE_OBJECT_MAP |                    \
   RBD_FEATURE_FAST_DIFF | RBD_FEATURE_DEEP_FLATTEN)

/* A parent with a snapshot "s". */
struct parent {
  const char *name;
  char *id;
  uint64_t snap_id;
  struct header header;
};

static void
parent_make(struct parent *parent, uint64_t size_bytes)
{
  *parent = (struct parent){.name = named("parent")};
  parent->id = make_image(place.pool, parent->name, size_bytes);
  write_image(place.pool, parent->id, size_bytes - 10, 10, 'p');
  struct image *image = open_image(place.pool, parent->id);
  REQUIRE(image_set_metadata(image, "whose", "the parent's", NULL) == 0);
  image_close(image);
  parent->snap_id = snapshot_image(place.pool, parent->id, "s");
  write_image(place.pool, parent->id, size_bytes - 10, 10, 'q'); /* after the snapshot */
  REQUIRE(header_read(place.pool, parent->id, &parent->header, NULL) == 0);
}

static struct image_snap
parent_snap(const struct parent *parent)
{
  return (struct image_snap){
      .location = place.pool, .image_id = parent->id, .snap_id = parent->snap_id};
}

static void
parent_drop(struct parent *parent)
{
  drop_image(place.pool, parent->name);
  free(parent->id);
  header_clear(&parent->header);
}

static int
clone_it(const struct parent *parent, struct location *location, const char *name,
         uint64_t size_bytes, const struct image_layout *layout, char **ret_id, struct error **err)
{
  const struct clone_request request = {.parent = parent_snap(parent),
                                        .parent_name = parent->name,
                                        .parent_snap_name = "s",
                                        .parent_bytes = parent->header.size_bytes,
                                        .parent_header = &parent->header,
                                        .name = name,
                                        .size_bytes = size_bytes,
                                        .layout = layout};
  return clone_make(&request, location, ret_id, err);
}

static uint32_t
count_children(const struct parent *parent)
{
  struct snaps snaps;
  REQUIRE(header_read_snaps(place.pool, parent->id, &parent->snap_id, 1, &snaps, NULL) == 0);
  uint32_t count = snaps.count == 1 ? snaps.items[0].children : 0;
  snaps_clear(&snaps);
  return count;
}

/* ---- as librbd makes it ---------------------------------------------------------------------- */

/* All that stands in a header, but what is of one image alone. */
static void
read_raw_header(struct location *location, const char *id, struct string_map *ret_raw)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", id);
  rados_omap_iter_t at;
  unsigned char has_more = 0;
  int result = 0;
  rados_read_op_t op = rados_create_read_op();
  rados_read_op_omap_get_vals2(op, "", "", 1024, &at, &has_more, &result);
  REQUIRE(rados_read_op_operate(op, location->ioctx, object, 0) == 0);
  char *key = NULL, *value = NULL;
  size_t key_len, value_len;
  while (rados_omap_get_next2(at, &key, &value, &key_len, &value_len) == 0 && key) {
    bool is_its_own = strcmp(key, "object_prefix") == 0 || strstr(key, "_timestamp");
    CLEANUP(freep) char *hex = xcalloc(2 * value_len + 1, 1);
    for (size_t i = 0; i < value_len && !is_its_own; i++)
      (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)value[i]);
    string_map_set(ret_raw, key, hex);
  }
  rados_omap_get_end(at);
  rados_release_read_op(op);
}

static void
check_same_header(struct location *location, const char *id, const char *by_librbd)
{
  struct string_map ours = {0}, theirs = {0};
  read_raw_header(location, id, &ours);
  read_raw_header(location, by_librbd, &theirs);
  CHECK_NUMBER(ours.count, theirs.count);
  for (size_t i = 0; i < theirs.count; i++) {
    const char *value = string_map_get(&ours, theirs.entries[i].key);
    CHECK_ROW(value && strcmp(value, theirs.entries[i].value) == 0, theirs.entries[i].key);
  }
  string_map_clear(&ours);
  string_map_clear(&theirs);
}

static void
test_a_clone_is_as_librbd_makes_it(void)
{
  const struct image_layout rows[] = {{0},
                                      {.features = USUAL},
                                      {.features = USUAL, .order = 20},
                                      {.features = RBD_FEATURE_LAYERING}};
  struct location *places[] = {place.pool, place.tenant, place.other};
  const char *name = named("clone"), *other_name = named("by-librbd");
  struct parent parent;
  parent_make(&parent, 9 * MIB);
  for (size_t i = 0; i < 3 * sizeof(rows) / sizeof(rows[0]); i++) {
    struct location *location = places[i % 3];
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *id = NULL, *other = NULL;
    REQUIRE(clone_it(&parent, location, name, 9 * MIB, &rows[i / 3], &id, &err) == 0);
    REQUIRE(image_clone(place.pool, parent.name, "s", location, other_name, &rows[i / 3], &err) ==
            0);
    REQUIRE(directory_id_of(location, other_name, &other, NULL) == 0);
    check_same_header(location, id, other);
    CHECK_NUMBER(count_children(&parent), 2);
    drop_image(location, name);
    drop_image(location, other_name);
    CHECK_NUMBER(count_children(&parent), 0);
  }
  parent_drop(&parent);
}

/* ---- what it holds --------------------------------------------------------------------------- */

static void
check_bytes(struct image *image, uint64_t offset, const char *expected)
{
  char bytes[11] = "";
  CHECK_NUMBER(rbd_read(image_rbd(image), offset, 10, bytes), 10);
  CHECK_ROW(memcmp(bytes, expected, 10) == 0, expected);
}

static void
test_a_larger_clone_has_its_size_from_the_start(void)
{
  struct parent parent;
  const struct image_layout layout = {.features = USUAL};
  CLEANUP(freep) char *id = NULL;
  parent_make(&parent, 8 * MIB);
  REQUIRE(clone_it(&parent, place.pool, named("clone"), 40 * MIB, &layout, &id, NULL) == 0);
  struct image *image = open_image(place.pool, id);
  uint64_t overlap = 0, size = 0, flags = 99;
  CHECK_NUMBER(rbd_get_size(image_rbd(image), &size), 0);
  CHECK_NUMBER(size, 40 * MIB);
  CHECK_NUMBER(rbd_get_overlap(image_rbd(image), &overlap), 0);
  CHECK_NUMBER(overlap, 8 * MIB);
  check_bytes(image, 8 * MIB - 10, "pppppppppp");
  check_bytes(image, 8 * MIB, "\0\0\0\0\0\0\0\0\0");
  image_close(image);
  write_image(place.pool, id, 8 * MIB - 5, 10, 'c'); /* over the parent's end */
  write_image(place.pool, id, 39 * MIB, 10, 'd');
  image = open_image(place.pool, id);
  check_bytes(image, 8 * MIB - 10, "pppppccccc");
  check_bytes(image, 39 * MIB, "dddddddddd");
  CHECK_NUMBER(image_flatten(image, NULL, NULL, NULL), 0);
  check_bytes(image, 8 * MIB - 10, "pppppccccc");
  CHECK_NUMBER(rbd_get_flags(image_rbd(image), &flags), 0);
  CHECK_NUMBER(flags, 0); /* the object map is in order */
  image_close(image);
  CHECK_NUMBER(count_children(&parent), 0);
  drop_image(place.pool, named("clone"));
  parent_drop(&parent);
}

static void
test_a_deleted_snapshot_stays_until_its_last_clone_goes(void)
{
  struct parent parent;
  const struct image_layout layout = {.features = USUAL};
  CLEANUP(freep) char *id = NULL;
  parent_make(&parent, 8 * MIB);
  REQUIRE(clone_it(&parent, place.tenant, named("clone"), 8 * MIB, &layout, &id, NULL) == 0);
  struct image *image = open_image(place.pool, parent.id);
  CHECK_NUMBER(image_snap_remove(image, parent.snap_id, NULL), 0);
  image_close(image);
  CHECK_NUMBER(count_children(&parent), 1);

  char *late = NULL; /* nothing is cloned from what is deleted, and nothing is left of the try */
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(clone_it(&parent, place.pool, named("late"), 8 * MIB, &layout, &late, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "@s");

  drop_image(place.tenant, named("clone"));
  struct header header;
  REQUIRE(header_read(place.pool, parent.id, &header, NULL) == 0);
  CHECK_NUMBER(header.snap_count, 0);
  header_clear(&header);
  parent_drop(&parent);
}

/* ---- what is in the way ---------------------------------------------------------------------- */

static void
test_a_name_that_is_taken_already_exists(void)
{
  struct parent parent;
  const struct image_layout layout = {.features = USUAL};
  CLEANUP(error_freep) struct error *err = NULL;
  char *id = NULL;
  parent_make(&parent, 8 * MIB);
  CLEANUP(freep) char *there = make_image(place.pool, named("clone"), MIB);
  CHECK_NUMBER(clone_it(&parent, place.pool, named("clone"), 8 * MIB, &layout, &id, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, named("clone"));
  CU_ASSERT_PTR_NULL(id);
  CHECK_NUMBER(count_children(&parent), 0);
  image_close(open_image(place.pool, there));
  drop_image(place.pool, named("clone"));
  parent_drop(&parent);
}

static void
test_ghosts_are_dropped_and_clones_stay(void)
{
  struct parent parent;
  const struct image_layout layout = {.features = USUAL};
  CLEANUP(freep) char *id = NULL;
  parent_make(&parent, 8 * MIB);
  const struct image_snap snap = parent_snap(&parent);
  REQUIRE(clone_it(&parent, place.tenant, named("clone"), 8 * MIB, &layout, &id, NULL) == 0);
  CHECK_NUMBER(children_add(&snap, place.other, "beef01"), 0);
  CHECK_NUMBER(children_add(&snap, place.other, "beef01"), 0); /* may be repeated */
  CHECK_NUMBER(children_add(&snap, place.tenant, "beef02"), 0);
  CHECK_NUMBER(children_add(&snap, place.pool, "beef03"), 0);
  CHECK_NUMBER(count_children(&parent), 4);
  CHECK_NUMBER(children_remove(&snap, place.pool, "beef03"), 0);
  CHECK_NUMBER(children_remove(&snap, place.pool, "beef03"), 0);
  CHECK_NUMBER(children_drop_ghosts(&snap), 2);
  CHECK_NUMBER(count_children(&parent), 1);
  CHECK_NUMBER(children_drop_ghosts(&snap), 0);
  drop_image(place.tenant, named("clone"));
  parent_drop(&parent);
}

CEPH_MAIN("ceph/clone_make", UNIT_TEST(test_a_clone_is_as_librbd_makes_it),
          UNIT_TEST(test_a_larger_clone_has_its_size_from_the_start),
          UNIT_TEST(test_a_deleted_snapshot_stays_until_its_last_clone_goes),
          UNIT_TEST(test_a_name_that_is_taken_already_exists),
          UNIT_TEST(test_ghosts_are_dropped_and_clones_stay))
