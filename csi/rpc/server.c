/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/server.h"

#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "csi/rpc/call.h"
#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* A request of CSI holds a few KiB; its maps are limited to 4 KiB each. */
#define MESSAGE_MAX_BYTES (1 << 20)
/* Calls that gRPC may announce before we asked for the next: hides the time between. */
#define CALLS_AHEAD 32
/* What answers need to leave by, and threads to end, when the server stops. */
#define LEAVE_MS 500

struct rpc_server {
  const struct rpc_service *services;
  size_t service_count;
  int64_t default_timeout_ms;
  struct worker_pool *pool;
  grpc_completion_queue *queue;
  grpc_server *grpc;
  pthread_t thread;
  struct completion shut_down; /* gRPC has let go of every call */

  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  struct rpc_call *calls; /* announced and not freed */
  size_t call_count;
  int64_t last_call_ms;   /* when the last one was over */
  int64_t next_answer_ms; /* no call needs an answer in its handler's place before this */
  bool is_stopping;
  bool is_shut_down;
  uint64_t last_id;
};

static void
link_call(struct rpc_server *server, struct rpc_call *call)
{
  MUTEX_GUARD(&server->mutex);
  (void)snprintf(call->id, sizeof(call->id), "%" PRIu64, ++server->last_id);
  call->next = server->calls;
  if (server->calls)
    server->calls->previous = call;
  server->calls = call;
  server->call_count++;
  if (call->answer_by_ms < server->next_answer_ms)
    server->next_answer_ms = call->answer_by_ms;
}

static void
unlink_call(struct rpc_call *call)
{
  struct rpc_server *server = call->server;
  MUTEX_GUARD(&server->mutex);
  if (call->previous)
    call->previous->next = call->next;
  else
    server->calls = call->next;
  if (call->next)
    call->next->previous = call->previous;
  server->call_count--;
  server->last_call_ms = clock_now_ms();
  (void)pthread_cond_broadcast(&server->change);
}

/* ---- the queue's side ------------------------------------------------------------------------ */

static void
find_method(const struct rpc_server *server, struct rpc_call *call)
{
  for (size_t s = 0; s < server->service_count; s++) {
    const struct rpc_service *service = &server->services[s];
    for (size_t m = 0; m < service->count; m++) {
      if (grpc_slice_str_cmp(call->details.method, service->methods[m].path) == 0) {
        call->method = &service->methods[m];
        call->context = service->context;
        return;
      }
    }
  }
}

/* When the call must have its answer: a little before its deadline, so that it arrives. */
static int64_t
answer_by(const struct rpc_server *server, const struct rpc_call *call)
{
  gpr_timespec deadline = gpr_convert_clock_type(call->details.deadline, GPR_CLOCK_MONOTONIC);
  gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  int64_t left_ms = gpr_time_to_millis(left);
  if (left_ms >= INT32_MAX) /* gpr's way to say: never */
    return call->started_ms + server->default_timeout_ms;
  int64_t margin_ms = left_ms / 20;
  if (margin_ms > 500)
    margin_ms = 500;
  return call->started_ms + left_ms - margin_ms;
}

static void request_call(struct rpc_server *server);

static void
on_announced(struct completion *self, bool ok)
{
  struct rpc_call *call = CALL_OF(self, announced);
  if (!ok) { /* the server shuts down */
    call_unref(call);
    return;
  }
  request_call(call->server);
  call->started_ms = clock_now_ms();
  call->answer_by_ms = answer_by(call->server, call);
  find_method(call->server, call);
  link_call(call->server, call);
  call_receive(call);
}

static void
request_call(struct rpc_server *server)
{
  struct rpc_call *call = xcalloc(1, sizeof(*call));
  call->server = server;
  call->pool = server->pool;
  call->on_over = unlink_call;
  atomic_init(&call->refs, 1);
  grpc_call_details_init(&call->details);
  grpc_metadata_array_init(&call->metadata);
  call->announced.run = on_announced;
  if (grpc_server_request_call(server->grpc, &call->grpc, &call->details, &call->metadata,
                               server->queue, server->queue, &call->announced) != GRPC_CALL_OK) {
    call->grpc = NULL;
    call_unref(call);
  }
}

static void
answer_late(struct rpc_call *call)
{
  char message[256];
  int64_t waited_ms = clock_now_ms() - call->started_ms;
  if (atomic_load(&call->is_running))
    (void)snprintf(message, sizeof(message),
                   "the storage cluster has not finished within %" PRId64
                   " ms; the work goes on, call again for its result",
                   waited_ms);
  else
    (void)snprintf(message, sizeof(message),
                   "the call waited %" PRId64 " ms behind others for the storage cluster and was "
                   "not begun: try again later",
                   waited_ms);
  (void)call_answer(call, GRPC_STATUS_DEADLINE_EXCEEDED, message, NULL);
}

