/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/subprocess.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* What the new process needs beside the options, made before the fork: behind it no memory may be
 * allocated. */
struct launch {
  const struct subprocess_options *options;
  const char **env;
  char listen_pid[sizeof("LISTEN_PID=") + 12];
  char listen_fds[sizeof("LISTEN_FDS=") + 12];
  int report; /* errno goes here when the program could not be run */
  pid_t parent;
};

struct subprocess {
  pid_t pid;
  int pidfd;
  bool is_detached;
  bool has_ended;
  int status;
};

/* ---- in the new process ------------------------------------------------------------------------
 * Only async-signal-safe functions from here to launch_child(). */

/* Decimal digits of value behind what text holds. */
static void
append_number(char *text, unsigned value)
{
  char digits[12];
  size_t count = 0;
  do
    digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  char *at = text + strlen(text);
  while (count > 0)
    *at++ = digits[--count];
  *at = '\0';
}

static int
highest_target(const struct subprocess_options *options)
{
  int highest = 2;
  for (size_t i = 0; i < options->fd_count; i++) {
    if (options->fds[i].to > highest)
      highest = options->fds[i].to;
  }
  return highest;
}

static bool
is_target(const struct subprocess_options *options, int fd)
{
  for (size_t i = 0; i < options->fd_count; i++) {
    if (options->fds[i].to == fd)
      return true;
  }
  return false;
}

/* Every descriptor to its number, and nothing else left open. First all are copied out of the way:
 * a number may be one's source and another one's target. */
static int
arrange_fds(struct launch *launch)
{
  const struct subprocess_options *options = launch->options;
  int highest = highest_target(options);
  int copies[SUBPROCESS_FDS_MAX];
  launch->report = fcntl(launch->report, F_DUPFD_CLOEXEC, highest + 1);
  for (size_t i = 0; i < options->fd_count; i++)
    copies[i] = fcntl(options->fds[i].from, F_DUPFD_CLOEXEC, highest + 1);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  null = fcntl(null, F_DUPFD_CLOEXEC, highest + 1);
  if (launch->report < 0 || null < 0)
    return errno;
  for (int fd = 0; fd <= 2; fd++) {
    if (dup2(null, fd) < 0)
      return errno;
  }
  for (size_t i = 0; i < options->fd_count; i++) {
    if (copies[i] < 0 || dup2(copies[i], options->fds[i].to) < 0)
      return EBADF;
  }
  for (int fd = 3; fd <= highest; fd++) {
    if (!is_target(options, fd))
      (void)close(fd);
  }
  if (launch->report > highest + 1)
    (void)close_range((unsigned)highest + 1, (unsigned)launch->report - 1, 0);
  return close_range((unsigned)launch->report + 1, ~0U, 0) < 0 ? errno : 0;
}

