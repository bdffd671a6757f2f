/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define LONG_MS 20000

/* What a program wrote until it closed the pipe, to be freed. */
static char *
read_all(int fd)
{
  char text[4096];
  size_t len = 0;
  ssize_t got;
  while (len < sizeof(text) - 1 && (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
    len += (size_t)got;
  return xstrndup(text, len);
}

/* Runs a program to its end; its output, to be freed. */
static char *
output_of(const struct subprocess_options *given, int *ret_status)
{
  struct subprocess_options options = *given;
  int pipe_fds[2];
  REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
  struct subprocess_fd fds[SUBPROCESS_FDS_MAX] = {{.from = pipe_fds[1], .to = 1}};
  for (size_t i = 0; i < given->fd_count; i++)
    fds[i + 1] = given->fds[i];
  options.fds = fds;
  options.fd_count = given->fd_count + 1;
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(subprocess_freep) struct subprocess *subprocess = NULL;
  int r = subprocess_start(&options, &subprocess, &err);
  (void)close(pipe_fds[1]);
  char *output = read_all(pipe_fds[0]);
  (void)close(pipe_fds[0]);
  REQUIRE(r == 0);
  REQUIRE(subprocess_wait(subprocess, LONG_MS, ret_status, &err) == 0);
  return output;
}

static struct subprocess *
start_sleep(void)
{
  const char *const argv[] = {"sleep", "1000", NULL};
  struct subprocess_options options = {.program = "/bin/sleep", .argv = argv};
  struct subprocess *subprocess = NULL;
  REQUIRE(subprocess_start(&options, &subprocess, NULL) == 0);
  return subprocess;
}

static void
test_arguments_are_passed_as_they_are(void)
{
  const char *const argv[] = {"printf", "<%s>", "a b", "$HOME", "", "*", NULL};
  int status = -1;
  CLEANUP(freep)
  char *output =
      output_of(&(struct subprocess_options){.program = "/usr/bin/printf", .argv = argv}, &status);
  CHECK_STRING(output, "<a b><$HOME><><*>");
  CHECK_NUMBER(status, 0);
}

static void
test_environment_is_only_what_is_given(void)
{
  const char *const argv[] = {"env", NULL};
  const char *const env[] = {"ONE=1", "TWO=2", NULL};
  int status = -1;
  (void)setenv("IMPRINT_TEST_LEAK", "1", 1);
  CLEANUP(freep)
  char *output = output_of(
      &(struct subprocess_options){.program = "/usr/bin/env", .argv = argv, .env = env}, &status);
  CHECK_STRING(output, "ONE=1\nTWO=2\n");
  CLEANUP(freep)
  char *empty =
      output_of(&(struct subprocess_options){.program = "/usr/bin/env", .argv = argv}, &status);
  CHECK_STRING(empty, "");
}

/* fds 4 and 7 trade places on their way; 9, without close-on-exec, must not get through. */
static void
test_descriptors_are_only_those_named(void)
{
  int a[2], b[2];
  REQUIRE(pipe2(a, O_CLOEXEC) == 0 && pipe2(b, O_CLOEXEC) == 0);
  int four = fcntl(a[0], F_DUPFD_CLOEXEC, 100);
  int leaked = dup(a[0]);
  const char *const argv[] = {"sh", "-c",
                              "echo /proc/self/fd/*; read x <&5; read y <&3; echo $x $y", NULL};
  struct subprocess_fd fds[] = {{.from = four, .to = 5}, {.from = b[0], .to = 3}};
  REQUIRE(write(a[1], "a\n", 2) == 2 && write(b[1], "b\n", 2) == 2);
  int status = -1;
  CLEANUP(freep)
  char *output = output_of(
      &(struct subprocess_options){.program = "/bin/sh", .argv = argv, .fds = fds, .fd_count = 2},
      &status);
  /* the shell's own glob opens one more */
  CU_ASSERT_PTR_NOT_NULL(strstr(output, "/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3"));
  CU_ASSERT_PTR_NOT_NULL(strstr(output, "\na b\n"));
  char leaked_path[32];
  (void)snprintf(leaked_path, sizeof(leaked_path), "/fd/%d", leaked > 5 ? leaked : 1000);
  CU_ASSERT_PTR_NULL(strstr(output, leaked_path));
  const int all[] = {a[0], a[1], b[0], b[1], four, leaked};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    (void)close(all[i]);
}

static void
test_descriptors_may_trade_places(void)
{
  int a[2], b[2];
  REQUIRE(pipe2(a, O_CLOEXEC) == 0 && pipe2(b, O_CLOEXEC) == 0);
  int low = fcntl(a[0], F_DUPFD_CLOEXEC, 3);
  int high = fcntl(b[0], F_DUPFD_CLOEXEC, low + 1);
  CLEANUP(freep) char *script = xasprintf("read x <&%d; read y <&%d; echo $x $y", low, high);
  const char *const argv[] = {"bash", "-c", script, NULL}; /* sh has one digit for descriptors */
  struct subprocess_fd fds[] = {{.from = low, .to = high}, {.from = high, .to = low}};
  REQUIRE(write(a[1], "a\n", 2) == 2 && write(b[1], "b\n", 2) == 2);
  int status = -1;
  CLEANUP(freep)
  char *output = output_of(
      &(struct subprocess_options){.program = "/bin/bash", .argv = argv, .fds = fds, .fd_count = 2},
      &status);
  CHECK_STRING(output, "b a\n");
  const int all[] = {a[0], a[1], b[0], b[1], low, high};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    (void)close(all[i]);
}

static void
test_listening_sockets_are_told_with_its_own_pid(void)
{
  const char *const argv[] = {"sh", "-c", "echo $LISTEN_FDS; test $LISTEN_PID = $$ && echo mine",
                              NULL};
  int status = -1;
  CLEANUP(freep)
  char *output = output_of(
      &(struct subprocess_options){.program = "/bin/sh", .argv = argv, .listen_fds = 1}, &status);
  CHECK_STRING(output, "1\nmine\n");
}

static void
test_signals_are_as_a_new_program_expects_them(void)
{
  sigset_t blocked, before;
  (void)sigemptyset(&blocked);
  (void)sigaddset(&blocked, SIGTERM);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
  (void)signal(SIGPIPE, SIG_IGN);
  const char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
  int status = -1;
  CLEANUP(freep)
  char *output =
      output_of(&(struct subprocess_options){.program = "/bin/grep", .argv = argv}, &status);
  CHECK_STRING(output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  (void)signal(SIGPIPE, SIG_DFL);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
test_program_that_is_not_there_is_an_error(void)
{
  const char *const argv[] = {"x", NULL};
  struct subprocess_options options = {.program = "/nonexistent/x", .argv = argv};
  struct subprocess *subprocess = NULL;
  struct error *err = NULL;
  CHECK_NUMBER(subprocess_start(&options, &subprocess, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "run '/nonexistent/x'");
  CU_ASSERT_PTR_NULL(subprocess);
  options.program = "/etc/passwd";
  CHECK_NUMBER(subprocess_start(&options, &subprocess, &err), -1);
  CHECK_ERROR(&err, ERROR_PERMISSION_DENIED, "run '/etc/passwd'");
}

static void
test_descriptor_that_is_not_open_is_an_error(void)
{
  const char *const argv[] = {"true", NULL};
  struct subprocess_fd fds[] = {{.from = 900, .to = 5}};
  struct subprocess_options options = {
      .program = "/bin/true", .argv = argv, .fds = fds, .fd_count = 1};
  struct subprocess *subprocess = NULL;
  struct error *err = NULL;
  CHECK_NUMBER(subprocess_start(&options, &subprocess, &err), -1);
  CHECK_ERROR(&err, ERROR_INTERNAL, "Bad file descriptor");
}

static int
limit_files(void *context)
{
  struct rlimit limit = {.rlim_cur = *(int *)context, .rlim_max = *(int *)context};
  return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? errno : 0;
}

static int
refuse(void *context)
{
  (void)context;
  return EPERM;
}

static void
test_preparation_runs_over_there(void)
{
  const char *const argv[] = {"sh", "-c", "ulimit -n", NULL};
  int limit = 17;
  struct subprocess_options options = {
      .program = "/bin/sh", .argv = argv, .prepare = limit_files, .context = &limit};
  int status = -1;
  CLEANUP(freep) char *output = output_of(&options, &status);
  CHECK_STRING(output, "17\n");
  struct subprocess *subprocess = NULL;
  struct error *err = NULL;
  options.prepare = refuse;
  CHECK_NUMBER(subprocess_start(&options, &subprocess, &err), -1);
  CHECK_ERROR(&err, ERROR_PERMISSION_DENIED, "run '/bin/sh'");
}

static void
test_status_is_told_and_kept(void)
{
  const char *const argv[] = {"sh", "-c", "exit 7", NULL};
  char text[SUBPROCESS_STATUS_MAX];
  int status = -1;
  CLEANUP(freep)
  char *output =
      output_of(&(struct subprocess_options){.program = "/bin/sh", .argv = argv}, &status);
  CHECK_STRING(output, "");
  CHECK_NUMBER(WEXITSTATUS(status), 7);
  CHECK_STRING(subprocess_status_text(status, text), "exit status 7");
  CLEANUP(subprocess_freep) struct subprocess *sleeper = start_sleep();
  subprocess_kill(sleeper);
  for (int i = 0; i < 2; i++) {
    CHECK_NUMBER(subprocess_wait(sleeper, LONG_MS, &status, NULL), 0);
    CHECK_STRING(subprocess_status_text(status, text), "killed by signal 9");
  }
  subprocess_kill(sleeper); /* fine */
}

static void
test_waiting_has_a_limit(void)
{
  CLEANUP(subprocess_freep) struct subprocess *sleeper = start_sleep();
  struct error *err = NULL;
  int status;
  int64_t begin_ms = clock_now_ms();
  CHECK_NUMBER(subprocess_wait(sleeper, 50, &status, &err), -1);
  CHECK_ERROR(&err, ERROR_DEADLINE_EXCEEDED, "still runs");
  CU_ASSERT(clock_now_ms() - begin_ms >= 50);
  CHECK_NUMBER(subprocess_wait(sleeper, 0, &status, NULL), -1);
}

/* True once the process is gone, or a zombie that somebody else has to reap. */
static bool
ends_soon(pid_t pid)
{
  CLEANUP(freep) char *path = xasprintf("/proc/%d/stat", (int)pid);
  for (int64_t until_ms = clock_now_ms() + LONG_MS; clock_now_ms() < until_ms; usleep(1000)) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char stat[512] = "";
    if (fd < 0 || read(fd, stat, sizeof(stat) - 1) <= 0)
      return true;
    const char *state = strrchr(stat, ')');
    if (state && state[2] == 'Z')
      return true;
  }
  return false;
}

/* Starts a shell that leaves a child in its group, whose pid is returned. */
static pid_t
start_with_child(const char *script, struct subprocess **ret_subprocess)
{
  const char *const argv[] = {"sh", "-c", script, NULL};
  int pipe_fds[2];
  REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
  struct subprocess_fd fds[] = {{.from = pipe_fds[1], .to = 1}};
  struct subprocess_options options = {
      .program = "/bin/sh", .argv = argv, .fds = fds, .fd_count = 1};
  REQUIRE(subprocess_start(&options, ret_subprocess, NULL) == 0);
  char digits[16] = "";
  REQUIRE(read(pipe_fds[0], digits, sizeof(digits) - 1) > 0);
  (void)close(pipe_fds[0]);
  (void)close(pipe_fds[1]);
  return (pid_t)strtol(digits, NULL, 10);
}

static void
test_the_whole_group_is_killed(void)
{
  struct subprocess *subprocess = NULL;
  pid_t child = start_with_child("sleep 1000 & echo $!; wait", &subprocess);
  CHECK_NUMBER(getpgid(child), subprocess_pid(subprocess));
  CHECK_NUMBER(getpgid(subprocess_pid(subprocess)), subprocess_pid(subprocess));
  subprocess_free(subprocess);
  CU_ASSERT(ends_soon(child));
}

static void
test_what_outlives_the_leader_is_killed(void)
{
  CLEANUP(subprocess_freep) struct subprocess *subprocess = NULL;
  pid_t child = start_with_child("sleep 1000 & echo $!", &subprocess);
  int status;
  CHECK_NUMBER(subprocess_wait(subprocess, LONG_MS, &status, NULL), 0);
  CU_ASSERT(ends_soon(child));
}

/* A process in between starts the sleeper and is killed. */
static void
test_it_dies_with_us(void)
{
  int pipe_fds[2];
  REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
  pid_t between = fork();
  if (between == 0) {
    struct subprocess *sleeper = start_sleep();
    pid_t pid = subprocess_pid(sleeper);
    (void)!write(pipe_fds[1], &pid, sizeof(pid));
    (void)pause();
    _exit(0);
  }
  (void)close(pipe_fds[1]);
  pid_t sleeper = 0;
  REQUIRE(read(pipe_fds[0], &sleeper, sizeof(sleeper)) == sizeof(sleeper));
  CHECK_NUMBER(kill(sleeper, 0), 0);
  (void)kill(between, SIGKILL);
  (void)waitpid(between, NULL, 0);
  CU_ASSERT(ends_soon(sleeper));
  (void)close(pipe_fds[0]);
}

static void *
start_and_leave(void *arg)
{
  *(struct subprocess **)arg = start_sleep();
  return NULL;
}

static void
test_it_outlives_the_thread_that_started_it(void)
{
  struct subprocess *sleeper = NULL;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, start_and_leave, &sleeper) == 0);
  (void)pthread_join(thread, NULL);
  int status;
  CHECK_NUMBER(subprocess_wait(sleeper, 100, &status, NULL), -1);
  subprocess_free(sleeper);
}

static struct subprocess *
start_detached(void)
{
  const char *const argv[] = {"sleep", "1000", NULL};
  struct subprocess_options options = {.program = "/bin/sleep", .argv = argv, .is_detached = true};
  struct subprocess *subprocess = NULL;
  REQUIRE(subprocess_start(&options, &subprocess, NULL) == 0);
  return subprocess;
}

/* A process in between starts the sleeper and is killed. */
static void
test_a_detached_one_outlives_us(void)
{
  int pipe_fds[2];
  REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
  pid_t between = fork();
  if (between == 0) {
    pid_t pid = subprocess_pid(start_detached());
    (void)!write(pipe_fds[1], &pid, sizeof(pid));
    (void)pause();
    _exit(0);
  }
  (void)close(pipe_fds[1]);
  pid_t sleeper = 0;
  REQUIRE(read(pipe_fds[0], &sleeper, sizeof(sleeper)) == sizeof(sleeper));
  (void)kill(between, SIGKILL);
  (void)waitpid(between, NULL, 0);
  CHECK_NUMBER(kill(sleeper, 0), 0);
  CHECK_NUMBER(getsid(sleeper), sleeper);
  (void)kill(sleeper, SIGKILL);
  (void)close(pipe_fds[0]);
}

static void
test_a_detached_one_outlives_its_handle(void)
{
  struct subprocess *subprocess = start_detached();
  pid_t pid = subprocess_pid(subprocess);
  subprocess_free(subprocess);
  CHECK_NUMBER(kill(pid, 0), 0);
  (void)kill(pid, SIGKILL);
  int64_t deadline_ms = clock_now_ms() + LONG_MS;
  while (kill(pid, 0) == 0 && clock_now_ms() < deadline_ms)
    subprocess_reap(); /* it is no zombie for ever */
  CHECK_NUMBER(kill(pid, 0), -1);
}

UNIT_MAIN("lib/base/subprocess", UNIT_TEST(test_arguments_are_passed_as_they_are),
          UNIT_TEST(test_environment_is_only_what_is_given),
          UNIT_TEST(test_descriptors_are_only_those_named),
          UNIT_TEST(test_descriptors_may_trade_places),
          UNIT_TEST(test_listening_sockets_are_told_with_its_own_pid),
          UNIT_TEST(test_signals_are_as_a_new_program_expects_them),
          UNIT_TEST(test_program_that_is_not_there_is_an_error),
          UNIT_TEST(test_descriptor_that_is_not_open_is_an_error),
          UNIT_TEST(test_preparation_runs_over_there), UNIT_TEST(test_status_is_told_and_kept),
          UNIT_TEST(test_waiting_has_a_limit), UNIT_TEST(test_the_whole_group_is_killed),
          UNIT_TEST(test_what_outlives_the_leader_is_killed), UNIT_TEST(test_it_dies_with_us),
          UNIT_TEST(test_it_outlives_the_thread_that_started_it),
          UNIT_TEST(test_a_detached_one_outlives_us),
          UNIT_TEST(test_a_detached_one_outlives_its_handle))