/* Takes a reference to each call that is due, so that they can be answered without the mutex. */
static size_t
collect_due(struct rpc_server *server, int64_t now_ms, struct rpc_call **due, size_t room)
{
  MUTEX_GUARD(&server->mutex);
  size_t count = 0;
  int64_t next_ms = CLOCK_NEVER_MS;
  for (struct rpc_call *call = server->calls; call; call = call->next) {
    if (atomic_load(&call->is_answered))
      continue;
    if (call->answer_by_ms <= now_ms && count < room) {
      atomic_fetch_add(&call->refs, 1);
      due[count++] = call;
    } else if (call->answer_by_ms < next_ms) {
      next_ms = call->answer_by_ms;
    }
  }
  server->next_answer_ms = next_ms;
  return count;
}

static void
answer_due_calls(struct rpc_server *server, int64_t now_ms)
{
  struct rpc_call *due[64];
  size_t count;
  do {
    count = collect_due(server, now_ms, due, sizeof(due) / sizeof(due[0]));
    for (size_t i = 0; i < count; i++) {
      answer_late(due[i]);
      call_unref(due[i]);
    }
  } while (count > 0);
}

static int64_t
next_answer(struct rpc_server *server)
{
  MUTEX_GUARD(&server->mutex);
  return server->next_answer_ms;
}

static gpr_timespec
wait_until(int64_t next_ms)
{
  if (next_ms == CLOCK_NEVER_MS)
    return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  int64_t wait_ms = next_ms - clock_now_ms();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(wait_ms > 0 ? wait_ms : 0, GPR_TIMESPAN));
}

