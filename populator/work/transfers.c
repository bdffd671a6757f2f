/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer has a thread that waits for a place, takes the lease, and then listens to the process
 * and renews the lease in turns. */
#include "populator/work/transfers.h"

#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_lease.h"
#include "populator/work/places.h"
#include "populator/work/worker_process.h"

#define LEASE_S 15
#define LEASE_RENEW_MS 5000
/* How often another populator's lease is looked at. */
#define ELSEWHERE_MS 5000
/* A status is written at most that often. */
#define CHANGED_MS 2000
#define LISTEN_MS 500
#define STACK_BYTES ((size_t)256 << 10)

struct transfer {
  TAILQ_ENTRY(transfer) link;
  struct transfers *all;
  char *key;
  char *lease_name;
  const char *verb;
  char *about;
  char *host; /* that it talks to; "": none */
  struct json_object *job;
  pthread_t thread;
  bool has_thread;
  int64_t counted; /* bytes that were moved, as it told last */
  /* of the mutex of all: */
  struct place place;
  bool is_stopping;
  bool is_outdated;          /* it will not run: its job is to be made anew */
  struct transfer_view view; /* when more bytes were moved than before, its trouble is over */
};

struct transfers {
  struct transfers_options options;
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* a place is free, or a transfer is to stop */
  TAILQ_HEAD(, transfer) list;
  struct places places;
  bool is_stopping;
};

struct transfers *
transfers_new(const struct transfers_options *options)
{
  struct transfers *all = xcalloc(1, sizeof(*all));
  all->options = *options;
  (void)pthread_mutex_init(&all->mutex, NULL);
  condition_init(&all->changed);
  TAILQ_INIT(&all->list);
  places_init(&all->places, options->max_running);
  return all;
}

static void
tell(struct transfer *transfer)
{
  transfer->all->options.changed(transfer->all->options.context, transfer->key);
}

static void
set_state(struct transfer *transfer, enum transfer_state state)
{
  {
    MUTEX_GUARD(&transfer->all->mutex);
    if (transfer->view.state == state)
      return;
    transfer->view.state = state;
  }
  tell(transfer);
}

/* False when the transfer is to stop. */
static bool
pause_for(struct transfer *transfer, int64_t ms)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + ms);
  MUTEX_GUARD(&transfer->all->mutex);
  while (!transfer->is_stopping &&
         pthread_cond_timedwait(&transfer->all->changed, &transfer->all->mutex, &until) == 0)
    ;
  return !transfer->is_stopping;
}

/* ---- places -----------------------------------------------------------------------------------
 */

/* False when it is to wait. */
static bool
queue(struct transfer *transfer)
{
  struct transfers *all = transfer->all;
  MUTEX_GUARD(&all->mutex);
  places_queue(&all->places, &transfer->place);
  return places_is_due(&all->places, &transfer->place);
}

/* Of a job: that of its store, or of the first URL. To be freed. */
static char *
host_of(struct json_object *job)
{
  struct json_object *arguments = json_at(job, "arguments");
  const char *url = json_text(job, "s3-endpoint");
  for (size_t i = 0; !url && i < json_count(arguments); i++) {
    const char *argument = json_object_get_string(json_item(arguments, i));
    url = argument && strstr(argument, "://") ? argument : NULL;
  }
  const char *host = url ? strstr(url, "://") : NULL;
  return host ? xstrndup(host + 3, strcspn(host + 3, "/")) : xstrdup("");
}

static bool
take_place(struct transfer *transfer)
{
  struct transfers *all = transfer->all;
  if (!queue(transfer))
    tell(transfer); /* that it waits */
  MUTEX_GUARD(&all->mutex);
  while (!transfer->is_stopping && !places_is_due(&all->places, &transfer->place))
    (void)pthread_cond_wait(&all->changed, &all->mutex);
  if (transfer->is_stopping)
    places_leave(&all->places, &transfer->place);
  else
    places_take(&transfer->place);
  (void)pthread_cond_broadcast(&all->changed);
  return !transfer->is_stopping;
}

static void
leave_place(struct transfer *transfer)
{
  MUTEX_GUARD(&transfer->all->mutex);
  places_leave(&transfer->all->places, &transfer->place);
  (void)pthread_cond_broadcast(&transfer->all->changed);
}

