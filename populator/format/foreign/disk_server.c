/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/disk_server.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "populator/format/foreign/disk_handshake.h"
#include "populator/format/foreign/disk_protocol.h"
#include "populator/format/foreign/disk_socket.h"

/* Requests that wait for a thread. A client that sends more waits itself. */
#define QUEUE_MAX 32
/* What a thread reads at once. */
#define PIECE_BYTES ((uint32_t)1 << 20)

struct disk_server {
  struct disk_server_options options;
  pthread_mutex_t mutex; /* guards failure */
  struct error *failure;
};

/* One client. */
struct session {
  struct disk_server *server;
  int fd;
  pthread_mutex_t send_mutex; /* held for a whole reply */
  pthread_mutex_t mutex;      /* guards all below */
  pthread_cond_t change;
  struct disk_request queue[QUEUE_MAX]; /* in the machine's byte order */
  unsigned first, count;
  bool is_over; /* no more requests come */
};

struct disk_server *
disk_server_new(const struct disk_server_options *options)
{
  struct disk_server *server = xcalloc(1, sizeof(*server));
  server->options = *options;
  if (server->options.threads == 0)
    server->options.threads = 1;
  (void)pthread_mutex_init(&server->mutex, NULL);
  return server;
}

void
disk_server_free(struct disk_server *server)
{
  if (!server)
    return;
  error_free(server->failure);
  (void)pthread_mutex_destroy(&server->mutex);
  free(server);
}

struct error *
disk_server_failure(struct disk_server *server)
{
  MUTEX_GUARD(&server->mutex);
  struct error *copy = NULL;
  if (server->failure)
    error_make(&copy, server->failure->code, "%s", server->failure->message);
  return copy;
}

/* ---- replies -----------------------------------------------------------------------------------
 */

static bool
read_piece(struct disk_server *server, void *buf, size_t len, uint64_t offset)
{
  struct error *err = NULL;
  if (server->options.read(server->options.context, buf, len, offset, &err) == 0)
    return true;
  MUTEX_GUARD(&server->mutex);
  if (!server->failure)
    server->failure = TAKE(err);
  error_free(err);
  return false;
}

static bool
send_head(struct session *session, uint64_t cookie, uint32_t error)
{
  struct disk_reply reply = {.magic = htobe32(DISK_SIMPLE_REPLY_MAGIC),
                             .error = htobe32(error),
                             .cookie = htobe64(cookie)};
  return disk_socket_write(session->fd, &reply, sizeof(reply));
}

static bool
send_error(struct session *session, uint64_t cookie, uint32_t error)
{
  MUTEX_GUARD(&session->send_mutex);
  return send_head(session, cookie, error);
}

/* The first piece is read before the head is sent, so that its failure can be told. A reply of
 * several pieces cannot be taken back: then only the connection can be closed. */
static bool
send_data(struct session *session, const struct disk_request *request, char *piece)
{
  uint32_t len = request->len < PIECE_BYTES ? request->len : PIECE_BYTES;
  if (!read_piece(session->server, piece, len, request->offset))
    return send_error(session, request->cookie, DISK_EIO);
  MUTEX_GUARD(&session->send_mutex);
  if (!send_head(session, request->cookie, 0) || !disk_socket_write(session->fd, piece, len))
    return false;
  for (uint32_t at = len; at < request->len; at += len) {
    len = request->len - at < PIECE_BYTES ? request->len - at : PIECE_BYTES;
    if (!read_piece(session->server, piece, len, request->offset + at) ||
        !disk_socket_write(session->fd, piece, len))
      return false;
  }
  return true;
}

/* ---- threads -----------------------------------------------------------------------------------
 */

static bool
pop(struct session *session, struct disk_request *ret_request)
{
  MUTEX_GUARD(&session->mutex);
  while (session->count == 0 && !session->is_over)
    (void)pthread_cond_wait(&session->change, &session->mutex);
  if (session->count == 0)
    return false;
  *ret_request = session->queue[session->first];
  session->first = (session->first + 1) % QUEUE_MAX;
  session->count--;
  (void)pthread_cond_broadcast(&session->change);
  return true;
}

