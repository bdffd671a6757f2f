/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_create.h"
#include "lib/ceph/unfinished.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_make.h"
#include "lib/ceph/wire.h"
#include "tests/ceph/place.h"

#define MARK "test.ready"

static const struct image_layout usual = {.features = 61};

static void
describe_nothing(void *context, const char *image_id, struct string_map *metadata)
{
  (void)context, (void)image_id;
  string_map_set(metadata, "test.inherited", "x");
}

/* A whole image, but for the mark. */
static char *
make(const char *name)
{
  char *id = NULL;
  const struct image_request request = {
      .name = name, .size_bytes = MIB, .layout = &usual, .describe = describe_nothing};
  REQUIRE(image_make(place.pool, &request, &id, NULL) == 0);
  return id;
}

static bool
is_gone(const char *name, const char *id)
{
  CLEANUP(freep) char *found = NULL;
  return directory_id_of(place.pool, name, &found, NULL) < 0 &&
         !has_object(place.pool, "rbd_id.%s", name) &&
         !has_object(place.pool, "rbd_header.%s", id) &&
         !has_object(place.pool, "rbd_object_map.%s", id);
}

static int
finish(const char *id, struct error **err)
{
  struct string_map set = {0};
  string_map_set(&set, MARK, id);
  int r = header_update_metadata_if(place.pool, id, UNFINISHED_DOOMED, NULL, &set, NULL, err);
  string_map_clear(&set);
  return r;
}

static void
test_an_unfinished_image_is_taken_away(void)
{
  const char *name = named("taken");
  CLEANUP(freep) char *id = make(name);
  struct header header;
  struct error *err = NULL;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, id, &header, MARK, NULL), 0);
  header_clear(&header);
  CU_ASSERT(is_gone(name, id));
  CHECK_NUMBER(finish(id, &err), -1); /* its maker, late */
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "image id");
}

static void
test_one_that_was_finished_meanwhile_is_not(void)
{
  const char *name = named("finished");
  CLEANUP(freep) char *id = make(name);
  struct header header;
  struct error *err = NULL;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  CHECK_NUMBER(finish(id, NULL), 0);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, id, &header, MARK, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, MARK);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, id, NULL, MARK, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, "meanwhile");
  header_clear(&header);
  CU_ASSERT(has_object(place.pool, "rbd_header.%s", id) &&
            has_object(place.pool, "rbd_id.%s", name));
  drop_image(place.pool, name);
}

static void
test_a_doomed_one_is_not_finished(void)
{
  const char *name = named("doomed");
  CLEANUP(freep) char *id = make(name);
  struct string_map set = {0};
  struct error *err = NULL;
  string_map_set(&set, UNFINISHED_DOOMED, id);
  CHECK_NUMBER(header_update_metadata(place.pool, id, &set, NULL, NULL), 0);
  string_map_clear(&set);
  CHECK_NUMBER(finish(id, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, UNFINISHED_DOOMED);
  drop_image(place.pool, name);
}

/* The first two of the steps that make an image. */
static void
begin(const char *name, const char *id)
{
  struct wire_writer w = {0};
  char answer[1];
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  wire_put_string(&w, name);
  wire_put_string(&w, id);
  REQUIRE(rados_exec(place.pool->ioctx, "rbd_directory", "rbd", "dir_add_image", w.data, w.len,
                     answer, sizeof(answer)) >= 0);
  wire_writer_clear(&w);
  wire_put_string(&w, id);
  REQUIRE(rados_write_full(place.pool->ioctx, object, w.data, w.len) == 0);
  wire_writer_clear(&w);
}

static void
test_one_without_a_header_is_taken_away(void)
{
  const char *name = named("begun");
  const char *id = "abc123";
  bool is_ours = false;
  begin(name, id);
  CHECK_NUMBER(unfinished_is_ours(place.pool, name, id, &is_ours, NULL), 0);
  CU_ASSERT(is_ours);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, id, NULL, MARK, NULL), 0);
  CU_ASSERT(is_gone(name, id));
  CHECK_NUMBER(unfinished_is_ours(place.pool, name, id, &is_ours, NULL), 0);
  CU_ASSERT(!is_ours);
}

/* Killed in the middle of it. */
static void
test_an_empty_header_is_cleared_away(void)
{
  const char *name = named("tomb");
  const char *id = "abc124";
  begin(name, id);
  REQUIRE(rados_write_full(place.pool->ioctx, "rbd_header.abc124", "", 0) == 0);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, id, NULL, MARK, NULL), 0);
  CU_ASSERT(is_gone(name, id));
}

/* What a killed librbd leaves: in the way of every other image of the name until it is taken away.
 */
