/* SPDX-License-Identifier: Apache-2.0 */
/* All keys that are of interest are in one tree by name; those that wait are in a list sorted by
 * the time they are due as well. A key is forgotten when it neither waits nor is worked on nor has
 * failed. */
#include "lib/base/work_queue.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS 300000

struct item {
  TAILQ_ENTRY(item) due_link;
  int64_t due_ms;
  int64_t again_ms; /* added while it was worked on: due then; CLOCK_NEVER_MS: it was not */
  unsigned failures;
  bool is_waiting;
  bool is_running;
  char key[];
};

struct work_queue {
  struct work_queue_options options;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  void *items; /* of tsearch(3) */
  TAILQ_HEAD(due_list, item) due;
  size_t waiting;
  bool is_stopping;
  pthread_t *threads;
  size_t started;
};

static int
compare(const void *a, const void *b)
{
  return strcmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

static struct item *
make_item(const char *key)
{
  size_t len = strlen(key);
  struct item *item = xcalloc(1, sizeof(*item) + len + 1);
  memcpy(item->key, key, len + 1);
  item->again_ms = CLOCK_NEVER_MS;
  return item;
}

/* The item of a key, made when there is none. */
static struct item *
item_of(struct work_queue *queue, const char *key)
{
  struct item *fresh = make_item(key);
  struct item **found = tsearch(fresh, &queue->items, compare);
  if (!found)
    abort(); /* out of memory */
  if (*found != fresh)
    free(fresh);
  return *found;
}

static struct item *
find_item(struct work_queue *queue, const char *key)
{
  struct item *wanted = make_item(key);
  struct item **found = tfind(wanted, &queue->items, compare);
  free(wanted);
  return found ? *found : NULL;
}

static void
forget(struct work_queue *queue, struct item *item)
{
  (void)tdelete(item, &queue->items, compare);
  free(item);
}

/* From the end: what is added late is mostly due late. */
static void
put_in_line(struct work_queue *queue, struct item *item, int64_t due_ms)
{
  item->due_ms = due_ms;
  item->is_waiting = true;
  queue->waiting++;
  struct item *before = TAILQ_LAST(&queue->due, due_list);
  while (before && before->due_ms > due_ms)
    before = TAILQ_PREV(before, due_list, due_link);
  if (before)
    TAILQ_INSERT_AFTER(&queue->due, before, item, due_link);
  else
    TAILQ_INSERT_HEAD(&queue->due, item, due_link);
  (void)pthread_cond_signal(&queue->changed);
}

static void
take_out_of_line(struct work_queue *queue, struct item *item)
{
  TAILQ_REMOVE(&queue->due, item, due_link);
  item->is_waiting = false;
  queue->waiting--;
}

static void
add_at(struct work_queue *queue, const char *key, int64_t due_ms)
{
  MUTEX_GUARD(&queue->mutex);
  if (queue->is_stopping)
    return;
  struct item *item = item_of(queue, key);
  if (item->is_running) {
    if (due_ms < item->again_ms)
      item->again_ms = due_ms;
    return;
  }
  if (item->is_waiting && item->due_ms <= due_ms)
    return;
  if (item->is_waiting)
    take_out_of_line(queue, item);
  put_in_line(queue, item, due_ms);
}

void
work_queue_add(struct work_queue *queue, const char *key)
{
  add_at(queue, key, clock_now_ms());
}

void
work_queue_add_after(struct work_queue *queue, const char *key, int64_t delay_ms)
{
  add_at(queue, key, clock_now_ms() + delay_ms);
}

size_t
work_queue_waiting(struct work_queue *queue)
{
  MUTEX_GUARD(&queue->mutex);
  int64_t now_ms = clock_now_ms();
  size_t count = 0;
  struct item *item;
  TAILQ_FOREACH(item, &queue->due, due_link)
  {
    if (item->due_ms > now_ms)
      break;
    count++;
  }
  return count;
}

unsigned
work_queue_failures(struct work_queue *queue, const char *key)
{
  MUTEX_GUARD(&queue->mutex);
  struct item *item = find_item(queue, key);
  return item ? item->failures : 0;
}

/* ---- the threads ------------------------------------------------------------------------------
 */

static int64_t
retry_ms(const struct work_queue *queue, unsigned failures)
{
  int64_t first_ms = queue->options.retry_first_ms ? queue->options.retry_first_ms : RETRY_FIRST_MS;
  int64_t max_ms = queue->options.retry_max_ms ? queue->options.retry_max_ms : RETRY_MAX_MS;
  int64_t ms = first_ms << (failures < 20 ? failures - 1 : 19);
  return ms < max_ms ? ms : max_ms;
}

/* The next key that is due, off the line; NULL when the queue stops. */
static struct item *
next_item(struct work_queue *queue)
{
  while (!queue->is_stopping) {
    struct item *item = TAILQ_FIRST(&queue->due);
    if (item && item->due_ms <= clock_now_ms()) {
      take_out_of_line(queue, item);
      item->is_running = true;
      return item;
    }
    if (item) {
      struct timespec until = clock_timespec_of_ms(item->due_ms);
      (void)pthread_cond_timedwait(&queue->changed, &queue->mutex, &until);
    } else {
      (void)pthread_cond_wait(&queue->changed, &queue->mutex);
    }
  }
  return NULL;
}

/* Puts the key back in line, or forgets it. */
static void
settle(struct work_queue *queue, struct item *item, int64_t result)
{
  int64_t due_ms = item->again_ms;
  int64_t own_ms = CLOCK_NEVER_MS;
  item->is_running = false;
  item->again_ms = CLOCK_NEVER_MS;
  item->failures = result == WORK_FAILED ? item->failures + 1 : 0;
  if (result == WORK_FAILED)
    own_ms = clock_now_ms() + retry_ms(queue, item->failures);
  else if (result >= 0)
    own_ms = clock_now_ms() + result;
  if (own_ms < due_ms)
    due_ms = own_ms;
  if (due_ms != CLOCK_NEVER_MS)
    put_in_line(queue, item, due_ms);
  else
    forget(queue, item);
}

static void *
run(void *arg)
{
  struct work_queue *queue = arg;
  (void)pthread_setname_np(pthread_self(), queue->options.name);
  MUTEX_GUARD(&queue->mutex);
  struct item *item;
  while ((item = next_item(queue))) {
    (void)pthread_mutex_unlock(&queue->mutex);
    int64_t result = queue->options.work(queue->options.context, item->key);
    (void)pthread_mutex_lock(&queue->mutex);
    settle(queue, item, result);
  }
  return NULL;
}

struct work_queue *
work_queue_new(const struct work_queue_options *options)
{
  struct work_queue *queue = xcalloc(1, sizeof(*queue));
  queue->options = *options;
  TAILQ_INIT(&queue->due);
  (void)pthread_mutex_init(&queue->mutex, NULL);
  condition_init(&queue->changed);
  queue->threads = xcalloc(options->threads, sizeof(queue->threads[0]));
  return queue;
}

void
work_queue_start(struct work_queue *queue)
{
  for (; queue->started < queue->options.threads; queue->started++) {
    if (pthread_create(&queue->threads[queue->started], NULL, run, queue) != 0)
      abort(); /* no program runs without its threads */
  }
}

void
work_queue_stop(struct work_queue *queue)
{
  {
    MUTEX_GUARD(&queue->mutex);
    queue->is_stopping = true;
    (void)pthread_cond_broadcast(&queue->changed);
  }
  for (size_t i = 0; i < queue->started; i++)
    (void)pthread_join(queue->threads[i], NULL);
}

void
work_queue_free(struct work_queue *queue)
{
  if (!queue)
    return;
  tdestroy(queue->items, free);
  free(queue->threads);
  (void)pthread_mutex_destroy(&queue->mutex);
  (void)pthread_cond_destroy(&queue->changed);
  free(queue);
}
