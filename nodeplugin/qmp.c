/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/qmp.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "nodeplugin/sys_call.h"

#define WAIT_SECONDS 10
/* The longest line that it has for us. */
#define LINE_MAX_BYTES 65536

DEFINE_CLEANUP(struct json_object *, json_object_put)

struct qmp {
  int fd;
  char line[LINE_MAX_BYTES];
  size_t len; /* received, not yet taken */
};

static int
qmp_open(struct qmp *qmp, const char *path, struct error **err)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof(address.sun_path))
    return error_set(err, ERROR_INTERNAL, "the path of the socket '%s' is too long", path);
  memcpy(address.sun_path, path, strlen(path));
  qmp->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval limit = {.tv_sec = WAIT_SECONDS};
  if (qmp->fd < 0 || setsockopt(qmp->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
      setsockopt(qmp->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
      connect(qmp->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
    return error_set_errno(err, errno, "connect to '%s'", path);
  return 0;
}

/* The next message; its lines are JSON objects. */
static struct json_object *
qmp_receive(struct qmp *qmp)
{
  for (;;) {
    char *end = memchr(qmp->line, '\n', qmp->len);
    if (end) {
      *end = '\0';
      struct json_object *message = json_tokener_parse(qmp->line);
      qmp->len -= (size_t)(end + 1 - qmp->line);
      memmove(qmp->line, end + 1, qmp->len);
      return message;
    }
    if (qmp->len == sizeof(qmp->line))
      return NULL;
    ssize_t got = recv(qmp->fd, qmp->line + qmp->len, sizeof(qmp->line) - qmp->len, 0);
    if (got <= 0)
      return NULL;
    qmp->len += (size_t)got;
  }
}

static int
qmp_execute(struct qmp *qmp, const char *command, const char *arguments, struct error **err)
{
  CLEANUP(freep)
  char *text =
      xasprintf("{\"execute\":\"%s\",\"arguments\":%s}\n", command, arguments ? arguments : "{}");
  if (SYS_CALL(send(qmp->fd, text, strlen(text), MSG_NOSIGNAL)) != (ssize_t)strlen(text))
    return error_set_errno(err, errno, "send %s", command);
  for (;;) {
    CLEANUP(json_object_putp) struct json_object *message = qmp_receive(qmp);
    struct json_object *failure, *description, *unused;
    if (!message)
      return error_set(err, ERROR_UNAVAILABLE, "no answer to %s within %d s", command,
                       WAIT_SECONDS);
    if (json_object_object_get_ex(message, "return", &unused))
      return 0;
    if (json_object_object_get_ex(message, "error", &failure))
      return error_set(err, ERROR_INTERNAL, "%s: %s", command,
                       json_object_object_get_ex(failure, "desc", &description)
                           ? json_object_get_string(description)
                           : "it failed");
  }
}

int
qmp_command(const char *socket_path, const char *command, const char *arguments, pid_t *ret_pid,
            struct error **err)
{
  CLEANUP(freep) struct qmp *qmp = xcalloc(1, sizeof(*qmp));
  qmp->fd = -1;
  if (ret_pid)
    *ret_pid = 0;
  int r = qmp_open(qmp, socket_path, err);
  struct ucred peer;
  socklen_t len = sizeof(peer);
  if (r == 0 && ret_pid && getsockopt(qmp->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
    *ret_pid = peer.pid;
  if (r == 0) {
    json_object_put(qmp_receive(qmp)); /* the greeting */
    r = qmp_execute(qmp, "qmp_capabilities", NULL, err);
  }
  if (r == 0)
    r = qmp_execute(qmp, command, arguments, err);
  if (qmp->fd >= 0)
    (void)close(qmp->fd);
  return r;
}
