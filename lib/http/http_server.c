/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd takes its certificate when it starts. So for a new one another daemon is started on
 * the same socket, and the one before lets nobody in any more and goes when its last connection
 * does: uploads under way do not notice. */
#include "lib/http/http_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/http/http_call.h"
#include "lib/http/http_listen.h"

#define PEM_MAX_BYTES ((size_t)1 << 20)
#define LOOK_MS 2000
#define RETIRED_MAX 8
#define STACK_BYTES ((size_t)256 << 10)
/* Head and read buffer of a connection. */
#define CONNECTION_BYTES ((size_t)256 << 10)

/* How a file looks from outside: when it changes, so does this. */
struct look {
  struct timespec time;
  ino_t inode;
  off_t size;
};

struct http_server {
  struct http_server_options options;
  struct http_call_rules rules;
  int fd;
  uint16_t port;
  struct MHD_Daemon *daemon;
  struct MHD_Daemon *retired[RETIRED_MAX];
  struct look certificate;
  struct look key;
  pthread_t thread; /* looks at the certificate */
  bool has_thread;
  pthread_mutex_t mutex;
  pthread_cond_t stopping;
  bool is_stopping;
};

/* ---- the certificate --------------------------------------------------------------------------
 */

static struct look
look_at(const char *path)
{
  struct stat st;
  if (stat(path, &st) < 0)
    return (struct look){0};
  return (struct look){.time = st.st_mtim, .inode = st.st_ino, .size = st.st_size};
}

static bool
is_same(const struct look *a, const struct look *b)
{
  return a->inode == b->inode && a->size == b->size && a->time.tv_sec == b->time.tv_sec &&
         a->time.tv_nsec == b->time.tv_nsec;
}

/* To be freed by free_pem(). */
static int
read_pem(const char *path, char **ret_pem, struct error **err)
{
  FILE *file = fopen(path, "re");
  if (!file)
    return error_set_errno(err, errno, "open '%s'", path);
  char *pem = xcalloc(PEM_MAX_BYTES + 1, 1);
  size_t len = fread(pem, 1, PEM_MAX_BYTES, file);
  (void)fclose(file);
  if (len > 0 && strstr(pem, "-----BEGIN ")) {
    *ret_pem = pem;
    return 0;
  }
  free(pem);
  return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a PEM file", path);
}

static void
free_pem(char **pem)
{
  if (*pem)
    explicit_bzero(*pem, strlen(*pem));
  free(*pem);
}

/* ---- the daemon -------------------------------------------------------------------------------
 */

static int
start_daemon(struct http_server *server, struct MHD_Daemon **ret_daemon, struct error **err)
{
  const struct http_server_options *options = &server->options;
  CLEANUP(free_pem) char *certificate = NULL;
  CLEANUP(free_pem) char *key = NULL;
  if (options->certificate && (read_pem(options->certificate, &certificate, err) < 0 ||
                               read_pem(options->key, &key, err) < 0))
    return -1;
  const struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
      {MHD_OPTION_END, 0, NULL},
  };
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
                   MHD_USE_ITC | (certificate ? MHD_USE_TLS : 0U);
  *ret_daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, http_call_handle, &server->rules, MHD_OPTION_LISTEN_SOCKET, server->fd,
      MHD_OPTION_NOTIFY_COMPLETED, http_call_completed, &server->rules, MHD_OPTION_CONNECTION_LIMIT,
      options->max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
      options->max_connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT, options->silence_s,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE,
      STACK_BYTES, MHD_OPTION_ARRAY, certificate ? tls : tls + 2, MHD_OPTION_END);
  if (*ret_daemon)
    return 0;
  return error_set(err, ERROR_UNAVAILABLE, "%s",
                   certificate ? "the certificate and the key cannot be used: do they belong "
                                 "together?"
                               : "the server does not start");
}

