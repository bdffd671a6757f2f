/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/location.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/ceph/place.h"
#include "tests/unit/temp_dir.h"

static void
test_a_pool_is_opened_by_name_and_by_id(void)
{
  CLEANUP(location_closep) struct location *location = NULL;
  REQUIRE(location_open_by_id(place.cluster, place.tenant->pool_id, place.tenant->name_space,
                              &location, NULL) == 0);
  CHECK_STRING(location->pool, place.tenant->pool);
  CHECK_STRING(location->name_space, place.tenant->name_space);
  CHECK_STRING(location->label, place.tenant->label);
  CLEANUP(freep)
  char *label = xasprintf("%s/%s", place.tenant->pool, place.tenant->name_space);
  CHECK_STRING(location->label, label);
  CHECK_STRING(place.pool->label, place.pool->pool);
}

static void
test_a_pool_that_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct location *location = NULL;
  CHECK_NUMBER(location_open(place.cluster, "no-such-pool", "", &location, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "cluster 'local' has no pool 'no-such-pool'");
  CHECK_NUMBER(location_open_by_id(place.cluster, 987654, "", &location, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no pool with id 987654");
  CU_ASSERT_PTR_NULL(location);
}

static void
test_a_location_keeps_its_cluster(void)
{
  struct cluster *cluster = place_connect();
  struct location *location = place_open(cluster, place.pool);
  cluster_unref(cluster);
  CHECK_NUMBER(location_check(location, NULL), 0);
  location_close(location);
  location_close(NULL);
}

static void
test_a_place_for_images_passes_the_check(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(location_check(place.pool, &err), 0);
  CHECK_NUMBER(location_check(place.tenant, &err), 0);
  CHECK_NUMBER(location_check(place.other, &err), 0);
}

static void
test_a_namespace_that_is_not_there_is_named_with_the_remedy(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(location_closep) struct location *nowhere = NULL;
  REQUIRE(location_open(place.cluster, place.pool->pool, "nowhere", &nowhere, &err) == 0);
  CHECK_NUMBER(location_check(nowhere, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "rbd namespace create");
}

/* A pool of its own, removed at the end. */
static void
test_a_pool_for_other_things_is_refused(void)
{
  const char *pool = named("files");
  CLEANUP(freep)
  char *create =
      xasprintf("{\"prefix\": \"osd pool create\", \"pool\": \"%s\", \"pg_num\": 1}", pool);
  free(admin_command(create));
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(rados_wait_for_latest_osdmap(place.cluster->rados) == 0);
  CLEANUP(location_closep) struct location *location = NULL;
  CHECK_NUMBER(location_open(place.cluster, pool, "", &location, &err), 0);
  if (location) {
    CHECK_NUMBER(location_check(location, &err), -1);
    CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "rbd pool init");
  }
  struct locations all;
  REQUIRE(locations_list(place.cluster, &all, NULL) == 0);
  for (size_t i = 0; i < all.count; i++)
    CU_ASSERT_STRING_NOT_EQUAL(all.items[i]->pool, pool);
  locations_clear(&all);
  CLEANUP(freep)
  char *remove = xasprintf("{\"prefix\": \"osd pool delete\", \"pool\": \"%s\", \"pool2\": \"%s\", "
                           "\"yes_i_really_really_mean_it\": true}",
                           pool, pool);
  free(admin_command(remove));
}

static bool
has_label(const struct locations *locations, const char *label)
{
  for (size_t i = 0; i < locations->count; i++) {
    if (strcmp(locations->items[i]->label, label) == 0)
      return true;
  }
  return false;
}

static void
test_every_place_is_listed_in_order(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct locations all;
  REQUIRE(locations_list(place.cluster, &all, &err) == 0);
  CU_ASSERT(has_label(&all, place.pool->label));
  CU_ASSERT(has_label(&all, place.tenant->label));
  CU_ASSERT(has_label(&all, place.other->label));
  for (size_t i = 1; i < all.count; i++)
    CU_ASSERT(strcmp(all.items[i - 1]->label, all.items[i]->label) < 0);
  locations_clear(&all);
  CHECK_NUMBER(all.count, 0);
}

/* A user of one pool alone: what is not his is not in the list, and does not fail it. */
static void
test_a_pool_that_may_not_be_read_is_left_out(void)
{
  CLEANUP(freep)
  char *make = xasprintf("{\"prefix\": \"auth get-or-create-key\", \"entity\": \"client.%s\", "
                         "\"caps\": [\"mon\", \"profile rbd\", \"osd\", \"profile rbd pool=%s\"]}",
                         named("narrow"), place.pool->pool);
  CLEANUP(freep) char *key = admin_command(make);
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *key_file = temp_dir_path(dir, "key");
  temp_dir_write(dir, "key", key);
  struct cluster_config config = place.config;
  config.user = (char *)named("narrow");
  config.keyring = NULL;
  config.key_file = key_file;
  struct cluster *cluster = NULL;
  REQUIRE(cluster_connect(&config, NULL, &cluster, NULL) == 0);
  struct locations all;
  REQUIRE(locations_list(cluster, &all, NULL) == 0);
  CU_ASSERT(has_label(&all, place.pool->label));
  CU_ASSERT(has_label(&all, place.tenant->label));
  CU_ASSERT_FALSE(has_label(&all, place.other->label));
  locations_clear(&all);
  cluster_unref(cluster);
  CLEANUP(freep)
  char *remove =
      xasprintf("{\"prefix\": \"auth del\", \"entity\": \"client.%s\"}", named("narrow"));
  free(admin_command(remove));
}

CEPH_MAIN("ceph/location", UNIT_TEST(test_a_pool_is_opened_by_name_and_by_id),
          UNIT_TEST(test_a_pool_that_is_not_there_is_not_found),
          UNIT_TEST(test_a_location_keeps_its_cluster),
          UNIT_TEST(test_a_place_for_images_passes_the_check),
          UNIT_TEST(test_a_namespace_that_is_not_there_is_named_with_the_remedy),
          UNIT_TEST(test_a_pool_for_other_things_is_refused),
          UNIT_TEST(test_every_place_is_listed_in_order),
          UNIT_TEST(test_a_pool_that_may_not_be_read_is_left_out))
