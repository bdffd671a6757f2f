/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_reader.h"

#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

static struct image_reader *
open_reader(struct location *location, const char *name, const char *snap_name)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_reader *reader = NULL;
  REQUIRE(image_reader_open(location, name, snap_name, &reader, &err) == 0);
  return reader;
}

static void
check_byte(struct image_reader *reader, uint64_t offset, char expected)
{
  char byte = '?';
  CHECK_NUMBER(image_reader_read(reader, &byte, 1, offset, NULL), 0);
  CHECK_NUMBER(byte, expected);
}

/* Extents as objects see them: {offset, len} pairs up to a zero length. */
static void
check_extents(struct image_reader *reader, uint64_t offset, uint64_t len, const uint64_t *expected)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_extents extents = {0};
  CHECK_NUMBER(image_reader_extents(reader, offset, len, &extents, &err), 0);
  size_t i = 0;
  for (; expected[2 * i + 1]; i++) {
    REQUIRE(i < extents.count);
    CHECK_NUMBER(extents.items[i].offset, expected[2 * i]);
    CHECK_NUMBER(extents.items[i].len, expected[2 * i + 1]);
  }
  CHECK_NUMBER(extents.count, i);
  image_extents_clear(&extents);
}

static void
test_an_image_is_read_as_it_is_and_a_snapshot_as_it_was(void)
{
  const char *name = named("image");
  CLEANUP(freep) char *id = make_image(place.pool, name, 8 * MIB);
  write_image(place.pool, id, 0, 10, 'a');
  (void)snapshot_image(place.pool, id, "s");
  write_image(place.pool, id, 0, 10, 'b');
  struct image_reader *now = open_reader(place.pool, name, NULL);
  struct image_reader *then = open_reader(place.pool, name, "s");
  CHECK_NUMBER(image_reader_size(now), 8 * MIB);
  CHECK_NUMBER(image_reader_object_size(now), 4 * MIB);
  CHECK_STRING(image_reader_id(now), id);
  check_byte(now, 0, 'b');
  check_byte(then, 0, 'a');
  check_byte(then, 10, 0);
  image_reader_close(now);
  image_reader_close(then);
  image_reader_close(NULL);
  drop_image(place.pool, name);
}

static void
test_what_is_not_there_is_not_found(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct image_reader *reader = NULL;
  CHECK_NUMBER(image_reader_open(place.pool, named("none"), NULL, &reader, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, named("none"));
  free(make_image(place.pool, named("image"), MIB));
  CHECK_NUMBER(image_reader_open(place.pool, named("image"), "s", &reader, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "@s");
  CU_ASSERT_PTR_NULL(reader);
  drop_image(place.pool, named("image"));
}

static void
test_reading_past_the_end_is_an_error(void)
{
  const char *name = named("end");
  free(make_image(place.pool, name, MIB));
  struct image_reader *reader = open_reader(place.pool, name, NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  char bytes[16];
  CHECK_NUMBER(image_reader_read(reader, bytes, 16, MIB - 16, &err), 0);
  CHECK_NUMBER(image_reader_read(reader, bytes, 16, MIB - 15, &err), -1);
  CU_ASSERT_PTR_NOT_NULL(err);
  image_reader_close(reader);
  drop_image(place.pool, name);
}

static void
test_extents_of_a_sparse_image(void)
{
  const char *name = named("sparse");
  CLEANUP(freep) char *id = make_image(place.pool, name, 64 * MIB);
  struct image_reader *reader = open_reader(place.pool, name, NULL);
  check_extents(reader, 0, 64 * MIB, (const uint64_t[]){0, 0});
  image_reader_close(reader);
  write_image(place.pool, id, 8 * MIB, 4 * MIB, 'x');
  write_image(place.pool, id, 12 * MIB, 4 * MIB, 'x'); /* touches: one extent */
  write_image(place.pool, id, 40 * MIB + 5, 10, 'x');  /* part of an object */
  reader = open_reader(place.pool, name, NULL);
  check_extents(reader, 0, 64 * MIB, (const uint64_t[]){8 * MIB, 8 * MIB, 40 * MIB, 4 * MIB, 0, 0});
  check_extents(reader, 0, 8 * MIB, (const uint64_t[]){0, 0});
  check_extents(reader, 9 * MIB, MIB, (const uint64_t[]){9 * MIB, MIB, 0, 0});
  image_reader_close(reader);
  drop_image(place.pool, name);
}

static void
test_extents_of_a_clone_have_the_parents_data(void)
{
  const char *parent = named("parent"), *child = named("child");
  CLEANUP(freep) char *parent_id = make_image(place.pool, parent, 32 * MIB);
  write_image(place.pool, parent_id, 4 * MIB, 4 * MIB, 'p');
  (void)snapshot_image(place.pool, parent_id, "s");
  clone_image(place.pool, parent, "s", place.pool, child);
  CLEANUP(freep) char *id = NULL;
  REQUIRE(directory_id_of(place.pool, child, &id, NULL) == 0);
  write_image(place.pool, id, 16 * MIB, 4 * MIB, 'c');
  struct image_reader *reader = open_reader(place.pool, child, NULL);
  check_extents(reader, 0, 32 * MIB, (const uint64_t[]){4 * MIB, 4 * MIB, 16 * MIB, 4 * MIB, 0, 0});
  check_byte(reader, 5 * MIB, 'p');
  check_byte(reader, 17 * MIB, 'c');
  check_byte(reader, 0, 0);
  image_reader_close(reader);
  drop_image(place.pool, child);
  drop_image(place.pool, parent);
}

struct checker {
  struct image_reader *reader;
  int first;
  int wrong;
};

static void
read_all(void *context)
{
  struct checker *checker = context;
  CLEANUP(freep) unsigned char *data = xcalloc(256 * KIB, 1);
  for (int i = 0; i < 16; i++) {
    int block = (checker->first + i) % 16;
    if (image_reader_read(checker->reader, data, 256 * KIB, (uint64_t)block * 256 * KIB, NULL) < 0)
      checker->wrong++;
    for (size_t at = 0; at < 256 * KIB; at += 1021)
      checker->wrong += data[at] != block + 1;
  }
}

static void
test_many_threads_may_read(void)
{
  const char *name = named("many");
  CLEANUP(freep) char *id = make_image(place.pool, name, 4 * MIB);
  for (unsigned char i = 0; i < 16; i++)
    write_image(place.pool, id, (uint64_t)i * 256 * KIB, (uint64_t)256 * KIB,
                (unsigned char)(i + 1));
  struct image_reader *reader = open_reader(place.pool, name, NULL);
  struct checker checkers[8];
  for (int i = 0; i < 8; i++)
    checkers[i] = (struct checker){.reader = reader, .first = i * 2};
  threads_run(read_all, checkers, sizeof(checkers[0]), 8);
  for (int i = 0; i < 8; i++)
    CHECK_NUMBER(checkers[i].wrong, 0);
  image_reader_close(reader);
  drop_image(place.pool, name);
}

CEPH_MAIN("ceph/image_reader", UNIT_TEST(test_an_image_is_read_as_it_is_and_a_snapshot_as_it_was),
          UNIT_TEST(test_what_is_not_there_is_not_found),
          UNIT_TEST(test_reading_past_the_end_is_an_error),
          UNIT_TEST(test_extents_of_a_sparse_image),
          UNIT_TEST(test_extents_of_a_clone_have_the_parents_data),
          UNIT_TEST(test_many_threads_may_read))
