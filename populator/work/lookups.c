/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup has a thread that waits for a place, then listens to the process. */
#include "populator/work/lookups.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "populator/work/worker_process.h"

#define LISTEN_MS 500
#define STACK_BYTES ((size_t)256 << 10)

struct lookup {
  TAILQ_ENTRY(lookup) link;
  struct lookups *all;
  char *key;
  char *host;
  const char *verb;
  struct json_object *job;
  pthread_t thread;
  /* of the mutex of all: */
  bool is_stopping;
  bool is_running; /* has a place */
  struct lookup_view view;
};

struct lookups {
  struct lookups_options options;
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* a place is free, or a lookup is to stop */
  TAILQ_HEAD(, lookup) list;
  bool is_stopping;
};

struct lookups *
lookups_new(const struct lookups_options *options)
{
  struct lookups *all = xcalloc(1, sizeof(*all));
  all->options = *options;
  (void)pthread_mutex_init(&all->mutex, NULL);
  condition_init(&all->changed);
  TAILQ_INIT(&all->list);
  return all;
}

void
lookup_view_clear(struct lookup_view *view)
{
  json_object_put(view->result);
  free(view->about);
  free(view->message);
  *view = (struct lookup_view){0};
}

/* ---- one of them ------------------------------------------------------------------------------
 */

static bool
has_place(const struct lookup *lookup)
{
  const struct lookups *all = lookup->all;
  size_t running = 0;
  size_t of_host = 0;
  const struct lookup *other;
  TAILQ_FOREACH(other, &all->list, link)
  {
    running += other->is_running;
    of_host += other->is_running && strcmp(other->host, lookup->host) == 0;
  }
  return running < all->options.max_running && of_host < all->options.max_of_host;
}

/* False when it is to stop. */
static bool
take_place(struct lookup *lookup)
{
  MUTEX_GUARD(&lookup->all->mutex);
  while (!lookup->is_stopping && !has_place(lookup))
    (void)pthread_cond_wait(&lookup->all->changed, &lookup->all->mutex);
  lookup->is_running = !lookup->is_stopping;
  return lookup->is_running;
}

static bool
is_stopping(struct lookup *lookup)
{
  MUTEX_GUARD(&lookup->all->mutex);
  return lookup->is_stopping;
}

static int
ask(struct lookup *lookup, struct json_object **ret_result, struct error **err)
{
  CLEANUP(worker_process_freep) struct worker_process *worker = NULL;
  CLEANUP(json_object_putp) struct json_object *result = NULL;
  int64_t deadline_ms = clock_now_ms() + lookup->all->options.timeout_ms;
  if (worker_process_start(lookup->all->options.worker, lookup->verb, lookup->job, -1, &worker,
                           err) < 0)
    return -1;
  for (bool is_over = false; !is_over;) {
    struct json_object *object = NULL;
    if (is_stopping(lookup))
      return error_set(err, ERROR_CANCELLED, "stopped");
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_DEADLINE_EXCEEDED, "%s does not answer in time", lookup->host);
    if (worker_process_next(worker, LISTEN_MS, &object, &is_over, err) < 0)
      return -1;
    if (!object)
      continue;
    json_object_put(result);
    result = object;
  }
  if (worker_process_result(worker, err) < 0)
    return -1;
  *ret_result = TAKE(result);
  return 0;
}

