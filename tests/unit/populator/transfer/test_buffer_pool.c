/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/buffer_pool.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/unit/unit.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define BYTES (HUGE_PAGE + 4096 + 1)

/* Wherever they are put, and whether or not the kernel has huge pages. */
static void
test_all_of_a_buffer_can_be_used(void)
{
  for (size_t huge_bytes = 0; huge_bytes <= HUGE_PAGE; huge_bytes += HUGE_PAGE) {
    CLEANUP(buffer_pool_freep) struct buffer_pool *pool = buffer_pool_new(2, BYTES, huge_bytes);
    struct pool_buffer *one = buffer_pool_take(pool);
    struct pool_buffer *other = buffer_pool_take(pool);
    CHECK_NUMBER((uintptr_t)one->data % HUGE_PAGE, 0);
    memset(one->data, 1, BYTES);
    memset(other->data, 2, BYTES);
    CHECK_NUMBER(one->data[0] + one->data[BYTES - 1], 2);
    CHECK_NUMBER(other->data[0] + other->data[BYTES - 1], 4);
    pool_buffer_unref(one);
    pool_buffer_unref(other);
  }
}

struct waiter {
  struct buffer_pool *pool;
  struct pool_buffer *taken;
  atomic_bool has_taken;
};

static void *
take(void *arg)
{
  struct waiter *waiter = arg;
  waiter->taken = buffer_pool_take(waiter->pool);
  atomic_store(&waiter->has_taken, true);
  return NULL;
}

static void
test_the_last_reference_gives_a_buffer_back(void)
{
  CLEANUP(buffer_pool_freep) struct buffer_pool *pool = buffer_pool_new(1, BYTES, 0);
  struct pool_buffer *buffer = buffer_pool_take(pool);
  char *data = buffer->data;
  (void)pool_buffer_ref(buffer);
  struct waiter waiter = {.pool = pool};
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, take, &waiter) == 0);
  pool_buffer_unref(buffer);
  (void)poll(NULL, 0, 50);
  CU_ASSERT(!atomic_load(&waiter.has_taken));
  pool_buffer_unref(buffer);
  (void)pthread_join(thread, NULL);
  CU_ASSERT(waiter.taken->data == data);
  pool_buffer_unref(waiter.taken);
  pool_buffer_unref(NULL);
}

UNIT_MAIN("populator/transfer/buffer_pool", UNIT_TEST(test_all_of_a_buffer_can_be_used),
          UNIT_TEST(test_the_last_reference_gives_a_buffer_back))
