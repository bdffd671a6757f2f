/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_writer.h"

#include <pthread.h>
#include <rbd/librbd.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

#define BLOCK (64 * KIB)

/* What tests see of the writes under way: never more than there are. */
static atomic_long under_way, most, done_count;

static void
reset(void)
{
  atomic_store(&under_way, 0);
  atomic_store(&most, 0);
  atomic_store(&done_count, 0);
}

static void
on_done(void *context)
{
  (void)atomic_fetch_sub(&under_way, (long)(intptr_t)context);
  (void)atomic_fetch_add(&done_count, 1);
}

static int
submit(struct image_writer *writer, const void *data, size_t len, uint64_t offset)
{
  if (image_writer_submit(writer, data, len, offset, on_done, (void *)(intptr_t)len) < 0)
    return -1;
  long now = atomic_fetch_add(&under_way, (long)len) + (long)len;
  long seen = atomic_load(&most);
  while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
    ;
  return 0;
}

static void
check_blocks(struct image *image, int count)
{
  CLEANUP(freep) unsigned char *data = xcalloc(BLOCK, 1);
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    REQUIRE(rbd_read(image_rbd(image), (uint64_t)i * BLOCK, BLOCK, (char *)data) == (ssize_t)BLOCK);
    for (size_t at = 0; at < BLOCK; at += 509)
      wrong += data[at] != (i & 0x7f) + 1;
  }
  CHECK_NUMBER(wrong, 0);
}

struct submitter {
  struct image_writer *writer;
  const char *blocks;
  int first, step, count;
  int failed;
};

static void
submit_all(void *context)
{
  struct submitter *submitter = context;
  for (int i = submitter->first; i < submitter->count; i += submitter->step) {
    if (submit(submitter->writer, submitter->blocks + (size_t)i * BLOCK, BLOCK,
               (uint64_t)i * BLOCK) < 0)
      submitter->failed++;
  }
}

static char *
make_blocks(int count)
{
  char *blocks = xcalloc((size_t)count, BLOCK);
  for (int i = 0; i < count; i++)
    memset(blocks + (size_t)i * BLOCK, (i & 0x7f) + 1, BLOCK);
  return blocks;
}

static void
test_many_threads_write_within_the_bound(void)
{
  enum { COUNT = 256, THREADS = 8 };
  const char *name = named("image");
  CLEANUP(freep) char *id = make_image(place.pool, name, COUNT * BLOCK);
  CLEANUP(freep) char *blocks = make_blocks(COUNT);
  struct image *image = open_image(place.pool, id);
  struct image_writer *writer = image_writer_new(image, 10 * BLOCK);
  struct submitter submitters[THREADS];
  for (int i = 0; i < THREADS; i++)
    submitters[i] = (struct submitter){
        .writer = writer, .blocks = blocks, .first = i, .step = THREADS, .count = COUNT};
  reset();
  threads_run(submit_all, submitters, sizeof(submitters[0]), THREADS);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(image_writer_drain(writer, &err), 0);
  CHECK_NUMBER(atomic_load(&done_count), COUNT); /* each exactly once */
  CHECK_NUMBER(atomic_load(&under_way), 0);
  CU_ASSERT(atomic_load(&most) <= (long)(10 * BLOCK));
  CU_ASSERT(atomic_load(&most) > (long)BLOCK); /* not one after the other */
  for (int i = 0; i < THREADS; i++)
    CHECK_NUMBER(submitters[i].failed, 0);
  check_blocks(image, COUNT);
  CHECK_NUMBER(image_writer_check(writer, &err), 0);
  image_writer_free(writer);
  image_writer_free(NULL);
  image_close(image);
  drop_image(place.pool, name);
}

static void
test_a_write_larger_than_the_bound_goes_alone(void)
{
  const char *name = named("large");
  CLEANUP(freep) char *id = make_image(place.pool, name, 16 * BLOCK);
  CLEANUP(freep) char *blocks = make_blocks(16);
  struct image *image = open_image(place.pool, id);
  struct image_writer *writer = image_writer_new(image, 1);
  reset();
  for (uint64_t i = 0; i < 16; i += 4)
    CHECK_NUMBER(submit(writer, blocks + i * BLOCK, 4 * BLOCK, i * BLOCK), 0);
  CHECK_NUMBER(image_writer_drain(writer, NULL), 0);
  CHECK_NUMBER(atomic_load(&done_count), 4);
  CU_ASSERT(atomic_load(&most) <= (long)(4 * BLOCK));
  check_blocks(image, 16);
  image_writer_free(writer);
  image_close(image);
  drop_image(place.pool, name);
}

