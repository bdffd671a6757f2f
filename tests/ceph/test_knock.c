/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/knock.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/flattener_mark.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_clients.h"
#include "tests/ceph/place.h"

static void
knock(struct location *location, const char *id)
{
  bool any;
  CHECK_NUMBER(image_clients_any(location, id, &any, NULL), 0);
  CU_ASSERT(any);
}

static void
test_a_knock_of_another_is_heard(void)
{
  const char *name = named("image");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct knock_listener *listener = NULL;
  REQUIRE(knock_listen(place.pool, id, &listener, NULL) == 0);
  knock(place.pool, id);
  CU_ASSERT(!knock_was_heard(listener)); /* our own */
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image *image = open_image(theirs, id);
  CU_ASSERT(!knock_was_heard(listener)); /* to have it open is not to ask for it */
  knock(theirs, id);
  CU_ASSERT(knock_was_heard(listener));
  CU_ASSERT(!knock_lock_was_wanted(listener));
  image_close(image);
  knock_listener_close(listener);
  location_close(theirs);
  cluster_unref(cluster);
  bool any = true;
  CHECK_NUMBER(image_clients_any(place.pool, id, &any, NULL), 0);
  CU_ASSERT(!any); /* nothing is left of it */
  drop_image(place.pool, name);
}

static void
test_who_wants_the_lock_is_heard(void)
{
  const char *name = named("lock");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image *own = open_image(place.pool, id);
  write_image(place.pool, id, 0, 10, 'a'); /* the lock is ours now */
  struct knock_listener *listener = NULL;
  REQUIRE(knock_listen(place.pool, id, &listener, NULL) == 0);
  CU_ASSERT(!knock_lock_was_wanted(listener));
  write_image(theirs, id, 0, 10, 'b');
  CU_ASSERT(knock_lock_was_wanted(listener));
  CU_ASSERT(!knock_was_heard(listener));
  knock_listener_close(listener);
  image_close(own);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name);
}

static void
test_nobody_listens_at_what_is_not_there(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct knock_listener *listener = NULL;
  CHECK_NUMBER(knock_listen(place.pool, "feedbeef0005", &listener, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "feedbeef0005");
}

/* Another client that says it copies the image, and does not leave. */
static void
test_who_copies_is_waited_for(void)
{
  const char *name = named("copied");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct string_map mark = {0};
  flattener_mark_write(cluster_client_id(cluster), &mark);
  REQUIRE(header_update_metadata(place.pool, id, &mark, NULL, NULL) == 0);
  CHECK_NUMBER(flattener_mark_wait_gone(place.pool, id, &err), 0); /* it is not there */
  struct image *image = open_image(theirs, id);
  CHECK_NUMBER(flattener_mark_wait_gone(theirs, id, &err), 0); /* itself */
  CHECK_NUMBER(flattener_mark_wait_gone(place.pool, id, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, "does not make room");
  image_close(image);
  CHECK_NUMBER(flattener_mark_wait_gone(place.pool, id, &err), 0);
  string_map_clear(&mark);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name);
}

CEPH_MAIN("ceph/knock", UNIT_TEST(test_a_knock_of_another_is_heard),
          UNIT_TEST(test_who_wants_the_lock_is_heard),
          UNIT_TEST(test_nobody_listens_at_what_is_not_there),
          UNIT_TEST(test_who_copies_is_waited_for))