static void *
queue_main(void *arg)
{
  struct rpc_server *server = arg;
  (void)prctl(PR_SET_NAME, "rpc-queue");
  for (;;) {
    int64_t next_ms = next_answer(server);
    grpc_event event = grpc_completion_queue_next(server->queue, wait_until(next_ms), NULL);
    if (event.type == GRPC_QUEUE_SHUTDOWN)
      return NULL; /* drained: the queue may be destroyed */
    if (event.type == GRPC_OP_COMPLETE)
      ((struct completion *)event.tag)->run(event.tag, event.success);
    int64_t now_ms = clock_now_ms();
    if (now_ms >= next_answer(server))
      answer_due_calls(server, now_ms);
  }
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* gRPC's own words are of use to whoever debugs it, not to an operator. */
static void
on_grpc_log(gpr_log_func_args *args)
{
  log_debug("grpc: %s", args->message);
}

static void
on_shut_down(struct completion *self, bool ok)
{
  (void)ok;
  struct rpc_server *server = CONTAINER_OF(self, struct rpc_server, shut_down);
  MUTEX_GUARD(&server->mutex);
  server->is_shut_down = true;
  (void)pthread_cond_broadcast(&server->change);
}

static int
listen_on(struct rpc_server *server, const char *endpoint, struct error **err)
{
  const char *path = endpoint + strlen("unix://");
  if (!text_starts_with(endpoint, "unix:///"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "endpoint '%s': wants unix:// and an absolute path", endpoint);
  if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "endpoint '%s': a socket path has at most %zu characters", endpoint,
                     sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
  grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
  mode_t old_mask =
      umask(0117); /* the socket is for root and its group: who calls it commands it */
  int port = grpc_server_add_http2_port(server->grpc, endpoint, credentials);
  (void)umask(old_mask);
  grpc_server_credentials_release(credentials);
  if (port == 0)
    return error_set(err, ERROR_UNAVAILABLE,
                     "cannot listen on '%s': does its folder exist, is it writable?", endpoint);
  return 0;
}

static void
free_server(struct rpc_server *server)
{
  if (server->grpc)
    grpc_server_destroy(server->grpc);
  if (server->queue)
    grpc_completion_queue_destroy(server->queue);
  worker_pool_free(server->pool);
  (void)pthread_mutex_destroy(&server->mutex);
  (void)pthread_cond_destroy(&server->change);
  free(server);
  grpc_shutdown();
}

static void
make_grpc_server(struct rpc_server *server)
{
  grpc_arg args[] = {
      {.type = GRPC_ARG_INTEGER,
       .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
       .value.integer = MESSAGE_MAX_BYTES},
      {.type = GRPC_ARG_INTEGER,
       .key = (char *)GRPC_ARG_MAX_CONCURRENT_STREAMS,
       .value.integer = 1024},
      {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_ENABLE_CENSUS, .value.integer = 0},
      /* The limit of a message is that of its compressed form: a thousandth of what gRPC would
       * unpack. No caller of CSI compresses. */
      {.type = GRPC_ARG_INTEGER,
       .key = (char *)GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
       .value.integer = 1 << GRPC_COMPRESS_NONE},
  };
  grpc_channel_args channel_args = {.num_args = sizeof(args) / sizeof(args[0]), .args = args};
  server->queue = grpc_completion_queue_create_for_next(NULL);
  server->grpc = grpc_server_create(&channel_args, NULL);
  grpc_server_register_completion_queue(server->grpc, server->queue, NULL);
}

int
rpc_server_start(const struct rpc_server_options *options, struct rpc_server **ret_server,
                 struct error **err)
{
  gpr_set_log_function(on_grpc_log);
  gpr_set_log_verbosity(log_enabled(LOG_LEVEL_DEBUG) ? GPR_LOG_SEVERITY_INFO
                                                     : GPR_LOG_SEVERITY_ERROR);
  grpc_init();
  struct rpc_server *server = xcalloc(1, sizeof(*server));
  server->services = options->services;
  server->service_count = options->service_count;
  server->default_timeout_ms = options->default_timeout_ms;
  server->next_answer_ms = CLOCK_NEVER_MS;
  server->shut_down.run = on_shut_down;
  (void)pthread_mutex_init(&server->mutex, NULL);
  condition_init(&server->change);
  server->pool = worker_pool_new("rpc-worker", options->max_workers, options->max_waiting);
  make_grpc_server(server);
  if (listen_on(server, options->endpoint, err) < 0) {
    free_server(server);
    return -1;
  }
  grpc_server_start(server->grpc);
  for (int i = 0; i < CALLS_AHEAD; i++)
    request_call(server);
  int r = pthread_create(&server->thread, NULL, queue_main, server);
  if (r != 0)
    return error_set_errno(err, r, "start the RPC thread");
  *ret_server = server;
  return 0;
}

/* Waits until gRPC has let go of every call and connection, or, without need for that, until no
 * call is left. */
static bool
wait_for_end(struct rpc_server *server, bool needs_shut_down, int64_t deadline_ms)
{
  struct timespec until = clock_timespec_of_ms(deadline_ms);
  MUTEX_GUARD(&server->mutex);
  while (!server->is_shut_down && (needs_shut_down || server->call_count > 0)) {
    if (pthread_cond_timedwait(&server->change, &server->mutex, &until) == ETIMEDOUT)
      break;
  }
  return server->is_shut_down || (!needs_shut_down && server->call_count == 0);
}

static bool
wait_shut_down(struct rpc_server *server, int64_t wait_ms)
{
  return wait_for_end(server, true, clock_now_ms() + wait_ms);
}

/* Every call that is still without an answer gets one now. */
static void
answer_all(struct rpc_server *server)
{
  for (;;) {
    struct rpc_call *call;
    {
      MUTEX_GUARD(&server->mutex);
      for (call = server->calls; call && atomic_load(&call->is_answered);)
        call = call->next;
      if (!call)
        return;
      atomic_fetch_add(&call->refs, 1);
    }
    (void)call_answer(call, GRPC_STATUS_UNAVAILABLE,
                      "the driver is stopping: call again, the next one goes on from here", NULL);
    call_unref(call);
  }
}

bool
rpc_server_stop(struct rpc_server *server, int64_t grace_ms)
{
  grpc_server_shutdown_and_notify(server->grpc, server->queue, &server->shut_down);
  if (!wait_for_end(server, false, clock_now_ms() + grace_ms))
    answer_all(server);
  /* A caller who keeps a connection open and does not listen to it would hold gRPC up. */
  if (!wait_shut_down(server, LEAVE_MS)) {
    grpc_server_cancel_all_calls(server->grpc);
    (void)wait_shut_down(server, LEAVE_MS);
  }
  /* From now, not from the end of the grace: workers without work need a moment, too. */
  if (!worker_pool_stop(server->pool, clock_now_ms() + LEAVE_MS) ||
      !wait_shut_down(server, LEAVE_MS))
    return false;
  grpc_completion_queue_shutdown(server->queue);
  (void)pthread_join(server->thread, NULL);
  free_server(server);
  return true;
}

size_t
rpc_server_busy(struct rpc_server *server)
{
  MUTEX_GUARD(&server->mutex);
  return server->call_count;
}

int64_t
rpc_server_idle_ms(struct rpc_server *server)
{
  MUTEX_GUARD(&server->mutex);
  return server->call_count > 0 ? 0 : clock_now_ms() - server->last_call_ms;
}

uint64_t
rpc_server_served(struct rpc_server *server)
{
  MUTEX_GUARD(&server->mutex);
  return server->last_id;
}