static void
test_a_writer_without_work_drains_at_once(void)
{
  const char *name = named("idle");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct image *image = open_image(place.pool, id);
  struct image_writer *writer = image_writer_new(image, MIB);
  CHECK_NUMBER(image_writer_drain(writer, NULL), 0);
  CHECK_NUMBER(image_writer_check(writer, NULL), 0);
  image_writer_free(writer);
  image_close(image);
  drop_image(place.pool, name);
}

/* The first failure stays, and nothing is started behind it. */
static void
check_refused(struct image *image, const char *data, uint64_t offset, const char *text)
{
  struct image_writer *writer = image_writer_new(image, MIB);
  CLEANUP(error_freep) struct error *err = NULL;
  reset();
  CHECK_NUMBER(submit(writer, data, BLOCK, offset), 0);
  CHECK_NUMBER(image_writer_drain(writer, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, text);
  CHECK_NUMBER(submit(writer, data, BLOCK, 0), -1);
  CHECK_NUMBER(atomic_load(&done_count), 1);
  CHECK_NUMBER(image_writer_check(writer, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, image_id(image));
  image_writer_free(writer);
}

static void
check_inside(void *context)
{
  CHECK_NUMBER(image_writer_check(context, NULL), -1);
  (void)atomic_fetch_add(&done_count, 1);
}

static void
test_a_failure_is_known_when_the_write_is_done(void)
{
  const char *name = named("known");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(freep) char *blocks = make_blocks(1);
  struct image *image = open_image(place.pool, id);
  struct image_writer *writer = image_writer_new(image, MIB);
  reset();
  CHECK_NUMBER(image_writer_submit(writer, blocks, BLOCK, 4 * MIB, check_inside, writer), 0);
  CHECK_NUMBER(image_writer_drain(writer, NULL), -1);
  CHECK_NUMBER(atomic_load(&done_count), 1);
  image_writer_free(writer);
  image_close(image);
  drop_image(place.pool, name);
}

static void
test_a_write_past_the_end_fails_the_writer(void)
{
  const char *name = named("end");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(freep) char *blocks = make_blocks(1);
  struct image *image = open_image(place.pool, id);
  check_refused(image, blocks, 4 * MIB, "at byte 4194304");
  check_refused(image, blocks, MIB, "at byte 1048576");
  check_refused(image, blocks, MIB - BLOCK + 1, "at byte 983041"); /* only its last byte */
  check_refused(image, blocks, UINT64_MAX - 5, "at byte 18446744073709551610");
  image_close(image);
  drop_image(place.pool, name);
}

/* Thrown out by the cluster in the middle: all that was submitted comes back, waiting submitters
 * are let go, and the connection knows that it is of no more use. */
static void
test_a_blocklisted_client_fails_and_does_not_hang(void)
{
  enum { COUNT = 128, THREADS = 4 };
  const char *name = named("blocklisted");
  CLEANUP(freep) char *id = make_image(place.pool, name, COUNT * BLOCK);
  CLEANUP(freep) char *blocks = make_blocks(COUNT);
  struct cluster *cluster = place_connect();
  struct location *theirs = place_open(cluster, place.pool);
  struct image *image = open_image(theirs, id);
  struct image_writer *writer = image_writer_new(image, 4 * BLOCK);
  reset();
  CHECK_NUMBER(submit(writer, blocks, BLOCK, 0), 0);
  CHECK_NUMBER(image_writer_drain(writer, NULL), 0);
  REQUIRE(cluster_fence_client(place.cluster, cluster->address, NULL) == 0);
  struct submitter submitters[THREADS];
  for (int i = 0; i < THREADS; i++)
    submitters[i] = (struct submitter){
        .writer = writer, .blocks = blocks, .first = i, .step = THREADS, .count = COUNT};
  threads_run(submit_all, submitters, sizeof(submitters[0]), THREADS);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(image_writer_drain(writer, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "blocklisted by the cluster");
  CHECK_NUMBER(atomic_load(&under_way), 0);
  int refused = 0;
  for (int i = 0; i < THREADS; i++)
    refused += submitters[i].failed;
  CHECK_NUMBER(atomic_load(&done_count) + refused, 1 + COUNT);
  CU_ASSERT_TRUE(cluster_is_blocklisted(cluster));
  CU_ASSERT_FALSE(cluster_is_blocklisted(place.cluster));
  image_writer_free(writer);
  image_close(image);
  location_close(theirs);
  cluster_unref(cluster);
  drop_image(place.pool, name); /* nobody holds it any more */
}

CEPH_MAIN("ceph/image_writer", UNIT_TEST(test_many_threads_write_within_the_bound),
          UNIT_TEST(test_a_write_larger_than_the_bound_goes_alone),
          UNIT_TEST(test_a_writer_without_work_drains_at_once),
          UNIT_TEST(test_a_failure_is_known_when_the_write_is_done),
          UNIT_TEST(test_a_write_past_the_end_fails_the_writer),
          UNIT_TEST(test_a_blocklisted_client_fails_and_does_not_hang))