static bool
is_wanted(struct transfer *transfer)
{
  return transfer->all->options.is_wanted(transfer->all->options.context, transfer->key,
                                          transfer->verb);
}

static bool
note(struct transfer *transfer)
{
  return transfer->all->options.note(transfer->all->options.context, transfer->key, transfer->verb);
}

static void
set_outdated(struct transfer *transfer)
{
  {
    MUTEX_GUARD(&transfer->all->mutex);
    transfer->is_outdated = true;
  }
  tell(transfer);
}

/* A place and the lease: false when the transfer is not to run. The job of one that waited for
 * another populator is old: passwords may have been changed since. */
static bool
win(struct transfer *transfer, struct kube_lease *lease)
{
  for (bool has_waited = false; take_place(transfer); has_waited = true) {
    CLEANUP(error_freep) struct error *failure = NULL;
    bool is_held = false;
    if (kube_lease_try(lease, &is_held, &failure) == 0 && is_held) {
      bool is_ours = is_wanted(transfer);
      if (is_ours && !has_waited && note(transfer))
        return true;
      (void)kube_lease_release(lease, NULL);
      if (is_ours && has_waited) {
        leave_place(transfer);
        set_outdated(transfer);
        return false;
      }
    }
    leave_place(transfer);
    if (failure)
      log_debug("%s: %s", transfer->key, failure->message);
    set_state(transfer, TRANSFER_ELSEWHERE);
    if (!pause_for(transfer, ELSEWHERE_MS))
      return false;
  }
  return false;
}

/* ---- one run ----------------------------------------------------------------------------------
 */

static bool
is_stopping(struct transfer *transfer)
{
  MUTEX_GUARD(&transfer->all->mutex);
  return transfer->is_stopping;
}

/* What came over the network or, when it went the other way, what was sent. */
static void
count_bytes(struct transfer *transfer, struct json_object *object)
{
  int64_t bytes = json_number(object, "fetched");
  if (bytes == 0)
    bytes = json_number(object, "written");
  if (bytes <= transfer->counted)
    return;
  series_add(transfer->all->options.counters, (uint64_t)(bytes - transfer->counted),
             "imprint_transfer_bytes_total{verb=\"%s\"}", transfer->verb);
  transfer->counted = bytes;
}

/* Of a source, or of where it goes. */
static void
take_trouble(struct transfer *transfer, struct json_object *object, bool is_retry)
{
  bool is_fetched = json_at(object, "fetched") != NULL || strcmp(transfer->verb, "export") != 0;
  int64_t moved = json_number(object, is_fetched ? "fetched" : "written");
  if (is_retry || moved > transfer->view.moved) {
    free(transfer->view.trouble);
    transfer->view.trouble =
        is_retry ? xasprintf("the %s is tried again: %s", is_fetched ? "source" : "destination",
                             json_text(object, "message"))
                 : NULL;
  }
  if (moved > transfer->view.moved)
    transfer->view.moved = moved;
}

static void
take_progress(struct transfer *transfer, struct json_object *object)
{
  count_bytes(transfer, object);
  struct json_object *percent = json_at(object, "percent");
  const char *event = json_text(object, "event");
  MUTEX_GUARD(&transfer->all->mutex);
  take_trouble(transfer, object, event && strcmp(event, "retry") == 0);
  if (percent && json_number(object, "total") > 0)
    transfer->view.percent = json_object_get_double(percent);
  if (!event || strcmp(event, "done") == 0) { /* what is asked for is told without one */
    json_object_put(transfer->view.result);
    transfer->view.result = json_object_get(object);
  }
}

static int
keep_lease(struct transfer *transfer, struct kube_lease *lease, int64_t *renew_at_ms,
           struct error **err)
{
  if (clock_now_ms() < *renew_at_ms)
    return 0;
  CLEANUP(error_freep) struct error *failure = NULL;
  bool is_held = false;
  (void)kube_lease_try(lease, &is_held, &failure);
  *renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  if (kube_lease_is_held(lease))
    return 0;
  return error_set(err, ERROR_UNAVAILABLE, "the lease of %s was lost: %s", transfer->key,
                   failure ? failure->message : "another populator has it");
}