static void *
run(void *arg)
{
  struct lookup *lookup = arg;
  (void)pthread_setname_np(pthread_self(), "lookup");
  if (!take_place(lookup))
    return NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct json_object *result = NULL;
  int r = ask(lookup, &result, &failure);
  {
    MUTEX_GUARD(&lookup->all->mutex);
    lookup->is_running = false;
    lookup->view.state = r == 0 ? LOOKUP_DONE : LOOKUP_FAILED;
    lookup->view.result = result;
    if (r < 0) {
      lookup->view.code = failure->code;
      lookup->view.message = xstrdup(failure->message);
    }
    (void)pthread_cond_broadcast(&lookup->all->changed);
  }
  lookup->all->options.changed(lookup->all->options.context, lookup->key);
  return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static struct lookup *
find(struct lookups *all, const char *key)
{
  struct lookup *lookup;
  TAILQ_FOREACH(lookup, &all->list, link)
  {
    if (strcmp(lookup->key, key) == 0)
      return lookup;
  }
  return NULL;
}

static void
release(struct lookup *lookup)
{
  lookup_view_clear(&lookup->view);
  json_object_put(lookup->job);
  free(lookup->key);
  free(lookup->host);
  free(lookup);
}

static void
destroy(struct lookup *lookup)
{
  (void)pthread_join(lookup->thread, NULL);
  release(lookup);
}

void
lookups_start(struct lookups *all, const char *key, const char *about, const char *host,
              const char *verb, struct json_object *job)
{
  MUTEX_GUARD(&all->mutex);
  if (all->is_stopping || find(all, key)) {
    json_object_put(job);
    return;
  }
  struct lookup *lookup = xcalloc(1, sizeof(*lookup));
  *lookup = (struct lookup){.all = all,
                            .key = xstrdup(key),
                            .host = xstrdup(host),
                            .verb = verb,
                            .job = job,
                            .view = {.state = LOOKUP_RUNNING, .about = xstrdup(about)}};
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  bool is_made = pthread_create(&lookup->thread, &attr, run, lookup) == 0;
  (void)pthread_attr_destroy(&attr);
  if (is_made) {
    TAILQ_INSERT_TAIL(&all->list, lookup, link);
    return;
  }
  release(lookup); /* whoever wants it asks again */
}

/* Out of the list; NULL when it is not there, or not wanted. */
static struct lookup *
take_out(struct lookups *all, const char *key, bool is_wanted_running)
{
  MUTEX_GUARD(&all->mutex);
  struct lookup *lookup = find(all, key);
  if (!lookup || (!is_wanted_running && lookup->view.state == LOOKUP_RUNNING))
    return NULL;
  lookup->is_stopping = true;
  TAILQ_REMOVE(&all->list, lookup, link);
  (void)pthread_cond_broadcast(&all->changed);
  return lookup;
}

void
lookups_take(struct lookups *all, const char *key, struct lookup_view *ret_view)
{
  struct lookup *lookup = take_out(all, key, false);
  *ret_view = (struct lookup_view){0};
  if (lookup) {
    *ret_view = lookup->view;
    lookup->view = (struct lookup_view){0};
    destroy(lookup);
    return;
  }
  MUTEX_GUARD(&all->mutex);
  lookup = find(all, key);
  ret_view->state = lookup ? LOOKUP_RUNNING : LOOKUP_NONE;
  ret_view->about = lookup ? xstrdup(lookup->view.about) : NULL;
}

void
lookups_forget(struct lookups *all, const char *key)
{
  struct lookup *lookup = take_out(all, key, true);
  if (lookup)
    destroy(lookup);
}

void
lookups_stop(struct lookups *all)
{
  {
    MUTEX_GUARD(&all->mutex);
    all->is_stopping = true;
    struct lookup *lookup;
    TAILQ_FOREACH(lookup, &all->list, link)
    lookup->is_stopping = true;
    (void)pthread_cond_broadcast(&all->changed);
  }
  for (;;) {
    struct lookup *lookup;
    {
      MUTEX_GUARD(&all->mutex);
      lookup = TAILQ_FIRST(&all->list);
      if (!lookup)
        return;
      TAILQ_REMOVE(&all->list, lookup, link);
    }
    destroy(lookup);
  }
}

void
lookups_free(struct lookups *all)
{
  if (!all)
    return;
  lookups_stop(all);
  (void)pthread_mutex_destroy(&all->mutex);
  (void)pthread_cond_destroy(&all->changed);
  free(all);
}
