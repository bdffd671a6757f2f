/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/directory.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/wire.h"
#include "tests/ceph/place.h"

static void
test_names_lead_to_ids_and_back(void)
{
  const char *name = named("image");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(freep) char *found = NULL;
  CHECK_NUMBER(directory_name_of(place.pool, id, &found, NULL), 0);
  CHECK_STRING(found, name);
  /* Through a rename the id stays. */
  CLEANUP(freep) char *same = NULL, *renamed = NULL;
  CHECK_NUMBER(directory_rename(place.pool, name, named("renamed"), id, NULL), 0);
  CHECK_NUMBER(directory_id_of(place.pool, named("renamed"), &same, NULL), 0);
  CHECK_STRING(same, id);
  CHECK_NUMBER(directory_name_of(place.pool, id, &renamed, NULL), 0);
  CHECK_STRING(renamed, named("renamed"));
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(directory_id_of(place.pool, name, &found, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, name);
  drop_image(place.pool, named("renamed"));
}

static void
test_what_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char *found = NULL;
  CHECK_NUMBER(directory_id_of(place.pool, named("none"), &found, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, named("none"));
  CHECK_NUMBER(directory_name_of(place.pool, "0123456789ab", &found, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "0123456789ab");
  /* A namespace that never had an image, or does not exist, has no directory object. */
  CLEANUP(location_closep) struct location *nowhere = NULL;
  REQUIRE(location_open(place.cluster, place.pool->pool, "nowhere", &nowhere, NULL) == 0);
  CHECK_NUMBER(directory_id_of(nowhere, "x", &found, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "nowhere/x");
  CU_ASSERT_FALSE(directory_may_have(nowhere, ""));
  CU_ASSERT_PTR_NULL(found);
}

static void
test_a_list_has_what_begins_so_in_order(void)
{
  static const char *const made[] = {"list-b", "list-a", "lisu", "lis", "list-"};
  for (size_t i = 0; i < 5; i++)
    free(make_image(place.pool, named(made[i]), MIB));
  free(make_image(place.tenant, named("list-t"), MIB));
  struct directory directory;
  REQUIRE(directory_list(place.pool, named("list-"), &directory, NULL) == 0);
  REQUIRE(directory.count == 3);
  CHECK_STRING(directory.entries[0].name, named("list-"));
  CHECK_STRING(directory.entries[1].name, named("list-a"));
  CHECK_STRING(directory.entries[2].name, named("list-b"));
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.pool, named("list-a"), &id, NULL) == 0);
  CHECK_STRING(directory.entries[1].id, id);
  directory_clear(&directory);
  REQUIRE(directory_list(place.pool, named("nothing"), &directory, NULL) == 0);
  CHECK_NUMBER(directory.count, 0);
  directory_clear(&directory);
  REQUIRE(directory_list(place.tenant, named(""), &directory, NULL) == 0);
  CHECK_NUMBER(directory.count, 1);
  directory_clear(&directory);
  for (size_t i = 0; i < 5; i++)
    drop_image(place.pool, named(made[i]));
  drop_image(place.tenant, named("list-t"));
}

static void
test_whether_any_begins_so(void)
{
  free(make_image(place.pool, named("m-1"), MIB));
  free(make_image(place.pool, named("o-1"), MIB));
  CU_ASSERT_TRUE(directory_may_have(place.pool, named("m-")));
  CU_ASSERT_TRUE(directory_may_have(place.pool, named("o")));
  CU_ASSERT_FALSE(directory_may_have(place.pool, named("n-"))); /* between the two */
  CU_ASSERT_FALSE(directory_may_have(place.pool, named("z-"))); /* behind all */
  CU_ASSERT_FALSE(directory_may_have(place.tenant, named("m-")));
  CU_ASSERT_TRUE(directory_may_have(place.pool, named("m-1"))); /* it and no more */
  CU_ASSERT_FALSE(directory_may_have(place.pool, named("m-10")));
  drop_image(place.pool, named("m-1"));
  drop_image(place.pool, named("o-1"));
  CU_ASSERT_FALSE(directory_may_have(place.pool, named("m-")));
}

/* The name's object, as librbd makes it. */
static void
make_name_object(const char *name, const char *id)
{
  struct wire_writer w = {0};
  wire_put_string(&w, id);
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  REQUIRE(rados_write_full(place.pool->ioctx, object, w.data, w.len) == 0);
  wire_writer_clear(&w);
}

static void
check_name_of(const char *id, const char *name)
{
  CLEANUP(freep) char *found = NULL;
  CHECK_NUMBER(directory_name_of(place.pool, id, &found, NULL), 0);
  CHECK_STRING(found, name);
}

static void
test_a_rename_is_gone_on_with_wherever_it_was_cut_off(void)
{
  const char *from = named("from"), *to = named("to");
  CLEANUP(freep) char *id = make_image(place.pool, from, MIB);
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", from);
  make_name_object(to, id); /* behind its first step … */
  CHECK_NUMBER(directory_rename(place.pool, from, to, id, NULL), 0);
  check_name_of(id, to);
  CU_ASSERT_FALSE(has_object(place.pool, "rbd_id.%s", from));
  CHECK_NUMBER(directory_rename(place.pool, to, from, id, NULL), 0);
  make_name_object(to, id);
  REQUIRE(rados_remove(place.pool->ioctx, object) == 0); /* … and behind its second */
  CHECK_NUMBER(directory_rename(place.pool, from, to, id, NULL), 0);
  check_name_of(id, to);
  image_close(open_image(place.pool, id)); /* librbd finds all that it looks for */
  drop_image(place.pool, to);
}

static void
test_a_rename_takes_no_other_image_s_name(void)
{
  const char *one = named("one"), *two = named("two");
  CLEANUP(freep) char *id = make_image(place.pool, one, MIB);
  CLEANUP(freep) char *other = make_image(place.pool, two, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(directory_rename(place.pool, one, two, id, &err), -1);
  CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, two);
  check_name_of(id, one);
  check_name_of(other, two);
  drop_image(place.pool, one);
  drop_image(place.pool, two);
}

static void
test_a_name_that_leads_nowhere_is_freed(void)
{
  const char *stray = named("stray"), *used = named("used");
  CLEANUP(freep) char *id = make_image(place.pool, used, MIB);
  CHECK_NUMBER(directory_drop_stray_name(place.pool, stray, NULL), 0); /* there is none */
  make_name_object(stray, id);
  CHECK_NUMBER(directory_drop_stray_name(place.pool, stray, NULL), 0);
  CU_ASSERT_FALSE(has_object(place.pool, "rbd_id.%s", stray));
  CHECK_NUMBER(directory_drop_stray_name(place.pool, used, NULL), 0);
  CU_ASSERT_TRUE(has_object(place.pool, "rbd_id.%s", used)); /* this one is entered */
  drop_image(place.pool, used);
}

static void
test_a_name_is_found_in_the_first_place_that_has_it(void)
{
  const char *name = named("somewhere");
  CLEANUP(location_closep) struct location *nowhere = NULL;
  REQUIRE(location_open(place.cluster, place.pool->pool, "nowhere", &nowhere, NULL) == 0);
  struct location *items[] = {nowhere, place.other, place.tenant, place.pool};
  struct locations all = {.items = items, .count = 4};
  CHECK_NUMBER(directory_find_name(&all, name), -1);
  CHECK_NUMBER(directory_find_name(&(struct locations){0}, name), -1);
  free(make_image(place.pool, name, MIB));
  CHECK_NUMBER(directory_find_name(&all, name), 3);
  free(make_image(place.tenant, name, MIB));
  CHECK_NUMBER(directory_find_name(&all, name), 2);
  drop_image(place.tenant, name);
  CHECK_NUMBER(directory_find_name(&all, name), 3);
  drop_image(place.pool, name);
  CHECK_NUMBER(directory_find_name(&all, name), -1);
}

CEPH_MAIN("ceph/directory", UNIT_TEST(test_names_lead_to_ids_and_back),
          UNIT_TEST(test_what_is_not_there_is_not_found),
          UNIT_TEST(test_a_list_has_what_begins_so_in_order), UNIT_TEST(test_whether_any_begins_so),
          UNIT_TEST(test_a_rename_is_gone_on_with_wherever_it_was_cut_off),
          UNIT_TEST(test_a_rename_takes_no_other_image_s_name),
          UNIT_TEST(test_a_name_that_leads_nowhere_is_freed),
          UNIT_TEST(test_a_name_is_found_in_the_first_place_that_has_it))
