/* SPDX-License-Identifier: Apache-2.0 */
/* What a person reads when Ceph itself refuses. */
#include "lib/ceph/ceph_error.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_create.h"
#include "tests/ceph/place.h"
#include "tests/unit/temp_dir.h"

/* A connection as a user of its own, made with these rights on the OSDs. */
static struct cluster *
connect_with(const char *osd_caps, const char *dir)
{
  CLEANUP(freep)
  char *command = xasprintf("{\"prefix\": \"auth get-or-create-key\", \"entity\": \"client.%s\", "
                            "\"caps\": [\"mon\", \"profile rbd\", \"osd\", \"%s\"]}",
                            named("user"), osd_caps);
  CLEANUP(freep) char *key = admin_command(command);
  temp_dir_write(dir, "key", key);
  struct cluster_config config = {.cluster_id = xstrdup("local"),
                                  .conf_file = xstrdup(place.config.conf_file),
                                  .user = xstrdup(named("user")),
                                  .key_file = temp_dir_path(dir, "key")};
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = NULL;
  CHECK_NUMBER(cluster_connect(&config, NULL, &cluster, &err), 0);
  cluster_config_clear(&config);
  return cluster;
}

static void
forget_user(void)
{
  CLEANUP(freep)
  char *command = xasprintf("{\"prefix\": \"auth del\", \"entity\": \"client.%s\"}", named("user"));
  free(admin_command(command));
}

static void
test_a_user_that_may_only_read_is_told_what_he_lacks(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(cluster_unrefp) struct cluster *cluster = connect_with("profile rbd-read-only", dir);
  forget_user();
  REQUIRE(cluster);
  CLEANUP(location_closep) struct location *location = place_open(cluster, place.pool);
  CLEANUP(error_freep) struct error *err = NULL;
  const char *name = named("denied");
  CHECK_NUMBER(image_create(location, name, MIB, &(struct image_layout){0}, &err), -1);
  CHECK_ERROR(&err, ERROR_PERMISSION_DENIED, "the Ceph user lacks the right");
  CHECK_NUMBER(blob_write(location, name, "x", 1, &err), -1);
  CHECK_ERROR(&err, ERROR_PERMISSION_DENIED, "osd 'profile rbd'");
  struct directory directory;
  CHECK_NUMBER(directory_list(location, "", &directory, &err), 0); /* reading goes */
  directory_clear(&directory);
}

static void
test_a_user_of_another_pool_is_told_what_he_lacks(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *caps = xasprintf("profile rbd pool=%s", place.other->pool);
  CLEANUP(cluster_unrefp) struct cluster *cluster = connect_with(caps, dir);
  forget_user();
  REQUIRE(cluster);
  CLEANUP(location_closep) struct location *location = place_open(cluster, place.pool);
  CLEANUP(error_freep) struct error *err = NULL;
  char *id = NULL;
  CHECK_NUMBER(directory_id_of(location, "x", &id, &err), -1);
  CHECK_ERROR(&err, ERROR_PERMISSION_DENIED, "the Ceph user lacks the right");
  CU_ASSERT_TRUE(directory_may_have(location, "x")); /* it cannot be told */
  CLEANUP(location_closep) struct location *own = place_open(cluster, place.other);
  CHECK_NUMBER(directory_id_of(own, "x", &id, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "x");
}

static void
test_a_blocklisted_client_is_told_so(void)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = place_connect();
  CLEANUP(location_closep) struct location *location = place_open(cluster, place.pool);
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(cluster_fence_client(place.cluster, cluster->address, &err) == 0);
  char *id = NULL;
  CHECK_NUMBER(directory_id_of(location, "x", &id, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "this client was blocklisted");
  CU_ASSERT_TRUE(cluster_is_blocklisted(cluster));
}

CEPH_MAIN("ceph/ceph_error", UNIT_TEST(test_a_user_that_may_only_read_is_told_what_he_lacks),
          UNIT_TEST(test_a_user_of_another_pool_is_told_what_he_lacks),
          UNIT_TEST(test_a_blocklisted_client_is_told_so))
