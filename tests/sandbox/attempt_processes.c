/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: its own, and those of others. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/process_id.h"
#include "tests/sandbox/attempt.h"

static int
execute(char *const *args)
{
  char *const argv[] = {args[0], NULL};
  (void)execve(args[0], argv, NULL);
  return errno;
}

static int
execute_at(char *const *args)
{
  char *const argv[] = {args[0], NULL};
  (void)syscall(SYS_execveat, AT_FDCWD, args[0], argv, NULL, 0);
  return errno;
}

static int
fork_once(char *const *args)
{
  (void)args;
  pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  return pid < 0 ? errno : 0;
}

static int
clone_flags(char *const *args)
{
  unsigned long flags = strtoul(args[0], NULL, 16);
  long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid == 0)
    _exit(0);
  return pid < 0 ? errno : 0;
}

static void *
thread_main(void *arg)
{
  (void)pthread_mutex_lock(arg);
  (void)pthread_mutex_unlock(arg);
  return NULL;
}

/* So many at once. */
static int
start_threads(char *const *args)
{
  unsigned wanted = (unsigned)strtoul(args[0], NULL, 10);
  unsigned started = 0;
  int r = 0;
  pthread_attr_t attr;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  CLEANUP(freep) pthread_t *threads = xcalloc(wanted, sizeof(*threads));
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, 64 << 10);
  (void)pthread_mutex_lock(&mutex);
  while (started < wanted &&
         (r = pthread_create(&threads[started], &attr, thread_main, &mutex)) == 0)
    started++;
  (void)pthread_mutex_unlock(&mutex);
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  (void)printf("%u threads\n", started);
  return r;
}

static int
trace(char *const *args)
{
  pid_t pid = (pid_t)strtol(args[0], NULL, 10);
  return ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0 ? errno : 0;
}

static int
read_memory(char *const *args)
{
  char byte;
  struct iovec to = {.iov_base = &byte, .iov_len = 1};
  struct iovec from = {.iov_len = 1};
  unsigned long address = strtoul(args[1], NULL, 16);
  memcpy(&from.iov_base, &address, sizeof(address));
  pid_t pid = (pid_t)strtol(args[0], NULL, 10);
  return process_vm_readv(pid, &to, 1, &from, 1, 0) < 0 ? errno : 0;
}

static int
send_signal(char *const *args)
{
  return kill((pid_t)strtol(args[0], NULL, 10), SIGUSR1) < 0 ? errno : 0;
}

/* The guard is the parent's other child, and must not be stopped, traced or signalled. */
static int
signal_group(char *const *args)
{
  (void)args;
  return kill(0, 0) < 0 ? errno : 0;
}

static int
become_root(char *const *args)
{
  (void)args;
  return setresuid(0, 0, 0) < 0 ? errno : 0;
}

static int
raise_limit(char *const *args)
{
  (void)args;
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  return setrlimit(RLIMIT_CORE, &limit) < 0 ? errno : 0;
}

static int
set_capabilities(char *const *args)
{
  (void)args;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2] = {0};
  return syscall(SYS_capset, &header, data) < 0 ? errno : 0;
}

static int
use_memory(char *const *args)
{
  size_t bytes = strtoul(args[0], NULL, 10) << 20;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return errno;
  return munmap(memory, bytes) < 0 ? errno : 0;
}

static int
map_writable_program(char *const *args)
{
  (void)args;
  int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
  void *memory = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? errno : 0;
}

static int
make_data_program(char *const *args)
{
  (void)args;
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0 ? errno : 0;
}

static int
be_dumpable(char *const *args)
{
  (void)args;
  return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? errno : 0;
}

/* Stays as it is until it is killed. */
static int
sleep_for_ever(char *const *args)
{
  (void)args;
  (void)printf("sleeping\n");
  (void)fflush(stdout);
  return poll(NULL, 0, -1) < 0 ? errno : 0;
}

/* Who it is, and then the same. */
static int
tell_process(char *const *args)
{
  CLEANUP(freep) char *id = process_id_self();
  (void)printf("%s\n", id ? id : "?");
  return sleep_for_ever(args);
}

/* What it finds out about another. */
static int
look_at_process(char *const *args)
{
  bool is_dead = process_id_is_dead(args[0]);
  bool is_alive = process_id_is_alive(args[0]);
  (void)printf("%s\n", is_dead ? "dead" : is_alive ? "alive" : "unknown");
  return 0;
}

/* Its own status: lines of /proc/self/status cannot be read, so the kernel is asked. */
static int
tell_privileges(char *const *args)
{
  (void)args;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2] = {0};
  struct rlimit core, files;
  (void)syscall(SYS_capget, &header, data);
  (void)getrlimit(RLIMIT_CORE, &core);
  (void)getrlimit(RLIMIT_NOFILE, &files);
  int bounding = 0;
  for (int i = 0; i < 64; i++)
    bounding += prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1;
  (void)printf("capabilities %x bounding %d no-new-privs %d dumpable %d core %lu files %lu "
               "uid %u gid %u groups %d\n",
               data[0].permitted | data[1].permitted, bounding,
               prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
               (unsigned long)core.rlim_max, (unsigned long)files.rlim_max, (unsigned)getuid(),
               (unsigned)getgid(), getgroups(0, NULL));
  return 0;
}

const struct attempt process_attempts[] = {
    {"exec", 1, execute},
    {"exec-at", 1, execute_at},
    {"fork", 0, fork_once},
    {"clone", 1, clone_flags},
    {"threads", 1, start_threads},
    {"trace", 1, trace},
    {"read-memory", 2, read_memory},
    {"signal", 1, send_signal},
    {"signal-group", 0, signal_group},
    {"become-root", 0, become_root},
    {"raise-limit", 0, raise_limit},
    {"set-capabilities", 0, set_capabilities},
    {"memory", 1, use_memory},
    {"map-writable-program", 0, map_writable_program},
    {"make-data-program", 0, make_data_program},
    {"be-dumpable", 0, be_dumpable},
    {"sleep", 0, sleep_for_ever},
    {"tell-process", 0, tell_process},
    {"look-at-process", 1, look_at_process},
    {"privileges", 0, tell_privileges},
    {0},
};
