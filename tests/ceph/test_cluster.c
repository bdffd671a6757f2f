/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/cluster.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tests/ceph/place.h"
#include "tests/unit/temp_dir.h"

/* Connects with what the caller changed in a copy of the configuration; it must fail so. */
static void
check_refused(struct cluster_config *config, const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = NULL;
  CHECK_NUMBER(cluster_connect(config, NULL, &cluster, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, text);
  CU_ASSERT_PTR_NULL(cluster);
  CHECK_NUMBER(cluster_connect(config, NULL, &cluster, NULL), -1); /* nobody asks why */
  cluster_config_clear(config);
}

static struct cluster_config
copy_config(void)
{
  struct cluster_config config = {0};
  cluster_config_copy(&config, &place.config);
  return config;
}

static void
replace(char **string, char *with)
{
  free(*string);
  *string = with;
}

static void
test_each_connection_is_a_client_of_its_own(void)
{
  struct cluster *other = place_connect();
  CU_ASSERT_NOT_EQUAL(cluster_client_id(other), cluster_client_id(place.cluster));
  CU_ASSERT_STRING_NOT_EQUAL(other->address, place.cluster->address);
  CHECK_STRING(cluster_id(other), "local");
  CU_ASSERT_FALSE(cluster_is_blocklisted(other));
  CU_ASSERT_PTR_EQUAL(cluster_ref(other), other);
  cluster_unref(other);
  CHECK_STRING(cluster_id(other), "local"); /* one reference is left */
  cluster_unref(other);
  cluster_unref(NULL);
}

static void
test_a_user_that_is_not_known_is_unavailable(void)
{
  struct cluster_config config = copy_config();
  replace(&config.user, xstrdup("nobody"));
  check_refused(&config, "cluster 'local': connect as 'client.nobody': the cluster does not "
                         "know this user with the key in");
}

static void
test_a_wrong_key_is_unavailable(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "key", "AQAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA==\n");
  struct cluster_config config = copy_config();
  replace(&config.keyring, NULL);
  config.key_file = temp_dir_path(dir, "key");
  CLEANUP(freep) char *key = temp_dir_path(dir, "key");
  check_refused(&config, key);
}

static void
test_a_key_in_a_file_of_its_own_is_taken(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep)
  char *key = admin_command("{\"prefix\": \"auth get-key\", \"entity\": \"client.imprint\"}");
  temp_dir_write(dir, "key", key);
  struct cluster_config config = copy_config();
  replace(&config.keyring, NULL);
  config.key_file = temp_dir_path(dir, "key");
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = NULL;
  CHECK_NUMBER(cluster_connect(&config, NULL, &cluster, &err), 0);
  cluster_unref(cluster);
  cluster_config_clear(&config);
}

static void
test_files_that_are_not_there_are_named(void)
{
  struct cluster_config config = copy_config();
  replace(&config.keyring, xstrdup("/nonexistent/keyring"));
  check_refused(&config, "/nonexistent/keyring");
  config = copy_config();
  replace(&config.conf_file, xstrdup("/nonexistent/ceph.conf"));
  check_refused(&config, "read confFile '/nonexistent/ceph.conf'");
}

static void
test_monitors_that_do_not_answer_are_given_up_soon(void)
{
  struct cluster_config config = copy_config();
  replace(&config.conf_file, NULL);
  config.monitors = xstrdup("127.0.0.1:1");
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = NULL;
  int64_t begin_ms = clock_now_ms();
  CHECK_NUMBER(cluster_connect(&config, NULL, &cluster, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "check that the monitors are reachable");
  CU_ASSERT(clock_now_ms() - begin_ms < 20000);
  cluster_config_clear(&config);
}

static void
test_a_pool_says_what_room_it_has(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  uint64_t bytes = 0;
  CHECK_NUMBER(cluster_pool_available(place.cluster, place.pool->pool, &bytes, &err), 0);
  CU_ASSERT(bytes > 64 * MIB);
  CHECK_NUMBER(cluster_pool_available(place.cluster, "no-such-pool", &bytes, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no-such-pool");
}

static void
test_the_pools_for_rbd_are_listed(void)
{
  struct pool_names pools;
  REQUIRE(cluster_rbd_pools(place.cluster, &pools, NULL) == 0);
  int found = 0;
  for (size_t i = 0; i < pools.count; i++) {
    found += strcmp(pools.names[i], place.pool->pool) == 0;
    found += strcmp(pools.names[i], place.other->pool) == 0;
    CU_ASSERT_NOT_EQUAL(pools.names[i][0], '.'); /* .mgr is not one */
  }
  CHECK_NUMBER(found, 2);
  pool_names_clear(&pools);
}

CEPH_MAIN("ceph/cluster", UNIT_TEST(test_each_connection_is_a_client_of_its_own),
          UNIT_TEST(test_a_user_that_is_not_known_is_unavailable),
          UNIT_TEST(test_a_wrong_key_is_unavailable),
          UNIT_TEST(test_a_key_in_a_file_of_its_own_is_taken),
          UNIT_TEST(test_files_that_are_not_there_are_named),
          UNIT_TEST(test_monitors_that_do_not_answer_are_given_up_soon),
          UNIT_TEST(test_a_pool_says_what_room_it_has),
          UNIT_TEST(test_the_pools_for_rbd_are_listed))
