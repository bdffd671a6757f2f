/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/block_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/gate.h"
#include "tests/unit/unit.h"

#define BLOCK BLOCK_CACHE_BLOCK_BYTES

/* Its byte at each offset follows from the offset. */
struct pattern_source {
  struct source source;
  atomic_uint reads;
  atomic_int failures; /* to come */
  struct gate *gate;
};

static char
byte_at(uint64_t offset)
{
  return (char)(offset * 2654435761U >> 13);
}

static int
pattern_read_at(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct pattern_source *pattern = (struct pattern_source *)source;
  atomic_fetch_add(&pattern->reads, 1);
  if (pattern->gate)
    gate_enter(pattern->gate);
  if (atomic_fetch_sub(&pattern->failures, 1) > 0)
    return error_set(err, ERROR_UNAVAILABLE, "not now");
  for (size_t i = 0; i < len; i++)
    ((char *)buf)[i] = byte_at(offset + i);
  return offset + len <= source->size ? 0 : error_set(err, ERROR_OUT_OF_RANGE, "beyond the end");
}

static const struct source_ops pattern_ops = {.scheme = "", .read_at = pattern_read_at};

static bool
reads_right(struct block_cache *cache, uint64_t offset, size_t len)
{
  CLEANUP(freep) char *buf = xcalloc(1, len);
  if (block_cache_read(cache, buf, len, offset, NULL) < 0)
    return false;
  for (size_t i = 0; i < len; i++) {
    if (buf[i] != byte_at(offset + i))
      return false;
  }
  return true;
}

static void
test_small_reads_cost_one_large_one(void)
{
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 10 * BLOCK}};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 4);
  for (uint64_t at = 0; at < BLOCK; at += 4096)
    CU_ASSERT(reads_right(cache, at, 4096));
  CHECK_NUMBER(pattern.reads, 1);
}

static void
test_reads_across_blocks(void)
{
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 3 * BLOCK + 17}};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 2);
  CU_ASSERT(reads_right(cache, BLOCK - 5, 10));
  CU_ASSERT(reads_right(cache, 1, 3 * BLOCK + 16)); /* more than it holds, to the odd end */
  CU_ASSERT(reads_right(cache, 3 * BLOCK + 16, 1));
}

static void
test_the_longest_unused_goes_first(void)
{
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 10 * BLOCK}};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 2);
  CU_ASSERT(reads_right(cache, 0, 1));
  CU_ASSERT(reads_right(cache, BLOCK, 1));
  CU_ASSERT(reads_right(cache, 0, 1));         /* used again */
  CU_ASSERT(reads_right(cache, 2 * BLOCK, 1)); /* in place of the second */
  CHECK_NUMBER(pattern.reads, 3);
  CU_ASSERT(reads_right(cache, 0, 1));
  CHECK_NUMBER(pattern.reads, 3);
  CU_ASSERT(reads_right(cache, BLOCK, 1));
  CHECK_NUMBER(pattern.reads, 4);
}

static void
test_failures_are_not_kept(void)
{
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 10 * BLOCK}};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 2);
  struct error *err = NULL;
  char byte;
  atomic_store(&pattern.failures, 1);
  CHECK_NUMBER(block_cache_read(cache, &byte, 1, 0, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "not now");
  CU_ASSERT(reads_right(cache, 0, 1));
}

struct reader {
  pthread_t thread;
  struct block_cache *cache;
  uint64_t offset;
  size_t len;
  unsigned rounds;
  bool is_right;
};

static void *
reader_main(void *arg)
{
  struct reader *reader = arg;
  reader->is_right = true;
  for (unsigned i = 0; i < reader->rounds; i++) {
    uint64_t offset = (reader->offset + i * 7919ULL * 4096) % (9 * BLOCK);
    reader->is_right = reader->is_right && reads_right(reader->cache, offset, reader->len);
  }
  return NULL;
}

static void
start_readers(struct reader *readers, unsigned count, struct block_cache *cache, unsigned rounds)
{
  for (unsigned i = 0; i < count; i++) {
    readers[i].cache = cache;
    readers[i].rounds = rounds;
    REQUIRE(pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]) == 0);
  }
}

static void
join_readers(struct reader *readers, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    (void)pthread_join(readers[i].thread, NULL);
    CU_ASSERT(readers[i].is_right);
  }
}

/* They come while the first one's read is held up. */
static void
test_a_block_that_many_want_is_read_once(void)
{
  struct gate gate;
  gate_init(&gate);
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 10 * BLOCK},
                                   .gate = &gate};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 4);
  struct reader readers[6] = {0};
  for (unsigned i = 0; i < 6; i++)
    readers[i] = (struct reader){.offset = (uint64_t)i * 100, .len = 50};
  start_readers(readers, 6, cache, 1);
  gate_wait_arrived(&gate, 1);
  gate_open(&gate);
  join_readers(readers, 6);
  CHECK_NUMBER(pattern.reads, 1);
  gate_clear(&gate);
}

static void
test_many_threads_and_few_blocks(void)
{
  struct pattern_source pattern = {.source = {.ops = &pattern_ops, .size = 10 * BLOCK}};
  CLEANUP(block_cache_freep) struct block_cache *cache = block_cache_new(&pattern.source, 3);
  struct reader readers[8];
  for (unsigned i = 0; i < 8; i++)
    readers[i] = (struct reader){.offset = i * BLOCK, .len = 1000};
  start_readers(readers, 8, cache, 50);
  join_readers(readers, 8);
}

UNIT_MAIN("populator/format/foreign/block_cache", UNIT_TEST(test_small_reads_cost_one_large_one),
          UNIT_TEST(test_reads_across_blocks), UNIT_TEST(test_the_longest_unused_goes_first),
          UNIT_TEST(test_failures_are_not_kept),
          UNIT_TEST(test_a_block_that_many_want_is_read_once),
          UNIT_TEST(test_many_threads_and_few_blocks))
