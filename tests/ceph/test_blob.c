/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/blob.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

static void
check_content(struct location *location, const char *name, const char *expected)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct buffer data = {0};
  CHECK_NUMBER(blob_read(location, name, &data, &err), 0);
  CHECK_NUMBER(data.len, strlen(expected));
  CU_ASSERT(data.len == strlen(expected) && memcmp(data.data, expected, data.len) == 0);
  buffer_clear(&data);
}

static void
test_a_blob_is_replaced_whole(void)
{
  const char *name = named("blob");
  CHECK_NUMBER(blob_write(place.pool, name, "a long one", 10, NULL), 0);
  check_content(place.pool, name, "a long one");
  CHECK_NUMBER(blob_write(place.pool, name, "short", 5, NULL), 0);
  check_content(place.pool, name, "short");
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

static void
test_an_empty_blob_is_one(void)
{
  const char *name = named("empty");
  struct buffer data = {0};
  CHECK_NUMBER(blob_write(place.pool, name, "", 0, NULL), 0);
  CHECK_NUMBER(blob_read(place.pool, name, &data, NULL), 0);
  CHECK_NUMBER(data.len, 0);
  buffer_clear(&data);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

static void
test_what_is_read_is_added_to_the_buffer(void)
{
  const char *name = named("added");
  struct buffer data = {0};
  (void)buffer_append_text(&data, "one ");
  CHECK_NUMBER(blob_write(place.pool, name, "two", 3, NULL), 0);
  CHECK_NUMBER(blob_read(place.pool, name, &data, NULL), 0);
  CHECK_STRING(data.data, "one two");
  buffer_clear(&data);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

static void
test_a_blob_that_is_not_there(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct buffer data = {0};
  CHECK_NUMBER(blob_read(place.pool, named("none"), &data, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, named("none"));
  CHECK_NUMBER(data.len, 0);
  CHECK_NUMBER(blob_remove(place.pool, named("none"), &err), 0);
  CU_ASSERT_PTR_NULL(err);
}

static void
test_the_same_name_in_a_namespace_is_another_blob(void)
{
  const char *name = named("twin");
  CHECK_NUMBER(blob_write(place.pool, name, "pool", 4, NULL), 0);
  CHECK_NUMBER(blob_write(place.tenant, name, "tenant", 6, NULL), 0);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
  check_content(place.tenant, name, "tenant");
  CHECK_NUMBER(blob_remove(place.tenant, name, NULL), 0);
}

static void
test_the_largest_blob_comes_back_as_it_was(void)
{
  const char *name = named("largest");
  CLEANUP(freep) char *data = xcalloc(BLOB_MAX_BYTES + 1, 1);
  for (size_t i = 0; i < BLOB_MAX_BYTES; i += 4093)
    data[i] = (char)(i % 251);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(blob_write(place.pool, name, data, BLOB_MAX_BYTES + 1, &err), -1);
  CHECK_ERROR(&err, ERROR_OUT_OF_RANGE, name);
  CU_ASSERT_FALSE(has_object(place.pool, "%s", name));
  CHECK_NUMBER(blob_write(place.pool, name, data, BLOB_MAX_BYTES, &err), 0);
  struct buffer back = {0};
  CHECK_NUMBER(blob_read(place.pool, name, &back, &err), 0);
  CU_ASSERT(back.len == BLOB_MAX_BYTES && memcmp(back.data, data, back.len) == 0);
  buffer_clear(&back);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

/* Made by another program. */
static void
test_an_object_that_is_too_large_is_not_read(void)
{
  const char *name = named("too-large");
  CLEANUP(error_freep) struct error *err = NULL;
  struct buffer data = {0};
  REQUIRE(rados_write(place.pool->ioctx, name, "x", 1, BLOB_MAX_BYTES) == 0);
  CHECK_NUMBER(blob_read(place.pool, name, &data, &err), -1);
  CHECK_ERROR(&err, ERROR_OUT_OF_RANGE, name);
  CHECK_NUMBER(data.len, 0);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

/* One side of a race: writes or reads, and counts what was torn. */
struct racer {
  bool is_reader;
  char byte;
  int torn;
};

static bool
is_torn(const struct buffer *data)
{
  for (size_t i = 1; i < data->len; i++) {
    if (data->data[i] != data->data[0])
      return true;
  }
  return data->len != 64 * KIB;
}

static void
race(void *context)
{
  struct racer *racer = context;
  CLEANUP(freep) char *data = xcalloc(64 * KIB, 1);
  memset(data, racer->byte, 64 * KIB);
  for (int i = 0; i < 20; i++) {
    struct buffer back = {0};
    int r = racer->is_reader ? blob_read(place.pool, named("race"), &back, NULL)
                             : blob_write(place.pool, named("race"), data, 64 * KIB, NULL);
    if (r < 0 || (racer->is_reader && is_torn(&back)))
      racer->torn++;
    buffer_clear(&back);
  }
}

static void
test_readers_never_see_half_a_write(void)
{
  const char *name = named("race");
  CLEANUP(freep) char *data = xcalloc(64 * KIB, 1);
  REQUIRE(blob_write(place.pool, name, data, 64 * KIB, NULL) == 0);
  struct racer racers[] = {{.byte = 'a'}, {.byte = 'b'}, {.is_reader = true}, {.is_reader = true}};
  threads_run(race, racers, sizeof(racers[0]), 4);
  for (int i = 0; i < 4; i++)
    CHECK_NUMBER(racers[i].torn, 0);
  CHECK_NUMBER(blob_remove(place.pool, name, NULL), 0);
}

CEPH_MAIN("ceph/blob", UNIT_TEST(test_a_blob_is_replaced_whole),
          UNIT_TEST(test_an_empty_blob_is_one), UNIT_TEST(test_what_is_read_is_added_to_the_buffer),
          UNIT_TEST(test_a_blob_that_is_not_there),
          UNIT_TEST(test_the_same_name_in_a_namespace_is_another_blob),
          UNIT_TEST(test_the_largest_blob_comes_back_as_it_was),
          UNIT_TEST(test_an_object_that_is_too_large_is_not_read),
          UNIT_TEST(test_readers_never_see_half_a_write))
