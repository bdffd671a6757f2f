/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_client.h"

#include <pthread.h>
#include <sys/random.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/http/http_client.h"
#include "lib/http/http_retry.h"
#include "populator/source/disk_connection.h"

#define CONNECTIONS_MAX 16

struct disk_client {
  struct disk_client_options options;
  struct disk_connection_options connecting;
  uint64_t size;
  bool has_status;
  atomic_bool is_cancelled;

  pthread_mutex_t mutex;                         /* guards all below */
  pthread_cond_t change;                         /* a connection came back, or all is over */
  struct disk_connection *idle[CONNECTIONS_MAX]; /* the last one is taken first */
  unsigned idle_count;
  unsigned count; /* idle, in use, or being made */
  unsigned most;
  struct disk_status status; /* what was last learnt of holes */
};

/* ---- connections -------------------------------------------------------------------------------
 */

/* Makes one, for which there is room already. */
static int
connect_anew(struct disk_client *client, struct disk_connection **ret_connection,
             struct disk_failure *failure, struct error **err)
{
  CLEANUP(disk_connection_closep) struct disk_connection *connection = NULL;
  if (disk_connection_open(&client->connecting, &connection, failure, err) < 0)
    return -1;
  if (disk_connection_size(connection) != client->size) {
    *failure = (struct disk_failure){.is_broken = true};
    return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' changed its size while it was read",
                     client->options.uri->label);
  }
  *ret_connection = TAKE(connection);
  return 0;
}

/* An idle connection, or room for a new one: then NULL. */
static struct disk_connection *
take_idle(struct disk_client *client)
{
  MUTEX_GUARD(&client->mutex);
  while (client->idle_count == 0 && client->count >= client->most)
    (void)pthread_cond_wait(&client->change, &client->mutex);
  if (client->idle_count > 0)
    return client->idle[--client->idle_count];
  client->count++;
  return NULL;
}

/* One that could not be made. While others are there, theirs is all that there is to be had. */
static bool
leave_to_others(struct disk_client *client)
{
  MUTEX_GUARD(&client->mutex);
  client->count--;
  bool has_others = client->count > 0;
  if (has_others)
    client->most = client->count;
  (void)pthread_cond_broadcast(&client->change);
  return has_others;
}

static int
take(struct disk_client *client, struct disk_connection **ret_connection,
     struct disk_failure *failure, struct error **err)
{
  for (;;) {
    struct disk_connection *connection = take_idle(client);
    if (connection) {
      *ret_connection = connection;
      return 0;
    }
    struct error *reason = NULL;
    if (connect_anew(client, ret_connection, failure, &reason) == 0)
      return 0;
    if (!leave_to_others(client)) {
      if (err)
        *err = TAKE(reason);
      error_free(reason);
      return -1;
    }
    log_debug("'%s': no further connection: %s", client->options.uri->label, reason->message);
    error_free(reason);
  }
}

static void
give_back(struct disk_client *client, struct disk_connection *connection, bool is_broken)
{
  if (is_broken)
    disk_connection_close(connection);
  MUTEX_GUARD(&client->mutex);
  if (is_broken)
    client->count--;
  else
    client->idle[client->idle_count++] = connection;
  (void)pthread_cond_broadcast(&client->change);
}

/* ---- attempts ----------------------------------------------------------------------------------
 */

/* What is done with a connection; repeated as a whole when it fails. */
struct task {
  int (*run)(struct disk_connection *connection, struct task *task, struct disk_failure *failure,
             struct error **err);
  void *buf;
  size_t len;
  uint64_t offset;
  struct disk_status *status;
};

static int
attempt(struct disk_client *client, struct task *task, struct disk_failure *failure,
        struct error **err)
{
  struct disk_connection *connection = NULL;
  if (take(client, &connection, failure, err) < 0)
    return -1;
  int r = task->run(connection, task, failure, err);
  give_back(client, connection, r < 0 && failure->is_broken);
  return r;
}

/* False when it was cancelled meanwhile. */
static bool
pause_for(struct disk_client *client, unsigned failures)
{
  uint32_t random;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
    random = 0; /* jitter is a courtesy */
  int64_t until_ms =
      clock_now_ms() + http_retry_pause_ms(client->options.retry_first_ms, failures, random);
  struct timespec until = clock_timespec_of_ms(until_ms);
  MUTEX_GUARD(&client->mutex);
  while (!atomic_load(&client->is_cancelled) && clock_now_ms() < until_ms)
    (void)pthread_cond_timedwait(&client->change, &client->mutex, &until);
  return !atomic_load(&client->is_cancelled);
}

static int
run(struct disk_client *client, struct task *task, struct error **err)
{
  for (unsigned failures = 1;; failures++) {
    struct disk_failure failure = {0};
    struct error *reason = NULL;
    if (atomic_load(&client->is_cancelled))
      return error_set(err, ERROR_CANCELLED, "'%s': stopped", client->options.uri->label);
    if (attempt(client, task, &failure, &reason) == 0)
      return 0;
    if (!failure.is_transient || client->options.never_reconnects ||
        failures > client->options.retries || !pause_for(client, failures)) {
      if (failures > 1)
        error_add_place(&reason, "given up after %u attempts", failures);
      if (err)
        *err = TAKE(reason);
      error_free(reason);
      return -1;
    }
    log_debug("attempt %u failed, once more: %s", failures, reason->message);
    error_free(reason);
  }
}