static void
push(struct session *session, const struct disk_request *request)
{
  MUTEX_GUARD(&session->mutex);
  while (session->count == QUEUE_MAX)
    (void)pthread_cond_wait(&session->change, &session->mutex);
  session->queue[(session->first + session->count++) % QUEUE_MAX] = *request;
  (void)pthread_cond_broadcast(&session->change);
}

static void *
worker_main(void *arg)
{
  struct session *session = arg;
  CLEANUP(freep) char *piece = xcalloc(1, PIECE_BYTES);
  struct disk_request request;
  (void)prctl(PR_SET_NAME, "disk-server");
  bool is_sound = true;
  while (pop(session, &request)) {
    /* Once it is broken, what still waits is only taken off the list. */
    is_sound = is_sound && send_data(session, &request, piece);
    if (!is_sound)
      (void)shutdown(session->fd, SHUT_RDWR); /* which ends the reader, too */
  }
  return NULL;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static bool
read_request(struct session *session, struct disk_request *request)
{
  if (!disk_socket_read(session->fd, request, sizeof(*request)) ||
      be32toh(request->magic) != DISK_REQUEST_MAGIC)
    return false;
  request->flags = be16toh(request->flags);
  request->command = be16toh(request->command);
  request->cookie = be64toh(request->cookie);
  request->offset = be64toh(request->offset);
  request->len = be32toh(request->len);
  return true;
}

static bool
is_inside(const struct session *session, const struct disk_request *request)
{
  uint64_t size = session->server->options.size;
  return request->len > 0 && request->len <= DISK_REQUEST_MAX && request->offset <= size &&
         request->len <= size - request->offset;
}

/* False when the connection is of no more use. */
static bool
on_request(struct session *session, const struct disk_request *request)
{
  switch (request->command) {
  case DISK_READ:
    if (!is_inside(session, request))
      return send_error(session, request->cookie, DISK_EINVAL);
    push(session, request);
    return true;
  case DISK_WRITE: /* its data follows */
    return request->len <= DISK_REQUEST_MAX && disk_socket_skip(session->fd, request->len) &&
           send_error(session, request->cookie, DISK_EPERM);
  default:
    return send_error(session, request->cookie, DISK_EINVAL);
  }
}

/* True when the client has taken its leave. */
static bool
take_requests(struct session *session)
{
  struct disk_request request;
  while (read_request(session, &request)) {
    if (request.command == DISK_DISCONNECT)
      return true;
    if (!on_request(session, &request))
      return false;
  }
  return false;
}

static bool
run_session(struct session *session)
{
  unsigned count = session->server->options.threads;
  CLEANUP(freep) pthread_t *threads = xcalloc(count, sizeof(*threads));
  unsigned started = 0;
  while (started < count && pthread_create(&threads[started], NULL, worker_main, session) == 0)
    started++;
  bool has_left = started > 0 && take_requests(session);
  (void)pthread_mutex_lock(&session->mutex);
  session->is_over = true;
  (void)pthread_cond_broadcast(&session->change);
  (void)pthread_mutex_unlock(&session->mutex);
  if (!has_left)
    (void)shutdown(session->fd, SHUT_RDWR); /* nobody waits for a client that takes nothing */
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  return has_left;
}

int
disk_server_serve(struct disk_server *server, int fd)
{
  const struct disk_server_options *options = &server->options;
  switch (disk_handshake(fd, options->size, options->heard, options->context)) {
  case DISK_HANDSHAKE_SERVE:
    break;
  case DISK_HANDSHAKE_LEFT:
    return 0;
  case DISK_HANDSHAKE_BROKEN:
  default:
    return -1;
  }
  struct session session = {.server = server, .fd = fd};
  (void)pthread_mutex_init(&session.send_mutex, NULL);
  (void)pthread_mutex_init(&session.mutex, NULL);
  condition_init(&session.change);
  bool has_left = run_session(&session);
  (void)pthread_mutex_destroy(&session.send_mutex);
  (void)pthread_mutex_destroy(&session.mutex);
  (void)pthread_cond_destroy(&session.change);
  return has_left ? 0 : -1;
}
