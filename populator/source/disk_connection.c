/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_connection_parts.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/http/address_policy.h"

/* So much is asked for at once, in so many requests: enough to keep a server at work while one
 * answer is on its way. */
#define REQUEST_BYTES DISK_REQUEST_BYTES
#define REQUESTS_MAX 8
/* How often a wait looks whether it is still wanted. */
#define SLICE_MS 200
/* A server that sends a byte now and then does not stall, but is not one that can be read from. */
#define PATIENCE 10
/* Asked about in one question: the longest length that the protocol has, in whole blocks. */
#define STATUS_BYTES (((uint64_t)4 << 30) - ((uint64_t)64 << 20))

/* ---- errors ------------------------------------------------------------------------------------
 */

/* While connecting, only the network is worth another attempt. 0 is libnbd's number for a server
 * that hangs up, and for everything that is wrong with TLS. */
static bool
is_network_trouble(int number, bool is_tls)
{
  switch (number) {
  case 0:
    return !is_tls;
  case EAGAIN:
  case ECONNABORTED:
  case ECONNREFUSED:
  case ECONNRESET:
  case EHOSTUNREACH:
  case ENETUNREACH:
  case EPIPE:
  case ETIMEDOUT:
    return true;
  default:
    return false;
  }
}

/* What a server answers to a request that it cannot serve, now or ever. */
static bool
is_passing(int number)
{
  switch (number) {
  case EPERM:
  case EACCES:
  case EINVAL:
  case ENOENT:
  case ENOTSUP:
  case EOVERFLOW:
  case ERANGE:
  case EPROTO:
    return false;
  default:
    return true;
  }
}

int
disk_connection_fail(const struct disk_connection *connection, struct disk_failure *failure,
                     const char *what, struct error **err)
{
  int number = nbd_get_errno();
  const char *message = nbd_get_error();
  failure->is_broken = !connection->is_ready || nbd_aio_is_dead(connection->nbd) != 0 ||
                       nbd_aio_is_closed(connection->nbd) != 0;
  if (!connection->is_ready)
    failure->is_transient = is_network_trouble(number, connection->options->uri->is_tls);
  else
    failure->is_transient = failure->is_broken ? number != EPROTO : is_passing(number);
  enum error_code code = number ? error_code_of_errno(number) : ERROR_UNAVAILABLE;
  return error_set(err, code == ERROR_INTERNAL ? ERROR_UNAVAILABLE : code, "%s '%s': %s", what,
                   connection->options->uri->label, message ? message : "unknown reason");
}