/* ---- what callers see --------------------------------------------------------------------------
 */

static void
fill_defaults(struct disk_client_options *options)
{
  if (options->connections == 0)
    options->connections = 4;
  if (options->connections > CONNECTIONS_MAX)
    options->connections = CONNECTIONS_MAX;
  options->retries = http_retries_of(options->retries);
  if (options->retry_first_ms == 0)
    options->retry_first_ms = 200;
  if (options->stall_s == 0)
    options->stall_s = 30;
}

/* The first connection tells what the others must be like. */
static int
open_first(struct disk_client *client, struct error **err)
{
  struct disk_connection *first = NULL;
  struct disk_failure failure = {0};
  for (unsigned failures = 1;; failures++) {
    struct error *reason = NULL;
    if (disk_connection_open(&client->connecting, &first, &failure, &reason) == 0)
      break;
    if (!failure.is_transient || client->options.never_reconnects ||
        failures > client->options.retries || !pause_for(client, failures)) {
      if (err)
        *err = TAKE(reason);
      error_free(reason);
      return -1;
    }
    error_free(reason);
  }
  client->size = disk_connection_size(first);
  client->has_status = disk_connection_has_status(first);
  client->most = disk_connection_is_sharable(first) ? client->options.connections : 1;
  client->idle[client->idle_count++] = first;
  client->count = 1;
  return 0;
}

int
disk_client_open(const struct disk_client_options *options, struct disk_client **ret_client,
                 struct error **err)
{
  CLEANUP(disk_client_closep) struct disk_client *client = xcalloc(1, sizeof(*client));
  client->options = *options;
  fill_defaults(&client->options);
  client->connecting = (struct disk_connection_options){
      .uri = client->options.uri,
      .ca_bundle = client->options.ca_bundle,
      .allow_local_addresses = client->options.allow_local_addresses,
      .stall_ms = (int64_t)client->options.stall_s * 1000,
      .is_cancelled = &client->is_cancelled,
      .take_socket = client->options.take_socket,
      .take_context = client->options.take_context,
  };
  (void)pthread_mutex_init(&client->mutex, NULL);
  condition_init(&client->change);
  if (open_first(client, err) < 0)
    return -1;
  *ret_client = TAKE(client);
  return 0;
}

void
disk_client_close(struct disk_client *client)
{
  if (!client)
    return;
  for (unsigned i = 0; i < client->idle_count; i++)
    disk_connection_close(client->idle[i]);
  disk_status_clear(&client->status);
  (void)pthread_mutex_destroy(&client->mutex);
  (void)pthread_cond_destroy(&client->change);
  free(client);
}

uint64_t
disk_client_size(const struct disk_client *client)
{
  return client->size;
}

static int
run_read(struct disk_connection *connection, struct task *task, struct disk_failure *failure,
         struct error **err)
{
  return disk_connection_read(connection, task->buf, task->len, task->offset, failure, err);
}

int
disk_client_read(struct disk_client *client, void *buf, size_t len, uint64_t offset,
                 struct error **err)
{
  struct task task = {.run = run_read, .buf = buf, .len = len, .offset = offset};
  return run(client, &task, err);
}

static int
run_status(struct disk_connection *connection, struct task *task, struct disk_failure *failure,
           struct error **err)
{
  return disk_connection_status(connection, task->offset, task->status, failure, err);
}

/* Looks into what is known. True when offset is in it: then it is either data, or *ret_start is
 * where to go on. */
static bool
find_known(struct disk_client *client, uint64_t offset, bool *ret_has_data, uint64_t *ret_start,
           uint64_t *ret_end)
{
  MUTEX_GUARD(&client->mutex);
  if (!disk_status_covers(&client->status, offset))
    return false;
  *ret_has_data = disk_status_find(&client->status, offset, ret_start, ret_end);
  return true;
}

static int
learn_status(struct disk_client *client, uint64_t offset, struct error **err)
{
  struct disk_status status = {0};
  struct task task = {.run = run_status, .offset = offset, .status = &status};
  int r = run(client, &task, err);
  if (r == 0) {
    MUTEX_GUARD(&client->mutex);
    struct disk_status old = client->status;
    client->status = status;
    status = old;
  }
  disk_status_clear(&status);
  return r;
}

int
disk_client_data_range(struct disk_client *client, uint64_t offset, uint64_t *ret_start,
                       uint64_t *ret_end, struct error **err)
{
  uint64_t at = offset;
  while (client->has_status && at < client->size) {
    bool has_data = false;
    uint64_t start = 0, end = 0;
    if (find_known(client, at, &has_data, &start, &end)) {
      if (has_data) {
        *ret_start = start;
        *ret_end = end;
        return 0;
      }
      at = start;
    } else if (learn_status(client, at, err) < 0) {
      return -1;
    }
  }
  *ret_start = client->has_status ? client->size : offset;
  *ret_end = client->size;
  return 0;
}

void
disk_client_cancel(struct disk_client *client)
{
  atomic_store(&client->is_cancelled, true);
  MUTEX_GUARD(&client->mutex);
  (void)pthread_cond_broadcast(&client->change);
}
