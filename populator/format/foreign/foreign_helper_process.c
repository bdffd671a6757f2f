/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/buffer.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/subprocess.h"
#include "lib/base/text.h"
#include "lib/sandbox/privileges.h"
#include "populator/format/foreign/disk_socket.h"
#include "populator/format/foreign/foreign_jail.h"

#define PROGRAM "/usr/bin/qemu-nbd"
/* Numbers of qemu-nbd's descriptors: the first is where socket activation looks for it. */
#define LISTENER_FD 3
#define FILE_FD 4
#define SAID_MAX 4096

struct helper {
  struct helper_sockets sockets;
  const char *program;
  struct foreign_jail *jail;
  struct subprocess *qemu;
  bool is_asked;      /* the jail may have questions */
  int said_fd;        /* its stderr */
  struct buffer said; /* what came */
};

/* ---- qemu-nbd ----------------------------------------------------------------------------------
 */

static int
start_qemu(struct helper *helper, const char *format, struct error **err)
{
  int said[2];
  if (pipe2(said, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "make a pipe");
  helper->said_fd = said[0];
  /* The format is given, so nothing is guessed; the file is a socket, so no name is looked up. */
  CLEANUP(freep)
  char *image = xasprintf("driver=%s,file.driver=nbd,file.server.type=fd,file.server.str=%d",
                          format, FILE_FD);
  CLEANUP(freep) char *shared = xasprintf("--shared=%d", FOREIGN_HELPER_CONNECTIONS);
  const char *const argv[] = {
      "qemu-nbd", "--read-only", shared, "--export-name=", "--image-opts", image, NULL};
  static const char *const env[] = {"LC_ALL=C", NULL};
  struct subprocess_fd fds[] = {{.from = said[1], .to = 2},
                                {.from = helper->sockets.listener, .to = LISTENER_FD},
                                {.from = helper->sockets.file, .to = FILE_FD}};
  struct subprocess_options options = {.program = helper->program,
                                       .argv = argv,
                                       .env = env,
                                       .fds = fds,
                                       .fd_count = sizeof(fds) / sizeof(fds[0]),
                                       .listen_fds = 1};
  int r = foreign_jail_new(helper->program, &helper->jail, err);
  if (r == 0)
    r = foreign_jail_run(helper->jail, &options, &helper->qemu, err);
  helper->is_asked = r == 0;
  (void)close(said[1]);
  /* Ours would keep the other side from noticing its end. */
  (void)close(helper->sockets.file);
  (void)close(helper->sockets.listener);
  return r;
}

/* Takes in what it says on stderr; false when there is no more. */
static bool
listen_to_it(struct helper *helper)
{
  char text[512];
  ssize_t len = read(helper->said_fd, text, sizeof(text));
  if (len > 0)
    (void)buffer_append(&helper->said, text, (size_t)len);
  else {
    (void)close(helper->said_fd);
    helper->said_fd = -1;
  }
  return len > 0;
}

/* One round of what may happen to qemu-nbd, or of waiting for it. */
static void
attend(struct helper *helper, struct pollfd *control, int timeout_ms)
{
  struct pollfd fds[] = {
      {.fd = control ? control->fd : -1, .events = POLLIN},
      {.fd = helper->is_asked ? foreign_jail_listener(helper->jail) : -1, .events = POLLIN},
      {.fd = helper->said_fd, .events = POLLIN},
  };
  if (poll(fds, 3, timeout_ms) < 0)
    return;
  if (control)
    control->revents = fds[0].revents;
  if ((fds[1].revents & POLLIN) != 0)
    foreign_jail_answer(helper->jail);
  else if (fds[1].revents != 0)
    helper->is_asked = false; /* nobody is left who could ask */
  if (fds[2].revents != 0)
    (void)listen_to_it(helper);
}

/* ---- what became of it -------------------------------------------------------------------------
 */

/* What it says of an image that names another file without an attempt to open it. */
static bool
says_other_file(const char *said)
{
  static const char *const signs[] = {"relative extent path", "relative backing", "backing file",
                                      "Cannot generate a base directory", "Cannot use relative"};
  for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
    if (strstr(said, signs[i]))
      return true;
  }
  return false;
}