int
disk_connection_give_up(const struct disk_connection *connection, struct disk_failure *failure,
                        enum error_code code, const char *why, struct error **err)
{
  *failure = (struct disk_failure){.is_broken = true, .is_transient = code == ERROR_UNAVAILABLE};
  return error_set(err, code, "'%s': %s", connection->options->uri->label, why);
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

struct disk_patience
disk_patience_begin(const struct disk_connection *connection)
{
  int64_t now_ms = clock_now_ms();
  return (struct disk_patience){.moved_ms = now_ms,
                                .until_ms = now_ms + PATIENCE * connection->options->stall_ms};
}

int
disk_connection_move_on(struct disk_connection *connection, struct disk_patience *patience,
                        struct disk_failure *failure, struct error **err)
{
  if (atomic_load(connection->options->is_cancelled))
    return disk_connection_give_up(connection, failure, ERROR_CANCELLED, "stopped", err);
  int r = nbd_poll(connection->nbd, SLICE_MS);
  if (r < 0)
    return disk_connection_fail(connection, failure,
                                connection->is_ready ? "talk to" : "connect to", err);
  int64_t now_ms = clock_now_ms();
  if (r > 0)
    patience->moved_ms = now_ms;
  if (now_ms - patience->moved_ms >= connection->options->stall_ms || now_ms > patience->until_ms)
    return disk_connection_give_up(connection, failure, ERROR_UNAVAILABLE,
                                   "the server does not answer in time", err);
  return 0;
}

/* ---- connecting --------------------------------------------------------------------------------
 */

static int
check_local(const struct disk_connection *connection, const char *refusal,
            struct disk_failure *failure, struct error **err)
{
  if (!refusal || connection->options->allow_local_addresses)
    return 0;
  *failure = (struct disk_failure){.is_broken = true};
  return error_set(err, ERROR_PERMISSION_DENIED, "'%s' leads to %s, which is not allowed",
                   connection->options->uri->label, refusal);
}

/* Before: none of the addresses that the name has may be one that is refused. */
static int
check_addresses(const struct disk_connection *connection, struct disk_failure *failure,
                struct error **err)
{
  const struct disk_uri *uri = connection->options->uri;
  struct addrinfo *found = NULL;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  int r = getaddrinfo(uri->host, uri->port, &hints, &found);
  if (r != 0) {
    *failure = (struct disk_failure){.is_broken = true, .is_transient = r == EAI_AGAIN};
    return error_set(err, ERROR_UNAVAILABLE, "'%s': resolve '%s': %s", uri->label, uri->host,
                     gai_strerror(r));
  }
  const char *refusal = NULL;
  for (const struct addrinfo *at = found; at && !refusal; at = at->ai_next)
    refusal = address_policy_refusal(at->ai_addr);
  freeaddrinfo(found);
  return check_local(connection, refusal, failure, err);
}

/* Behind: libnbd resolves by itself, and a name may have another address by then. */
static int
check_peer(const struct disk_connection *connection, struct disk_failure *failure,
           struct error **err)
{
  struct sockaddr_storage peer;
  socklen_t len = sizeof(peer);
  int fd = nbd_aio_get_fd(connection->nbd);
  if (!connection->options->uri->host || fd < 0 ||
      getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
    return 0; /* not there yet */
  return check_local(connection, address_policy_refusal((struct sockaddr *)&peer), failure, err);
}

/* The folder that libnbd takes certificates from. It must have a CA: without one, libnbd 1.14
 * accepts any certificate. */
static int
set_trust(const struct disk_connection *connection, struct disk_failure *failure,
          struct error **err)
{
  static const char name[] = "/ca-cert.pem";
  const char *bundle = connection->options->ca_bundle;
  size_t len = bundle ? strlen(bundle) : 0;
  bool is_file = len > sizeof(name) - 1 && strcmp(bundle + len - (sizeof(name) - 1), name) == 0;
  CLEANUP(freep)
  char *folder = is_file ? xstrndup(bundle, len - (sizeof(name) - 1)) : xstrdup(bundle);
  CLEANUP(freep) char *file = folder ? xasprintf("%s%s", folder, name) : NULL;
  if (!file || access(file, R_OK) < 0) {
    *failure = (struct disk_failure){.is_broken = true};
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s': TLS needs a CA to check the server with: a file that is named "
                     "ca-cert.pem, or a folder that has one",
                     connection->options->uri->label);
  }
  if (nbd_set_tls(connection->nbd, LIBNBD_TLS_REQUIRE) < 0 ||
      nbd_set_tls_certificates(connection->nbd, folder) < 0 ||
      nbd_set_tls_verify_peer(connection->nbd, true) < 0)
    return disk_connection_fail(connection, failure, "prepare TLS for", err);
  return 0;
}

static int
use_socket(struct disk_connection *connection, struct disk_failure *failure, struct error **err)
{
  int fd = connection->options->take_socket(connection->options->take_context);
  if (fd < 0)
    return disk_connection_give_up(connection, failure, ERROR_RESOURCE_EXHAUSTED,
                                   "no connection is left", err);
  if (nbd_aio_connect_socket(connection->nbd, fd) < 0) {
    (void)close(fd);
    return disk_connection_fail(connection, failure, "connect to", err);
  }
  return 0;
}

static int
start_connecting(struct disk_connection *connection, struct disk_failure *failure,
                 struct error **err)
{
  const struct disk_uri *uri = connection->options->uri;
  if (nbd_set_export_name(connection->nbd, uri->export_name ? uri->export_name : "") < 0 ||
      nbd_add_meta_context(connection->nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) < 0)
    return disk_connection_fail(connection, failure, "connect to", err);
  if (connection->options->take_socket)
    return use_socket(connection, failure, err);
  if (uri->path) {
    if (check_local(connection, "a socket of this machine", failure, err) < 0)
      return -1;
    return nbd_aio_connect_unix(connection->nbd, uri->path) < 0
               ? disk_connection_fail(connection, failure, "connect to", err)
               : 0;
  }
  if (check_addresses(connection, failure, err) < 0 ||
      (uri->is_tls && set_trust(connection, failure, err) < 0))
    return -1;
  return nbd_aio_connect_tcp(connection->nbd, uri->host, uri->port) < 0
             ? disk_connection_fail(connection, failure, "connect to", err)
             : 0;
}

static int
finish_connecting(struct disk_connection *connection, struct disk_failure *failure,
                  struct error **err)
{
  struct disk_patience patience = disk_patience_begin(connection);
  while (nbd_aio_is_connecting(connection->nbd) > 0 ||
         nbd_aio_is_negotiating(connection->nbd) > 0) {
    if (check_peer(connection, failure, err) < 0 ||
        disk_connection_move_on(connection, &patience, failure, err) < 0)
      return -1;
  }
  if (check_peer(connection, failure, err) < 0)
    return -1;
  if (nbd_aio_is_ready(connection->nbd) <= 0)
    return disk_connection_give_up(connection, failure, ERROR_UNAVAILABLE, "the server hung up",
                                   err);
  return 0;
}

static int
learn(struct disk_connection *connection, struct disk_failure *failure, struct error **err)
{
  int64_t size = nbd_get_size(connection->nbd);
  if (size < 0)
    return disk_connection_fail(connection, failure, "learn the size of", err);
  connection->size = (uint64_t)size;
  int64_t block = nbd_get_block_size(connection->nbd, LIBNBD_SIZE_MINIMUM);
  int64_t most = nbd_get_block_size(connection->nbd, LIBNBD_SIZE_MAXIMUM);
  connection->block = block > 0 ? (uint64_t)block : 1;
  connection->request = most > 0 && (uint64_t)most < REQUEST_BYTES ? (size_t)most : REQUEST_BYTES;
  if (connection->block > connection->request || connection->request % connection->block != 0)
    return disk_connection_give_up(connection, failure, ERROR_FAILED_PRECONDITION,
                                   "the server wants requests of a size that cannot be", err);
  connection->is_ready = true;
  return 0;
}

int
disk_connection_open(const struct disk_connection_options *options,
                     struct disk_connection **ret_connection, struct disk_failure *ret_failure,
                     struct error **err)
{
  CLEANUP(disk_connection_closep)
  struct disk_connection *connection = xcalloc(1, sizeof(*connection));
  connection->options = options;
  connection->nbd = nbd_create();
  if (!connection->nbd) {
    *ret_failure = (struct disk_failure){.is_broken = true};
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "make an NBD client: %s", nbd_get_error());
  }
  if (start_connecting(connection, ret_failure, err) < 0 ||
      finish_connecting(connection, ret_failure, err) < 0 ||
      learn(connection, ret_failure, err) < 0)
    return -1;
  *ret_connection = TAKE(connection);
  return 0;
}