/* Ours are blocked or handled as suits us. */
static void
reset_signals(void)
{
  struct sigaction action = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++)
    (void)sigaction(number, &action, NULL); /* fails for those that cannot be changed */
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
run_program(struct launch *launch)
{
  const struct subprocess_options *options = launch->options;
  if (options->is_detached ? setsid() < 0
                           : setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
    return errno;
  if (!options->is_detached && getppid() != launch->parent) /* it died before the line above */
    return ESRCH;
  int r = arrange_fds(launch);
  if (r != 0)
    return r;
  if (options->listen_fds > 0)
    append_number(launch->listen_pid, (unsigned)getpid());
  reset_signals();
  r = options->prepare ? options->prepare(options->context) : 0;
  if (r != 0)
    return r;
  (void)execve(options->program, (char *const *)options->argv, (char *const *)launch->env);
  return errno;
}

__attribute__((noreturn)) static void
launch_child(struct launch *launch)
{
  int failure = run_program(launch);
  ssize_t ignored = write(launch->report, &failure, sizeof(failure));
  (void)ignored;
  _exit(127);
}

/* ---- the thread that starts them ---------------------------------------------------------------
 */

static struct {
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  pid_t owner;           /* the process that the thread runs in: a forked copy has none */
  struct launch *launch; /* to be done, or NULL */
  pid_t pid;             /* the result, or -errno */
  bool is_done;
} starter = {.mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void *
starter_main(void *arg)
{
  (void)arg;
  (void)prctl(PR_SET_NAME, "subprocess");
  (void)pthread_mutex_lock(&starter.mutex);
  for (;;) {
    while (!starter.launch)
      (void)pthread_cond_wait(&starter.change, &starter.mutex);
    pid_t pid = fork();
    if (pid == 0)
      launch_child(starter.launch);
    starter.pid = pid < 0 ? -errno : pid;
    starter.launch = NULL;
    starter.is_done = true;
    (void)pthread_cond_broadcast(&starter.change);
  }
}

/* Called with the mutex held. */
static int
ensure_starter(void)
{
  if (starter.owner == getpid())
    return 0;
  starter.change = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* a copy believes to have waiters */
  pthread_t thread;
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the others */
  int r = pthread_create(&thread, NULL, starter_main, NULL);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (r != 0)
    return r;
  (void)pthread_detach(thread);
  starter.owner = getpid();
  return 0;
}

/* The pid, or -errno. */
static pid_t
fork_on_starter(struct launch *launch)
{
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  MUTEX_GUARD(&one_at_a_time);
  MUTEX_GUARD(&starter.mutex);
  int r = ensure_starter();
  if (r != 0)
    return -r;
  starter.launch = launch;
  starter.is_done = false;
  (void)pthread_cond_broadcast(&starter.change);
  while (!starter.is_done)
    (void)pthread_cond_wait(&starter.change, &starter.mutex);
  return starter.pid;
}

/* ---- detached ones that nobody holds any more --------------------------------------------------
 */

static struct {
  pthread_mutex_t mutex; /* guards all below */
  pid_t *pids;
  size_t count;
} let_go = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
let_go_of(pid_t pid)
{
  MUTEX_GUARD(&let_go.mutex);
  let_go.pids = xrealloc(let_go.pids, let_go.count + 1, sizeof(let_go.pids[0]));
  let_go.pids[let_go.count++] = pid;
}

void
subprocess_reap(void)
{
  MUTEX_GUARD(&let_go.mutex);
  size_t left = 0;
  for (size_t i = 0; i < let_go.count; i++) {
    if (waitpid(let_go.pids[i], NULL, WNOHANG) == 0) /* it still runs */
      let_go.pids[left++] = let_go.pids[i];
  }
  let_go.count = left;
  if (left == 0) {
    free(let_go.pids);
    let_go.pids = NULL;
  }
}

/* ---- what callers see --------------------------------------------------------------------------
 */

/* The environment with what systemd's socket activation adds; to be freed. */
static const char **
make_env(struct launch *launch)
{
  const struct subprocess_options *options = launch->options;
  size_t count = 0;
  while (options->env && options->env[count])
    count++;
  const char **env = xcalloc(count + 3, sizeof(*env));
  if (count > 0)
    memcpy(env, options->env, count * sizeof(*env));
  if (options->listen_fds > 0) {
    memcpy(launch->listen_pid, "LISTEN_PID=", sizeof("LISTEN_PID="));
    memcpy(launch->listen_fds, "LISTEN_FDS=", sizeof("LISTEN_FDS="));
    append_number(launch->listen_fds, options->listen_fds);
    env[count] = launch->listen_pid; /* the number follows when there is one */
    env[count + 1] = launch->listen_fds;
  }
  return env;
}

/* 0 when the program runs, else the errno that kept it from running. */
static int
wait_for_report(int fd)
{
  int failure = 0;
  ssize_t len;
  do
    len = read(fd, &failure, sizeof(failure));
  while (len < 0 && errno == EINTR);
  return len == (ssize_t)sizeof(failure) ? failure : 0;
}

int
subprocess_start(const struct subprocess_options *options, struct subprocess **ret_subprocess,
                 struct error **err)
{
  assert(options->program[0] == '/' && options->fd_count <= SUBPROCESS_FDS_MAX);
  subprocess_reap();
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0)
    return error_set_errno(err, errno, "run '%s'", options->program);
  struct launch launch = {.options = options, .report = report[1], .parent = getpid()};
  CLEANUP(closep) int report_in = report[0];
  CLEANUP(freep) const char **env = make_env(&launch);
  launch.env = env;
  pid_t pid = fork_on_starter(&launch);
  (void)close(report[1]);
  if (pid < 0)
    return error_set_errno(err, -pid, "run '%s'", options->program);
  CLEANUP(subprocess_freep) struct subprocess *subprocess = xcalloc(1, sizeof(*subprocess));
  subprocess->pid = pid;
  subprocess->is_detached = options->is_detached;
  subprocess->pidfd = pidfd_open(pid, 0);
  int failure = subprocess->pidfd < 0 ? errno : wait_for_report(report_in);
  if (failure != 0) {
    subprocess->is_detached = false; /* it never became one */
    return error_set_errno(err, failure, "run '%s'", options->program);
  }
  *ret_subprocess = TAKE(subprocess);
  return 0;
}

pid_t
subprocess_pid(const struct subprocess *subprocess)
{
  return subprocess->pid;
}

int
subprocess_pidfd(const struct subprocess *subprocess)
{
  return subprocess->pidfd;
}

/* Takes the status of one that has ended; waits for it when it has not. */
static void
reap(struct subprocess *subprocess)
{
  while (waitpid(subprocess->pid, &subprocess->status, 0) < 0 && errno == EINTR)
    ;
  subprocess->has_ended = true;
}

int
subprocess_wait(struct subprocess *subprocess, int64_t timeout_ms, int *ret_status,
                struct error **err)
{
  int64_t deadline_ms = timeout_ms < 0 ? CLOCK_NEVER_MS : clock_now_ms() + timeout_ms;
  struct pollfd poll_fd = {.fd = subprocess->pidfd, .events = POLLIN};
  while (!subprocess->has_ended) {
    int64_t left_ms = deadline_ms - clock_now_ms();
    int step_ms = left_ms > 60000 ? 60000 : left_ms > 0 ? (int)left_ms : 0;
    if (poll(&poll_fd, 1, step_ms) > 0) {
      subprocess_kill(subprocess); /* what it has left behind in its group */
      reap(subprocess);
    } else if (left_ms <= 0) {
      return error_set(err, ERROR_DEADLINE_EXCEEDED, "process %d still runs", (int)subprocess->pid);
    }
  }
  *ret_status = subprocess->status;
  return 0;
}

void
subprocess_kill(struct subprocess *subprocess)
{
  /* Behind the reaping the number may be another group's. */
  if (!subprocess->has_ended && kill(-subprocess->pid, SIGKILL) < 0)
    (void)kill(subprocess->pid, SIGKILL); /* it has no group yet */
}

void
subprocess_free(struct subprocess *subprocess)
{
  if (!subprocess)
    return;
  if (subprocess->is_detached && !subprocess->has_ended) {
    let_go_of(subprocess->pid);
  } else if (!subprocess->has_ended) {
    subprocess_kill(subprocess);
    reap(subprocess);
  }
  if (subprocess->pidfd >= 0)
    (void)close(subprocess->pidfd);
  free(subprocess);
}

const char *
subprocess_status_text(int status, char buf[SUBPROCESS_STATUS_MAX])
{
  if (WIFSIGNALED(status))
    (void)snprintf(buf, SUBPROCESS_STATUS_MAX, "killed by signal %d", WTERMSIG(status));
  else
    (void)snprintf(buf, SUBPROCESS_STATUS_MAX, "exit status %d", WEXITSTATUS(status));
  return buf;
}