/* Until the process is over. */
static int
listen_to(struct transfer *transfer, struct worker_process *worker, struct kube_lease *lease,
          struct error **err)
{
  int64_t renew_at_ms = clock_now_ms() + LEASE_RENEW_MS;
  int64_t tell_at_ms = 0;
  for (bool is_over = false; !is_over;) {
    CLEANUP(json_object_putp) struct json_object *object = NULL;
    if (is_stopping(transfer))
      return error_set(err, ERROR_CANCELLED, "stopped");
    if (keep_lease(transfer, lease, &renew_at_ms, err) < 0 ||
        worker_process_next(worker, LISTEN_MS, &object, &is_over, err) < 0)
      return -1;
    if (!object)
      continue;
    take_progress(transfer, object);
    if (clock_now_ms() >= tell_at_ms) {
      tell(transfer);
      tell_at_ms = clock_now_ms() + CHANGED_MS;
    }
  }
  return worker_process_result(worker, err);
}

static int
work(struct transfer *transfer, struct kube_lease *lease, struct error **err)
{
  CLEANUP(worker_process_freep) struct worker_process *worker = NULL;
  if (worker_process_start(transfer->all->options.worker, transfer->verb, transfer->job, -1,
                           &worker, err) < 0)
    return -1;
  set_state(transfer, TRANSFER_RUNNING);
  return listen_to(transfer, worker, lease, err);
}

static void
settle(struct transfer *transfer, int result, const struct error *failure)
{
  if (result == 0 || failure->code != ERROR_CANCELLED)
    series_add(transfer->all->options.counters, 1,
               "imprint_transfers_total{verb=\"%s\",result=\"%s\"}", transfer->verb,
               result == 0 ? "ok" : "error");
  {
    MUTEX_GUARD(&transfer->all->mutex);
    transfer->view.state = result == 0 ? TRANSFER_DONE : TRANSFER_FAILED;
    if (result < 0) {
      transfer->view.code = failure->code;
      transfer->view.message = xstrdup(failure->message);
    }
  }
  tell(transfer);
}