/* Its last line, without what is always the same; to be freed. */
static char *
essence(const char *said)
{
  CLEANUP(freep) char *text = xstrdup(said);
  size_t len = strlen(text);
  while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
    text[--len] = '\0';
  char *line = strrchr(text, '\n');
  line = line ? line + 1 : text;
  static const char name[] = "qemu-nbd: ", open_failure[] = "Failed to blk_new_open 'driver=";
  if (text_starts_with(line, name))
    line += sizeof(name) - 1;
  const char *skip = strstr(line, "': "); /* what stands before it are our own arguments */
  char *result = xstrdup(skip && text_starts_with(line, open_failure) ? skip + 3 : line);
  for (char *at = result; *at; at++) {
    if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
      *at = '?';
  }
  return result;
}

/* No error when it runs on and has said nothing. */
static void
report(struct helper *helper, int64_t wait_ms, struct error **err)
{
  int64_t until_ms = clock_now_ms() + wait_ms;
  int status = 0;
  bool has_ended = false;
  while (helper->qemu && !has_ended && clock_now_ms() <= until_ms) {
    attend(helper, NULL, 20);
    has_ended = subprocess_wait(helper->qemu, 0, &status, NULL) == 0;
  }
  while (helper->said_fd >= 0 && has_ended && listen_to_it(helper))
    ;
  const char *wanted = helper->jail ? foreign_jail_wanted(helper->jail) : NULL;
  CLEANUP(freep) char *said = essence(helper->said.data ? helper->said.data : "");
  char text[SUBPROCESS_STATUS_MAX];
  if (wanted)
    error_make(err, ERROR_INVALID_ARGUMENT,
               "refers to another file, '%s', which is not allowed; qemu-nbd: %s", wanted, said);
  else if (says_other_file(said))
    error_make(err, ERROR_INVALID_ARGUMENT, "refers to another file, which is not allowed: %s",
               said);
  else if (*said)
    error_make(err, ERROR_INVALID_ARGUMENT, "qemu-nbd: %s", said);
  else if (has_ended)
    error_make(err, ERROR_INVALID_ARGUMENT, "qemu-nbd ended: %s",
               subprocess_status_text(status, text));
}

/* ---- the process -------------------------------------------------------------------------------
 */

/* False when the other side is gone. */
static bool
on_message(struct helper *helper)
{
  struct helper_message message;
  struct helper_answer answer = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  if (!disk_socket_read(helper->sockets.control, &message, sizeof(message)))
    return false;
  message.format[sizeof(message.format) - 1] = '\0';
  switch (message.request) {
  case HELPER_OPEN:
    if (helper->qemu || !foreign_helper_knows(message.format))
      error_make(&err, ERROR_INVALID_ARGUMENT, "not now, or not this format");
    else
      (void)start_qemu(helper, message.format, &err);
    break;
  case HELPER_CLOSE_FILES:
    if (helper->jail)
      foreign_jail_close_files(helper->jail);
    break;
  case HELPER_REPORT:
  default:
    report(helper, message.wait_ms, &err);
    break;
  }
  if (err) {
    answer.code = (int)err->code;
    (void)snprintf(answer.message, sizeof(answer.message), "%s", err->message);
  }
  return disk_socket_write(helper->sockets.control, &answer, sizeof(answer));
}

/* Keeps what it needs of its parent's: stderr and its sockets. */
static void
shed(struct helper_sockets *sockets)
{
  int *const kept[] = {&sockets->control, &sockets->file, &sockets->listener};
  const size_t count = sizeof(kept) / sizeof(kept[0]);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)dup2(null, 0);
  (void)dup2(null, 1);
  for (size_t i = 0; i < count; i++)
    *kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, 100);
  for (size_t i = 0; i < count; i++)
    *kept[i] = dup3(*kept[i], 3 + (int)i, O_CLOEXEC);
  (void)close_range(3 + (unsigned)count, ~0U, 0);
}

void
helper_process_run(const struct helper_sockets *sockets,
                   const struct foreign_helper_options *options)
{
  struct helper helper = {.sockets = *sockets,
                          .program = options->program ? options->program : PROGRAM,
                          .said_fd = -1,
                          .said = {.limit = SAID_MAX}};
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
    (void)signal(ignored[i], SIG_IGN); /* it ends with its parent, not before */
  (void)prctl(PR_SET_NAME, "imprint-foreign");
  shed(&helper.sockets);
  if (options->uid != 0 && privileges_set_user(options->uid, options->gid, NULL) < 0)
    _exit(1);
  (void)privileges_drop_capabilities(0);
  (void)privileges_no_new();
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct pollfd control = {.fd = helper.sockets.control};
  do {
    control.revents = 0;
    attend(&helper, &control, -1);
  } while (control.revents == 0 || on_message(&helper));
  subprocess_free(helper.qemu);
  _exit(0);
}
