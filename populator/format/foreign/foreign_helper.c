/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "populator/format/foreign/disk_socket.h"
#include "populator/format/foreign/foreign_helper_process.h"

struct foreign_helper {
  pid_t pid;
  int control;
  int file;
  int connections[FOREIGN_HELPER_CONNECTIONS];
  atomic_uint taken;
  bool is_open;
  pthread_mutex_t mutex; /* held from a question to its answer */
};

static const char *const formats[] = {"vmdk", "vdi", "vpc", "vhdx", "qed"};

bool
foreign_helper_knows(const char *format)
{
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    if (strcmp(formats[i], format) == 0)
      return true;
  }
  return false;
}

/* ---- sockets -----------------------------------------------------------------------------------
 */

/* A listener, and connections that wait in it. They are made by way of a path that is gone when
 * this returns, so nobody else can connect. */
static int
connect_beforehand(struct foreign_helper *helper, const char *folder, int *ret_listener)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  CLEANUP(freep) char *path = xasprintf("%s/s", folder);
  if (strlen(path) >= sizeof(address.sun_path))
    return ENAMETOOLONG;
  memcpy(address.sun_path, path, strlen(path));
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int r = listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                  listen(listener, FOREIGN_HELPER_CONNECTIONS) == 0
              ? 0
              : errno;
  for (unsigned i = 0; r == 0 && i < FOREIGN_HELPER_CONNECTIONS; i++) {
    helper->connections[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (helper->connections[i] < 0 ||
        connect(helper->connections[i], (struct sockaddr *)&address, sizeof(address)) < 0)
      r = errno;
  }
  (void)unlink(path);
  if (r != 0 && listener >= 0)
    (void)close(listener);
  else
    *ret_listener = listener;
  return r;
}

/* The first place where a folder can be made for a moment. */
static int
make_connections(struct foreign_helper *helper, int *ret_listener, struct error **err)
{
  const char *const places[] = {getenv("TMPDIR"), "/tmp", "/run", "/dev/shm"};
  int r = ENOENT;
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    if (!places[i])
      continue;
    CLEANUP(freep) char *folder = xasprintf("%s/imprint-XXXXXX", places[i]);
    if (!mkdtemp(folder)) {
      r = errno;
      continue;
    }
    r = connect_beforehand(helper, folder, ret_listener);
    (void)rmdir(folder);
    if (r == 0)
      return 0;
  }
  return error_set_errno(err, r, "make a socket for qemu-nbd in a temporary folder");
}

/* ---- life --------------------------------------------------------------------------------------
 */

static int
fork_helper(struct foreign_helper *helper, const struct foreign_helper_options *options,
            struct error **err)
{
  int control[2] = {-1, -1}, file[2] = {-1, -1}, listener = -1;
  if (make_connections(helper, &listener, err) < 0)
    return -1;
  bool has_pairs = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0 &&
                   socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, file) == 0;
  pid_t pid = has_pairs ? fork() : -1;
  if (pid == 0)
    helper_process_run(
        &(struct helper_sockets){.control = control[1], .file = file[1], .listener = listener},
        options);
  int failure = errno;
  helper->control = control[0];
  helper->file = file[0];
  const int theirs[] = {control[1], file[1], listener};
  for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
    if (theirs[i] >= 0)
      (void)close(theirs[i]);
  }
  if (pid < 0)
    return error_set_errno(err, failure, "start the helper for foreign formats");
  helper->pid = pid;
  return 0;
}

int
foreign_helper_start(const struct foreign_helper_options *options,
                     struct foreign_helper **ret_helper, struct error **err)
{
  CLEANUP(foreign_helper_freep) struct foreign_helper *helper = xcalloc(1, sizeof(*helper));
  helper->control = helper->file = -1;
  (void)pthread_mutex_init(&helper->mutex, NULL);
  for (unsigned i = 0; i < FOREIGN_HELPER_CONNECTIONS; i++)
    helper->connections[i] = -1;
  if (fork_helper(helper, options, err) < 0)
    return -1;
  *ret_helper = TAKE(helper);
  return 0;
}

void
foreign_helper_free(struct foreign_helper *helper)
{
  if (!helper)
    return;
  if (helper->control >= 0)
    (void)close(helper->control); /* which ends it */
  if (helper->file >= 0)
    (void)close(helper->file);
  for (unsigned i = helper->taken; i < FOREIGN_HELPER_CONNECTIONS; i++) {
    if (helper->connections[i] >= 0)
      (void)close(helper->connections[i]);
  }
  while (helper->pid > 0 && waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  (void)pthread_mutex_destroy(&helper->mutex);
  free(helper);
}

/* ---- questions ---------------------------------------------------------------------------------
 */

static int
ask(struct foreign_helper *helper, const struct helper_message *message, struct error **err)
{
  struct helper_answer answer;
  MUTEX_GUARD(&helper->mutex);
  if (!disk_socket_write(helper->control, message, sizeof(*message)) ||
      !disk_socket_read(helper->control, &answer, sizeof(answer)))
    return error_set(err, ERROR_INTERNAL, "the helper for foreign formats is gone");
  answer.message[sizeof(answer.message) - 1] = '\0';
  return answer.code == 0 ? 0 : error_set(err, (enum error_code)answer.code, "%s", answer.message);
}

int
foreign_helper_open(struct foreign_helper *helper, const char *format, struct error **err)
{
  struct helper_message message = {.request = HELPER_OPEN};
  if (!foreign_helper_knows(format))
    return error_set(err, ERROR_UNIMPLEMENTED, "nobody reads the format '%s'", format);
  if (helper->is_open)
    return error_set(err, ERROR_FAILED_PRECONDITION, "qemu-nbd was started before");
  helper->is_open = true;
  memcpy(message.format, format, strlen(format));
  return ask(helper, &message, err);
}

int
foreign_helper_close_files(struct foreign_helper *helper, struct error **err)
{
  return ask(helper, &(struct helper_message){.request = HELPER_CLOSE_FILES}, err);
}

int
foreign_helper_check(struct foreign_helper *helper, int64_t wait_ms, struct error **err)
{
  return ask(helper, &(struct helper_message){.request = HELPER_REPORT, .wait_ms = wait_ms}, err);
}

int
foreign_helper_file_socket(const struct foreign_helper *helper)
{
  return helper->file;
}

int
foreign_helper_take_connection(struct foreign_helper *helper)
{
  unsigned next = atomic_fetch_add(&helper->taken, 1);
  return next < FOREIGN_HELPER_CONNECTIONS ? helper->connections[next] : -1;
}
