/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/block_cache.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

enum block_state { BLOCK_EMPTY, BLOCK_LOADING, BLOCK_READY };

struct block {
  enum block_state state;
  uint64_t number; /* which of the source's */
  unsigned users;  /* that copy from it just now: it stays */
  uint64_t used;   /* by the cache's count: the one with the least goes first */
  char *data;
};

struct block_cache {
  struct source *source;
  size_t block_count;
  pthread_mutex_t mutex; /* guards all below, but for the data of blocks in use */
  pthread_cond_t change; /* a block became ready, empty or free */
  uint64_t uses;
  struct block *blocks;
};

struct block_cache *
block_cache_new(struct source *source, size_t blocks)
{
  struct block_cache *cache = xcalloc(1, sizeof(*cache));
  cache->source = source;
  cache->block_count = blocks;
  cache->blocks = xcalloc(blocks, sizeof(cache->blocks[0]));
  (void)pthread_mutex_init(&cache->mutex, NULL);
  condition_init(&cache->change);
  return cache;
}

void
block_cache_free(struct block_cache *cache)
{
  if (!cache)
    return;
  for (size_t i = 0; i < cache->block_count; i++)
    free(cache->blocks[i].data);
  free(cache->blocks);
  (void)pthread_mutex_destroy(&cache->mutex);
  (void)pthread_cond_destroy(&cache->change);
  free(cache);
}

static struct block *
find(struct block_cache *cache, uint64_t number)
{
  for (size_t i = 0; i < cache->block_count; i++) {
    struct block *block = &cache->blocks[i];
    if (block->state != BLOCK_EMPTY && block->number == number)
      return block;
  }
  return NULL;
}

/* One that nobody uses, empty or the longest unused; NULL when there is none just now. */
static struct block *
find_room(struct block_cache *cache)
{
  struct block *oldest = NULL;
  for (size_t i = 0; i < cache->block_count; i++) {
    struct block *block = &cache->blocks[i];
    if (block->state == BLOCK_EMPTY)
      return block;
    if (block->state == BLOCK_READY && block->users == 0 && (!oldest || block->used < oldest->used))
      oldest = block;
  }
  return oldest;
}

/* The block for one that uses it: ready, or to be loaded by him. */
static struct block *
take(struct block_cache *cache, uint64_t number, bool *ret_is_ready)
{
  MUTEX_GUARD(&cache->mutex);
  for (;;) {
    struct block *block = find(cache, number);
    if (block && block->state == BLOCK_READY) {
      block->users++;
      block->used = ++cache->uses;
      *ret_is_ready = true;
      return block;
    }
    struct block *room = block ? NULL : find_room(cache);
    if (room) {
      if (!room->data)
        room->data = xcalloc(1, BLOCK_CACHE_BLOCK_BYTES);
      room->state = BLOCK_LOADING;
      room->number = number;
      room->users = 1;
      room->used = ++cache->uses;
      *ret_is_ready = false;
      return room;
    }
    (void)pthread_cond_wait(&cache->change, &cache->mutex);
  }
}

static void
settle(struct block_cache *cache, struct block *block, enum block_state state, unsigned released)
{
  MUTEX_GUARD(&cache->mutex);
  block->state = state;
  block->users -= released;
  (void)pthread_cond_broadcast(&cache->change);
}

/* Fills a block that take() gave to be loaded. */
static int
load(struct block_cache *cache, struct block *block, struct error **err)
{
  uint64_t offset = block->number * BLOCK_CACHE_BLOCK_BYTES;
  uint64_t left = cache->source->size - offset;
  size_t len = left < BLOCK_CACHE_BLOCK_BYTES ? (size_t)left : BLOCK_CACHE_BLOCK_BYTES;
  struct source *source = cache->source;
  if (source->ops->read_at(source, block->data, len, offset, err) < 0) {
    settle(cache, block, BLOCK_EMPTY, 1);
    return -1;
  }
  settle(cache, block, BLOCK_READY, 0);
  return 0;
}

int
block_cache_read(struct block_cache *cache, void *buf, size_t len, uint64_t offset,
                 struct error **err)
{
  for (size_t at = 0; at < len;) {
    uint64_t number = (offset + at) / BLOCK_CACHE_BLOCK_BYTES;
    size_t within = (size_t)((offset + at) % BLOCK_CACHE_BLOCK_BYTES);
    size_t part = BLOCK_CACHE_BLOCK_BYTES - within;
    if (part > len - at)
      part = len - at;
    bool is_ready;
    struct block *block = take(cache, number, &is_ready);
    if (!is_ready && load(cache, block, err) < 0)
      return -1;
    memcpy((char *)buf + at, block->data + within, part);
    settle(cache, block, BLOCK_READY, 1);
    at += part;
  }
  return 0;
}
