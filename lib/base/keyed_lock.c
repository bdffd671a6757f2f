/* SPDX-License-Identifier: Apache-2.0 */
/* The keys in use stand in a small hash table of lists. An entry lives as long as someone holds it:
 * the number of entries is bounded by the number of calls in flight. */
#include "lib/base/keyed_lock.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define BUCKETS 256

struct keyed_lock {
  struct keyed_lock *next;
  struct keyed_locks *owner;
  enum keyed_lock_mode mode;
  unsigned holders;
  struct keyed_lock_holder holder; /* the first who took it */
  char key[];
};

struct keyed_locks {
  pthread_mutex_t mutex; /* guards the lists and the holders */
  struct keyed_lock *buckets[BUCKETS];
};

static uint32_t
bucket_of(const char *key)
{
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (; *key; key++)
    hash = (hash ^ (unsigned char)*key) * 16777619u;
  return hash % BUCKETS;
}

struct keyed_locks *
keyed_locks_new(void)
{
  struct keyed_locks *locks = xcalloc(1, sizeof(*locks));
  (void)pthread_mutex_init(&locks->mutex, NULL);
  return locks;
}

void
keyed_locks_free(struct keyed_locks *locks)
{
  if (!locks)
    return;
  for (int i = 0; i < BUCKETS; i++)
    assert(!locks->buckets[i]);
  (void)pthread_mutex_destroy(&locks->mutex);
  free(locks);
}

struct keyed_lock *
keyed_lock_try(struct keyed_locks *locks, const char *key, enum keyed_lock_mode mode,
               const char *purpose, struct keyed_lock_holder *ret_holder)
{
  MUTEX_GUARD(&locks->mutex);
  struct keyed_lock **bucket = &locks->buckets[bucket_of(key)];
  for (struct keyed_lock *lock = *bucket; lock; lock = lock->next) {
    if (strcmp(lock->key, key) != 0)
      continue;
    if (mode == KEYED_LOCK_SHARED && lock->mode == KEYED_LOCK_SHARED) {
      lock->holders++;
      return lock;
    }
    if (ret_holder)
      *ret_holder = lock->holder;
    return NULL;
  }
  size_t key_len = strlen(key);
  struct keyed_lock *lock = xcalloc(1, sizeof(*lock) + key_len + 1);
  lock->owner = locks;
  lock->mode = mode;
  lock->holders = 1;
  lock->holder = (struct keyed_lock_holder){.purpose = purpose, .percent = -1};
  memcpy(lock->key, key, key_len + 1);
  lock->next = *bucket;
  *bucket = lock;
  return lock;
}

void
keyed_lock_report(struct keyed_lock *lock, int percent)
{
  MUTEX_GUARD(&lock->owner->mutex);
  lock->holder.percent = percent;
}

void
keyed_lock_release(struct keyed_lock *lock)
{
  if (!lock)
    return;
  struct keyed_locks *locks = lock->owner;
  MUTEX_GUARD(&locks->mutex);
  if (--lock->holders > 0)
    return;
  struct keyed_lock **at = &locks->buckets[bucket_of(lock->key)];
  while (*at != lock)
    at = &(*at)->next;
  *at = lock->next;
  free(lock);
}