static void *
run(void *arg)
{
  struct transfer *transfer = arg;
  const struct transfers_options *options = &transfer->all->options;
  (void)pthread_setname_np(pthread_self(), "transfer");
  CLEANUP(kube_lease_freep)
  struct kube_lease *lease = kube_lease_new(options->client, options->ns, transfer->lease_name,
                                            options->identity, LEASE_S);
  if (!win(transfer, lease))
    return NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  int r = work(transfer, lease, &failure);
  leave_place(transfer);
  if (r < 0 && failure->code != ERROR_CANCELLED && !kube_lease_is_held(lease)) {
    log_debug("%s", failure->message);
    set_outdated(transfer); /* that says nothing of the job: whoever gets the lease goes on */
    return NULL;
  }
  settle(transfer, r, failure);
  /* Nobody else may begin before the outcome is on record. */
  bool is_held = true;
  while (is_held && pause_for(transfer, LEASE_RENEW_MS))
    (void)kube_lease_try(lease, &is_held, NULL);
  (void)kube_lease_release(lease, NULL);
  return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static struct transfer *
find(struct transfers *all, const char *key)
{
  struct transfer *transfer;
  TAILQ_FOREACH(transfer, &all->list, link)
  {
    if (strcmp(transfer->key, key) == 0)
      return transfer;
  }
  return NULL;
}

void
transfer_view_clear(struct transfer_view *view)
{
  json_object_put(view->result);
  free(view->message);
  free(view->trouble);
  *view = (struct transfer_view){0};
}

bool
transfer_view_is_begun(const struct transfer_view *view)
{
  return view->state == TRANSFER_RUNNING || view->state == TRANSFER_DONE ||
         view->state == TRANSFER_FAILED;
}

static void
destroy(struct transfer *transfer)
{
  if (transfer->has_thread)
    (void)pthread_join(transfer->thread, NULL);
  transfer_view_clear(&transfer->view);
  json_object_put(transfer->job);
  free(transfer->key);
  free(transfer->lease_name);
  free(transfer->about);
  free(transfer->host);
  free(transfer);
}

void
transfers_start(struct transfers *all, const struct transfer_order *order, struct json_object *job)
{
  MUTEX_GUARD(&all->mutex);
  if (all->is_stopping || find(all, order->key)) {
    json_object_put(job);
    return;
  }
  struct transfer *transfer = xcalloc(1, sizeof(*transfer));
  transfer->all = all;
  transfer->key = xstrdup(order->key);
  transfer->lease_name = xstrdup(order->lease);
  transfer->verb = order->verb;
  transfer->about = xstrdup(order->about);
  transfer->job = job;
  transfer->host = host_of(job);
  transfer->place.host = transfer->host;
  transfer->view.verb = order->verb;
  transfer->view.state = TRANSFER_WAITING;
  transfer->view.percent = -1;
  TAILQ_INSERT_TAIL(&all->list, transfer, link);
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  transfer->has_thread = pthread_create(&transfer->thread, &attr, run, transfer) == 0;
  (void)pthread_attr_destroy(&attr);
  if (!transfer->has_thread) {
    transfer->view.state = TRANSFER_FAILED;
    transfer->view.code = ERROR_UNAVAILABLE;
    transfer->view.message = xstrdup("no thread can be made for it");
  }
}

/* With the mutex held; to be destroyed without it. */
static struct transfer *
take_out(struct transfer *transfer)
{
  transfer->is_stopping = true;
  TAILQ_REMOVE(&transfer->all->list, transfer, link);
  (void)pthread_cond_broadcast(&transfer->all->changed);
  return transfer;
}

static void
copy_view(const struct transfer *transfer, struct transfer_view *ret_view)
{
  *ret_view = transfer->view;
  ret_view->message = xstrdup(transfer->view.message);
  ret_view->trouble = xstrdup(transfer->view.trouble);
  ret_view->result = json_copy(transfer->view.result);
}

void
transfers_look(struct transfers *all, const char *key, const char *about,
               struct transfer_view *ret_view)
{
  struct transfer *other;
  *ret_view = (struct transfer_view){0};
  {
    MUTEX_GUARD(&all->mutex);
    struct transfer *transfer = find(all, key);
    if (!transfer)
      return;
    if (!transfer->is_outdated && (!about || strcmp(transfer->about, about) == 0)) {
      copy_view(transfer, ret_view);
      return;
    }
    other = take_out(transfer);
  }
  destroy(other);
}

void
transfers_forget(struct transfers *all, const char *key)
{
  struct transfer *transfer;
  {
    MUTEX_GUARD(&all->mutex);
    transfer = find(all, key);
    if (!transfer)
      return;
    (void)take_out(transfer);
  }
  destroy(transfer);
}

void
transfers_count(struct transfers *all, struct series *gauges)
{
  static const char *const names[] = {[TRANSFER_WAITING] = "waiting",
                                      [TRANSFER_ELSEWHERE] = "elsewhere",
                                      [TRANSFER_RUNNING] = "running"};
  size_t counts[TRANSFER_FAILED + 1] = {0};
  {
    MUTEX_GUARD(&all->mutex);
    struct transfer *transfer;
    TAILQ_FOREACH(transfer, &all->list, link)
    counts[transfer->view.state]++;
  }
  for (size_t i = TRANSFER_WAITING; i <= TRANSFER_RUNNING; i++)
    series_add(gauges, counts[i], "imprint_transfers{state=\"%s\"}", names[i]);
}

/* Others may be taking some out as well: what is worked on is stopped later. */
static struct transfer *
take_first(struct transfers *all)
{
  MUTEX_GUARD(&all->mutex);
  struct transfer *transfer = TAILQ_FIRST(&all->list);
  return transfer ? take_out(transfer) : NULL;
}

void
transfers_stop(struct transfers *all)
{
  {
    MUTEX_GUARD(&all->mutex);
    all->is_stopping = true;
    struct transfer *transfer;
    TAILQ_FOREACH(transfer, &all->list, link)
    transfer->is_stopping = true;
    (void)pthread_cond_broadcast(&all->changed);
  }
  struct transfer *transfer;
  while ((transfer = take_first(all)))
    destroy(transfer);
}

void
transfers_free(struct transfers *all)
{
  if (!all)
    return;
  transfers_stop(all);
  (void)pthread_mutex_destroy(&all->mutex);
  (void)pthread_cond_destroy(&all->changed);
  free(all);
}
