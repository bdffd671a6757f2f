/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_make.h"

#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

static char me[] = "me";

static void
describe(void *context, const char *image_id, struct string_map *metadata)
{
  string_map_set(metadata, "who", context);
  string_map_set(metadata, "id", image_id);
}

static int
make(struct location *location, const char *name, uint64_t size_bytes,
     const struct image_layout *layout, char **ret_id, struct error **err)
{
  const struct image_request request = {.name = name,
                                        .size_bytes = size_bytes,
                                        .layout = layout,
                                        .describe = describe,
                                        .context = me};
  return image_make(location, &request, ret_id, err);
}

/* librbd finds nothing amiss, and the record is there. */
static void
check_made(struct location *location, const char *name, const char *id, uint64_t size_bytes)
{
  CLEANUP(freep) char *found = NULL, *back = NULL;
  CHECK_NUMBER(directory_id_of(location, name, &found, NULL), 0);
  CHECK_STRING(found, id);
  CHECK_NUMBER(directory_name_of(location, id, &back, NULL), 0);
  CHECK_STRING(back, name);
  struct header header;
  REQUIRE(header_read(location, id, &header, NULL) == 0);
  CHECK_NUMBER(header.size_bytes, size_bytes);
  CHECK_STRING(string_map_get(&header.metadata, "who"), "me");
  CHECK_STRING(string_map_get(&header.metadata, "id"), id);
  header_clear(&header);
  write_image(location, id, size_bytes - 10, 10, 'x');
  (void)snapshot_image(location, id, "s");
  struct image *image = open_image(location, id);
  uint64_t flags = 99;
  CHECK_NUMBER(rbd_get_flags(image_rbd(image), &flags), 0);
  CHECK_NUMBER(flags, 0); /* the object map is in order */
  CHECK_NUMBER(image_grow(image, 2 * size_bytes, NULL), 0);
  image_close(image);
  clone_image(location, name, "s", location, named("clone"));
  drop_image(location, named("clone"));
}

static void
test_an_image_comes_with_its_record(void)
{
  const uint64_t usual = RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK |
                         RBD_FEATURE_OBJECT_MAP | RBD_FEATURE_FAST_DIFF;
  const struct image_layout rows[] = {{0},
                                      {.features = usual},
                                      {.features = usual | RBD_FEATURE_DEEP_FLATTEN, .order = 23},
                                      {.features = RBD_FEATURE_LAYERING},
                                      {.features = usual, .data_pool = place.other->pool},
                                      {.features = usual, .stripe_unit = MIB, .stripe_count = 2}};
  const char *name = named("image");
  struct location *places[] = {place.pool, place.tenant};
  for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
    struct location *location = places[i % 2];
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *id = NULL;
    REQUIRE(make(location, name, 40 * MIB, &rows[i / 2], &id, &err) == 0);
    check_made(location, name, id, 40 * MIB);
    drop_image(location, name);
  }
}

static void
test_a_name_that_is_taken_already_exists(void)
{
  const char *name = named("taken");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  char *other = NULL;
  struct image_layout layout = {0};
  CHECK_NUMBER(make(place.pool, name, MIB, &layout, &other, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, name);
  CU_ASSERT_PTR_NULL(other);
  CLEANUP(freep) char *same = NULL;
  REQUIRE(directory_id_of(place.pool, name, &same, NULL) == 0);
  CHECK_STRING(same, id);
  struct image *image = open_image(place.pool, id);
  image_close(image);
  drop_image(place.pool, name);
}

struct maker {
  const char *name;
  char *id;
  bool failed_otherwise;
};

static void
make_it(void *context)
{
  struct maker *maker = context;
  CLEANUP(error_freep) struct error *err = NULL;
  if (make(place.pool, maker->name, MIB, &(struct image_layout){0}, &maker->id, &err) < 0)
    maker->failed_otherwise = err->code != ERROR_ALREADY_EXISTS;
}

static void
test_one_of_many_makes_it(void)
{
  const char *name = named("race");
  for (int round = 0; round < 10; round++) {
    struct maker makers[4];
    for (int i = 0; i < 4; i++)
      makers[i] = (struct maker){.name = name};
    threads_run(make_it, makers, sizeof(makers[0]), 4);
    int made = 0;
    CLEANUP(freep) char *id = NULL;
    REQUIRE(directory_id_of(place.pool, name, &id, NULL) == 0);
    for (int i = 0; i < 4; i++) {
      CU_ASSERT_FALSE(makers[i].failed_otherwise);
      made += makers[i].id != NULL;
      if (makers[i].id)
        CHECK_STRING(makers[i].id, id);
      free(makers[i].id);
    }
    CHECK_NUMBER(made, 1);
    struct image *image = open_image(place.pool, id);
    image_close(image);
    drop_image(place.pool, name);
  }
}

CEPH_MAIN("ceph/image_make", UNIT_TEST(test_an_image_comes_with_its_record),
          UNIT_TEST(test_a_name_that_is_taken_already_exists), UNIT_TEST(test_one_of_many_makes_it))