static void
test_half_made_remains_are_in_the_way_until_taken_away(void)
{
  const char *name = named("half");
  const char *id = "feedbeef0001";
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  for (int has_object = 0; has_object < 2; has_object++) {
    struct error *err = NULL;
    begin(name, id);
    if (!has_object)
      REQUIRE(rados_remove(place.pool->ioctx, object) == 0);
    CHECK_NUMBER(image_create(place.pool, name, MIB, &usual, &err), -1);
    CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, name);
    CHECK_NUMBER(unfinished_take_away(place.pool, name, id, NULL, MARK, NULL), 0);
    CU_ASSERT(is_gone(name, id));
    CHECK_NUMBER(image_create(place.pool, name, MIB, &usual, NULL), 0);
    drop_image(place.pool, name);
  }
}

static int
take_away(const char *name, const char *id)
{
  struct header header;
  REQUIRE(header_read(place.pool, id, &header, NULL) == 0);
  int r = unfinished_take_away(place.pool, name, id, &header, MARK, NULL);
  header_clear(&header);
  return r;
}

static void
test_its_data_goes_along(void)
{
  const char *name = named("data");
  CLEANUP(freep) char *id = make_image(place.pool, name, 16 * MIB);
  write_image(place.pool, id, 0, MIB, 'x');
  CLEANUP(freep) char *data = xasprintf("rbd_data.%s.", id);
  CHECK_NUMBER(count_objects(place.pool, data), 1);
  CHECK_NUMBER(take_away(name, id), 0);
  CHECK_NUMBER(count_objects(place.pool, data), 0);
}

static size_t
count_buried(const char *name)
{
  struct trash trash;
  REQUIRE(unfinished_list_buried(place.pool, name, &trash, NULL) == 0);
  for (size_t i = 0; i < trash.count; i++)
    CHECK_STRING(trash.entries[i].name, name);
  size_t count = trash.count;
  trash_clear(&trash);
  return count;
}

/* Its maker has it open: it loses its name, and stays in the trash until he lets go. */
static void
test_one_in_use_is_buried_and_found_again(void)
{
  const char *name = named("used");
  CLEANUP(freep) char *id = make(name);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(take_away(name, id), 0);
  CHECK_NUMBER(count_buried(name), 1);
  CHECK_NUMBER(count_buried(named("use")), 0);
  image_close(image);
  const struct trash_entry entry = {.id = id, .name = (char *)name};
  CHECK_NUMBER(trash_remove(place.pool, &entry, NULL), 0);
  CHECK_NUMBER(count_buried(name), 0);
  CU_ASSERT(is_gone(name, id));
}

/* Nobody removes those but who put them there. */
static void
test_what_people_put_into_the_trash_is_not_buried(void)
{
  const char *name = named("people");
  CLEANUP(freep) char *id = make(name);
  REQUIRE(trash_move(place.pool, name, id, NULL) == 0);
  CHECK_NUMBER(count_buried(name), 0);
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", id);
  REQUIRE(rados_remove(place.pool->ioctx, header) == 0);
  CHECK_NUMBER(count_buried(name), 1); /* of no use to anybody */
  const struct trash_entry entry = {.id = id, .name = (char *)name};
  CHECK_NUMBER(trash_remove(place.pool, &entry, NULL), 0);
  CU_ASSERT(is_gone(name, id));
}

/* The name leads to another image by now: that one is left alone. */
static void
test_a_younger_image_of_the_name_is_left_alone(void)
{
  const char *name = named("younger");
  CLEANUP(freep) char *id = make(name);
  CHECK_NUMBER(unfinished_take_away(place.pool, name, "abc125", NULL, MARK, NULL), 0);
  bool is_ours = false;
  CHECK_NUMBER(unfinished_is_ours(place.pool, name, id, &is_ours, NULL), 0);
  CU_ASSERT(is_ours);
  CU_ASSERT(has_object(place.pool, "rbd_header.%s", id));
  drop_image(place.pool, name);
}

CEPH_MAIN("ceph/unfinished", UNIT_TEST(test_an_unfinished_image_is_taken_away),
          UNIT_TEST(test_one_that_was_finished_meanwhile_is_not),
          UNIT_TEST(test_a_doomed_one_is_not_finished),
          UNIT_TEST(test_one_without_a_header_is_taken_away),
          UNIT_TEST(test_an_empty_header_is_cleared_away),
          UNIT_TEST(test_half_made_remains_are_in_the_way_until_taken_away),
          UNIT_TEST(test_its_data_goes_along), UNIT_TEST(test_one_in_use_is_buried_and_found_again),
          UNIT_TEST(test_what_people_put_into_the_trash_is_not_buried),
          UNIT_TEST(test_a_younger_image_of_the_name_is_left_alone))
