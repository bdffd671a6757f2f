/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for a qemu-nbd that has been taken over by the image it reads: it waits until the first
 * byte of the file is on its way, then tries whatever it should not be able to do, and says on
 * stderr, in one line, what of it it could. It is run as qemu-nbd is, with the sockets that one
 * gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_FD 4

static char done[1024]; /* what could be done */
static unsigned tried;

static void
say(const char *what, bool could)
{
  size_t len = strlen(done);
  tried++;
  if (could)
    (void)snprintf(done + len, sizeof(done) - len, ", %s", what);
}

static bool
can_open(const char *path, int flags)
{
  int fd = open(path, flags | O_CLOEXEC, 0600);
  if (fd >= 0)
    (void)close(fd);
  return fd >= 0;
}

static bool
can_make_socket(int domain, int type)
{
  int fd = socket(domain, type, 0);
  if (fd >= 0)
    (void)close(fd);
  return fd >= 0;
}

static bool
can_fork(void)
{
  pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  return pid > 0;
}

static bool
can_execute(const char *path)
{
  char *const argv[] = {"x", NULL};
  (void)execve(path, argv, NULL);
  return false; /* it is not here any more if it could */
}

static bool
can_map(size_t bytes)
{
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
         MAP_FAILED;
}

static bool
can_receive_file(void)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
  return connect(FILE_FD, (struct sockaddr *)&address, sizeof(address)) == 0;
}

/* As a client of ours: its flags, and a question whose answer shows that files are closed. */
static void
wait_for_the_file(void)
{
  char greeting[18], answer[20];
  uint32_t flags = __builtin_bswap32(3);
  unsigned char list[16] = "IHAVEOPT\0\0\0\x03\0\0\0\0";
  if (recv(FILE_FD, greeting, sizeof(greeting), MSG_WAITALL) != sizeof(greeting) ||
      send(FILE_FD, &flags, sizeof(flags), 0) != sizeof(flags) ||
      send(FILE_FD, list, sizeof(list), 0) != sizeof(list) ||
      recv(FILE_FD, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
    _exit(9);
}

int
main(int argc, char **argv)
{
  (void)argc;
  say("before: password", can_open("/etc/passwd", O_RDONLY));
  say("before: library", can_open("/usr/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY));
  say("before: new file", can_open("/tmp/imprint-jail-probe", O_WRONLY | O_CREAT));
  wait_for_the_file();
  say("password", can_open("/etc/passwd", O_RDONLY));
  say("library", can_open("/usr/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY));
  say("itself", can_open(argv[0], O_RDONLY));
  say("memory of the parent", can_open("/proc/1/mem", O_RDONLY));
  say("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0) >= 0);
  say("handle", syscall(SYS_open_by_handle_at, 0, NULL, 0) >= 0);
  say("tcp", can_make_socket(AF_INET, SOCK_STREAM));
  say("udp", can_make_socket(AF_INET, SOCK_DGRAM));
  say("unix", can_make_socket(AF_UNIX, SOCK_STREAM));
  say("connect", can_receive_file());
  say("fork", can_fork());
  say("exec", can_execute("/bin/true"));
  say("exec itself", can_execute("/proc/self/exe"));
  say("trace", ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
  say("kill", kill(getppid(), SIGKILL) == 0);
  say("mount", mount("none", "/mnt", "tmpfs", 0, NULL) == 0);
  say("unlink", unlink("/tmp/x") == 0);
  say("seccomp", syscall(SYS_seccomp, 0, 0, NULL) == 0);
  say("bpf", syscall(SYS_bpf, 0, NULL, 0) >= 0);
  say("three gigabytes", can_map((size_t)3 << 30));
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  say("limits", setrlimit(RLIMIT_AS, &limit) == 0);
  (void)fprintf(stderr, "user %u tried %u things and could do: %s\n", (unsigned)getuid(), tried,
                done[0] ? done + 2 : "nothing");
  return 1;
}
