/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_clients.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_reader.h"
#include "tests/ceph/place.h"

static void
check_count(const char *id, size_t expected, bool has_other)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_clients clients;
  REQUIRE(image_clients_list(place.pool, id, &clients, &err) == 0);
  CHECK_NUMBER(clients.count, expected);
  image_clients_clear(&clients);
  bool any = !has_other;
  CHECK_NUMBER(image_clients_any_other(place.pool, id, &any, &err), 0);
  CHECK_NUMBER(any, has_other);
  struct image_client_ids ids;
  int64_t began_ms = clock_now_ms();
  REQUIRE(image_clients_ids(place.pool, id, &ids, &err) == 0);
  CU_ASSERT_TRUE(clock_now_ms() - began_ms < 1000); /* they have answered */
  CHECK_NUMBER(ids.count, expected);
  image_client_ids_clear(&ids);
}

static void
test_a_client_shows_while_it_has_the_image_open(void)
{
  const char *name = named("image");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  check_count(id, 0, false);
  struct image *own = open_image(place.pool, id);
  check_count(id, 1, false); /* ourselves */
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image *image = open_image(theirs, id);
  check_count(id, 2, true);
  image_close(own);
  struct image_clients clients;
  REQUIRE(image_clients_list(place.pool, id, &clients, NULL) == 0);
  REQUIRE(clients.count == 1);
  CHECK_NUMBER(clients.items[0].id, cluster_client_id(cluster));
  /* "v2:1.2.3.4:0/5" and "1.2.3.4:0/5": the blocklist takes both. */
  CU_ASSERT_PTR_NOT_NULL(strstr(cluster->address, strchr(clients.items[0].address, '/')));
  image_clients_clear(&clients);
  struct image_client_ids ids;
  REQUIRE(image_clients_ids(place.pool, id, &ids, NULL) == 0);
  CHECK_NUMBER(ids.items[0], cluster_client_id(cluster));
  image_client_ids_clear(&ids);
  image_close(image);
  check_count(id, 0, false);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name);
}

static void
test_who_only_reads_does_not_show(void)
{
  const char *name = named("read");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image_reader *reader = NULL;
  REQUIRE(image_reader_open(theirs, name, NULL, &reader, NULL) == 0);
  check_count(id, 0, false);
  image_reader_close(reader);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name);
}

static void
test_an_image_that_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_clients clients;
  bool any;
  CHECK_NUMBER(image_clients_list(place.pool, "feedbeef0004", &clients, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "feedbeef0004");
  CHECK_NUMBER(image_clients_any_other(place.pool, "feedbeef0004", &any, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "feedbeef0004");
}

CEPH_MAIN("ceph/image_clients", UNIT_TEST(test_a_client_shows_while_it_has_the_image_open),
          UNIT_TEST(test_who_only_reads_does_not_show),
          UNIT_TEST(test_an_image_that_is_not_there_is_not_found))
