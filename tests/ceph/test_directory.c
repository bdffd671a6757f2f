/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/directory.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
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
  CHECK_NUMBER(image_rename(place.pool, name, named("renamed"), NULL), 0);
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
  drop_image(place.pool, named("m-1"));
  drop_image(place.pool, named("o-1"));
  CU_ASSERT_FALSE(directory_may_have(place.pool, named("m-")));
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
          UNIT_TEST(test_a_name_is_found_in_the_first_place_that_has_it))
