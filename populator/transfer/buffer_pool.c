/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/buffer_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

struct counted_buffer {
  struct pool_buffer public; /* first: a pointer to one is a pointer to the other */
  struct buffer_pool *pool;
  char *mapping;               /* what its memory is a part of; NULL: it has none yet */
  struct counted_buffer *next; /* while it is free */
  unsigned refs;
};

struct buffer_pool {
  size_t bytes;
  size_t huge_bytes;
  size_t count;
  pthread_mutex_t mutex; /* guards all below, and refs and next of each */
  pthread_cond_t change;
  struct counted_buffer *buffers;
  struct counted_buffer *free_list;
  size_t free_count;
};

/* A buffer begins where a huge page may. */
static size_t
mapping_bytes(const struct buffer_pool *pool)
{
  return pool->bytes + HUGE_PAGE_BYTES;
}

struct buffer_pool *
buffer_pool_new(size_t count, size_t bytes, size_t huge_bytes)
{
  struct buffer_pool *pool = xcalloc(1, sizeof(*pool));
  pool->bytes = bytes;
  pool->huge_bytes = huge_bytes;
  pool->count = pool->free_count = count;
  pool->buffers = xcalloc(count, sizeof(pool->buffers[0]));
  (void)pthread_mutex_init(&pool->mutex, NULL);
  condition_init(&pool->change);
  for (size_t i = 0; i < count; i++) {
    pool->buffers[i].pool = pool;
    pool->buffers[i].next = pool->free_list;
    pool->free_list = &pool->buffers[i];
  }
  return pool;
}

void
buffer_pool_free(struct buffer_pool *pool)
{
  if (!pool)
    return;
  assert(pool->free_count == pool->count);
  for (size_t i = 0; i < pool->count; i++) {
    if (pool->buffers[i].mapping)
      (void)munmap(pool->buffers[i].mapping, mapping_bytes(pool));
  }
  free(pool->buffers);
  (void)pthread_mutex_destroy(&pool->mutex);
  (void)pthread_cond_destroy(&pool->change);
  free(pool);
}

/* Memory is asked for when a buffer is first used, so that a small transfer stays small. */
static void
back_with_memory(struct counted_buffer *buffer)
{
  const struct buffer_pool *pool = buffer->pool;
  if (buffer->mapping)
    return;
  char *mapping =
      mmap(NULL, mapping_bytes(pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    abort();
  buffer->mapping = mapping;
  buffer->public.data = mapping + (HUGE_PAGE_BYTES - (uintptr_t)mapping % HUGE_PAGE_BYTES);
  if (pool->huge_bytes > 0)
    (void)madvise(buffer->public.data, pool->huge_bytes, MADV_HUGEPAGE);
}

struct pool_buffer *
buffer_pool_take(struct buffer_pool *pool)
{
  MUTEX_GUARD(&pool->mutex);
  while (!pool->free_list)
    (void)pthread_cond_wait(&pool->change, &pool->mutex);
  struct counted_buffer *buffer = pool->free_list;
  pool->free_list = buffer->next;
  pool->free_count--;
  buffer->refs = 1;
  back_with_memory(buffer);
  return &buffer->public;
}

struct pool_buffer *
pool_buffer_ref(struct pool_buffer *buffer)
{
  struct counted_buffer *counted = (struct counted_buffer *)buffer;
  MUTEX_GUARD(&counted->pool->mutex);
  counted->refs++;
  return buffer;
}

void
pool_buffer_unref(struct pool_buffer *buffer)
{
  if (!buffer)
    return;
  struct counted_buffer *counted = (struct counted_buffer *)buffer;
  struct buffer_pool *pool = counted->pool;
  MUTEX_GUARD(&pool->mutex);
  if (--counted->refs > 0)
    return;
  counted->next = pool->free_list;
  pool->free_list = counted;
  pool->free_count++;
  (void)pthread_cond_signal(&pool->change);
}
