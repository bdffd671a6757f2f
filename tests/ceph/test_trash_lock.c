/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/trash_lock.h"

#include "lib/base/memory.h"
#include "lib/ceph/trash.h"
#include "tests/ceph/place.h"

static bool
take(struct location *location)
{
  bool is_ours = false;
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(trash_lock_take(location, &is_ours, &err), 0);
  return is_ours;
}

/* The object that the lock stands on is made with the first entry. */
static void
make_trash(void)
{
  CLEANUP(freep) char *id = make_image(place.pool, named("image"), MIB);
  REQUIRE(trash_move(place.pool, named("image"), id, NULL) == 0);
  struct trash_entry entry = {.id = id, .name = (char *)named("image")};
  REQUIRE(trash_remove(place.pool, &entry, NULL) == 0);
}

static void
test_one_client_has_the_trash_to_himself(void)
{
  make_trash();
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  CU_ASSERT_TRUE(take(place.pool));
  CU_ASSERT_TRUE(take(place.pool)); /* renewed */
  CU_ASSERT_FALSE(take(theirs));
  trash_lock_release(theirs); /* which he has not got */
  CU_ASSERT_FALSE(take(theirs));
  trash_lock_release(place.pool);
  CU_ASSERT_TRUE(take(theirs));
  CU_ASSERT_FALSE(take(place.pool));
  trash_lock_release(theirs);
  location_close(theirs);
  cluster_unref(cluster);
}

static void
test_every_namespace_has_a_lock_of_its_own(void)
{
  make_trash();
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.tenant);
  CU_ASSERT_TRUE(take(place.pool));
  CU_ASSERT_TRUE(take(theirs));
  trash_lock_release(place.pool);
  trash_lock_release(theirs);
  location_close(theirs);
  cluster_unref(cluster);
}

static void
test_a_dead_client_s_lock_is_broken(void)
{
  make_trash();
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  CU_ASSERT_TRUE(take(theirs));
  CU_ASSERT_FALSE(take(place.pool));
  REQUIRE(cluster_fence_client(place.cluster, cluster->address, NULL) == 0);
  CU_ASSERT_TRUE(take(place.pool));
  trash_lock_release(place.pool);
  CLEANUP(error_freep) struct error *err = NULL;
  bool is_ours = false;
  CHECK_NUMBER(trash_lock_take(theirs, &is_ours, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "blocklisted");
  location_close(theirs);
  cluster_unref(cluster);
}

CEPH_MAIN("ceph/trash_lock", UNIT_TEST(test_one_client_has_the_trash_to_himself),
          UNIT_TEST(test_every_namespace_has_a_lock_of_its_own),
          UNIT_TEST(test_a_dead_client_s_lock_is_broken))