void
disk_connection_close(struct disk_connection *connection)
{
  if (!connection)
    return;
  if (connection->nbd && nbd_aio_is_ready(connection->nbd) > 0)
    (void)nbd_aio_disconnect(connection->nbd, 0); /* a courtesy: it is sent or it is not */
  nbd_close(connection->nbd);
  free(connection);
}

uint64_t
disk_connection_size(const struct disk_connection *connection)
{
  return connection->size;
}

bool
disk_connection_is_sharable(const struct disk_connection *connection)
{
  return nbd_can_multi_conn(connection->nbd) > 0;
}

bool
disk_connection_has_status(const struct disk_connection *connection)
{
  return nbd_can_meta_context(connection->nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) > 0;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static int
wait_for(struct disk_connection *connection, int64_t cookie, struct disk_patience *patience,
         struct disk_failure *failure, struct error **err)
{
  for (;;) {
    int r = nbd_aio_command_completed(connection->nbd, (uint64_t)cookie);
    if (r > 0)
      return 0;
    if (r < 0)
      return disk_connection_fail(connection, failure, "read", err);
    if (disk_connection_move_on(connection, patience, failure, err) < 0)
      return -1;
  }
}

/* Several requests at once, all in whole blocks. When one fails, the others must still be waited
 * for, or the connection closed: they write to buf. */
static int
read_blocks(struct disk_connection *connection, char *buf, size_t len, uint64_t offset,
            struct disk_failure *failure, struct error **err)
{
  int64_t cookies[REQUESTS_MAX];
  size_t count = 0;
  struct disk_patience patience = disk_patience_begin(connection);
  for (size_t at = 0; at < len; at += connection->request) {
    size_t part = len - at < connection->request ? len - at : connection->request;
    cookies[count] =
        nbd_aio_pread(connection->nbd, buf + at, part, offset + at, NBD_NULL_COMPLETION, 0);
    if (cookies[count] < 0) {
      (void)disk_connection_fail(connection, failure, "read", err);
      failure->is_broken = true;
      return -1;
    }
    count++;
  }
  for (size_t i = 0; i < count; i++) {
    if (wait_for(connection, cookies[i], &patience, failure, err) < 0) {
      failure->is_broken = failure->is_broken || count > 1;
      return -1;
    }
  }
  return 0;
}

/* The part of a block that was asked for, by way of the whole block. */
static int
read_within_blocks(struct disk_connection *connection, char *buf, size_t len, uint64_t offset,
                   struct disk_failure *failure, struct error **err)
{
  uint64_t begin = offset - offset % connection->block;
  uint64_t end = offset + len;
  if (end % connection->block != 0)
    end += connection->block - end % connection->block;
  if (end > connection->size)
    end = connection->size;
  CLEANUP(freep) char *blocks = xcalloc(1, (size_t)(end - begin));
  if (read_blocks(connection, blocks, (size_t)(end - begin), begin, failure, err) < 0)
    return -1;
  memcpy(buf, blocks + (offset - begin), len);
  return 0;
}

int
disk_connection_read(struct disk_connection *connection, void *buf, size_t len, uint64_t offset,
                     struct disk_failure *ret_failure, struct error **err)
{
  /* A batch is this long at most, with its ends made whole blocks. */
  size_t batch = REQUESTS_MAX * connection->request - 2 * (size_t)connection->block;
  batch -= batch % (size_t)connection->block;
  for (size_t at = 0; at < len;) {
    size_t part = len - at < batch ? len - at : batch;
    bool is_whole = (offset + at) % connection->block == 0 && part % (size_t)connection->block == 0;
    int r = (is_whole ? read_blocks : read_within_blocks)(connection, (char *)buf + at, part,
                                                          offset + at, ret_failure, err);
    if (r < 0)
      return -1;
    at += part;
  }
  return 0;
}

/* ---- where data is -----------------------------------------------------------------------------
 */

struct status_answer {
  struct disk_status *status;
  uint64_t limit;
  bool is_over;
};

static int
on_extents(void *context, const char *name, uint64_t offset, uint32_t *entries, size_t count,
           int *error)
{
  struct status_answer *answer = context;
  (void)error;
  if (strcmp(name, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 || offset != answer->status->end)
    return 0;
  for (size_t i = 0; i + 1 < count && !answer->is_over; i += 2) {
    bool is_zero = (entries[i + 1] & LIBNBD_STATE_ZERO) != 0;
    answer->is_over = !disk_status_add(answer->status, entries[i], is_zero, answer->limit);
  }
  return 0;
}

int
disk_connection_status(struct disk_connection *connection, uint64_t offset,
                       struct disk_status *status, struct disk_failure *ret_failure,
                       struct error **err)
{
  uint64_t begin = offset - offset % connection->block;
  uint64_t left = connection->size - begin;
  uint64_t len = left < STATUS_BYTES ? left : STATUS_BYTES;
  struct status_answer answer = {.status = status, .limit = begin + len};
  struct disk_patience patience = disk_patience_begin(connection);
  disk_status_begin(status, begin);
  nbd_extent_callback callback = {.callback = on_extents, .user_data = &answer};
  int64_t cookie =
      nbd_aio_block_status(connection->nbd, len, begin, callback, NBD_NULL_COMPLETION, 0);
  if (cookie < 0)
    return disk_connection_fail(connection, ret_failure, "ask for the holes of", err);
  if (wait_for(connection, cookie, &patience, ret_failure, err) < 0) {
    ret_failure->is_broken = true; /* an answer that still comes would find nobody */
    return -1;
  }
  if (!disk_status_covers(status, offset)) /* it said nothing: then all may be data */
    (void)disk_status_add(status, len, false, answer.limit);
  return 0;
}