static bool
is_idle(struct MHD_Daemon *daemon)
{
  const union MHD_DaemonInfo *info =
      MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return !info || info->num_connections == 0;
}

static void
drop_idle(struct http_server *server)
{
  for (size_t i = 0; i < RETIRED_MAX; i++) {
    if (server->retired[i] && is_idle(server->retired[i]))
      MHD_stop_daemon(TAKE(server->retired[i]));
  }
}

/* Whoever is replaced eight times within one upload loses it. */
static void
retire(struct http_server *server, struct MHD_Daemon *daemon)
{
  (void)MHD_quiesce_daemon(daemon);
  if (server->retired[RETIRED_MAX - 1])
    MHD_stop_daemon(server->retired[RETIRED_MAX - 1]);
  memmove(&server->retired[1], &server->retired[0], sizeof(server->retired[0]) * (RETIRED_MAX - 1));
  server->retired[0] = daemon;
}

static void
renew(struct http_server *server)
{
  struct look certificate = look_at(server->options.certificate);
  struct look key = look_at(server->options.key);
  if (is_same(&certificate, &server->certificate) && is_same(&key, &server->key))
    return;
  server->certificate = certificate;
  server->key = key;
  CLEANUP(error_freep) struct error *failure = NULL;
  struct MHD_Daemon *fresh;
  if (start_daemon(server, &fresh, &failure) == 0) {
    retire(server, server->daemon);
    server->daemon = fresh;
  } else {
    server->options.warn(server->options.context, failure->message);
  }
}

static bool
pause_until_next_look(struct http_server *server)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + LOOK_MS);
  MUTEX_GUARD(&server->mutex);
  while (!server->is_stopping &&
         pthread_cond_timedwait(&server->stopping, &server->mutex, &until) == 0)
    ;
  return !server->is_stopping;
}

static void *
run(void *arg)
{
  struct http_server *server = arg;
  (void)pthread_setname_np(pthread_self(), "certificate");
  while (pause_until_next_look(server)) {
    renew(server);
    drop_idle(server);
  }
  return NULL;
}

/* ---- from outside -----------------------------------------------------------------------------
 */

int
http_server_start(const struct http_server_options *options, struct http_server **ret_server,
                  struct error **err)
{
  CLEANUP(http_server_stopp) struct http_server *server = xcalloc(1, sizeof(*server));
  server->options = *options;
  server->rules = (struct http_call_rules){
      .service = options->service, .context = options->context, .silence_s = options->silence_s};
  server->fd = -1;
  (void)pthread_mutex_init(&server->mutex, NULL);
  condition_init(&server->stopping);
  if (options->certificate) {
    server->certificate = look_at(options->certificate);
    server->key = look_at(options->key);
  }
  if (http_listen(options->listen, &server->fd, &server->port, err) < 0 ||
      start_daemon(server, &server->daemon, err) < 0)
    return -1;
  if (options->certificate)
    server->has_thread = pthread_create(&server->thread, NULL, run, server) == 0;
  *ret_server = TAKE(server);
  return 0;
}

void
http_server_stop(struct http_server *server)
{
  if (!server)
    return;
  {
    MUTEX_GUARD(&server->mutex);
    server->is_stopping = true;
    (void)pthread_cond_broadcast(&server->stopping);
  }
  if (server->has_thread)
    (void)pthread_join(server->thread, NULL);
  if (server->daemon) { /* the socket is not for it to close: others may still have it */
    (void)MHD_quiesce_daemon(server->daemon);
    MHD_stop_daemon(server->daemon);
  }
  for (size_t i = 0; i < RETIRED_MAX; i++) {
    if (server->retired[i])
      MHD_stop_daemon(server->retired[i]);
  }
  if (server->fd >= 0)
    (void)close(server->fd);
  (void)pthread_mutex_destroy(&server->mutex);
  (void)pthread_cond_destroy(&server->stopping);
  free(server);
}

uint16_t
http_server_port(const struct http_server *server)
{
  return server->port;
}
