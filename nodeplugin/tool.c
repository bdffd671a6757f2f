/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/tool.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/base/memory.h"
#include "lib/base/subprocess.h"
#include "nodeplugin/sys_call.h"

/* As much of its output as a message can hold. */
#define SAID_MAX 400

static const char *const folders[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};

/* No locale, and nothing of ours. */
static const char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};

char *
tool_find(const char *name)
{
  for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
    char *path = xasprintf("%s/%s", folders[i], name);
    if (access(path, X_OK) == 0)
      return path;
    free(path);
  }
  return NULL;
}

char *
tool_say(int fd)
{
  char text[SAID_MAX + 1];
  off_t size = lseek(fd, 0, SEEK_END);
  off_t from = size > SAID_MAX ? size - SAID_MAX : 0;
  ssize_t len = pread(fd, text, SAID_MAX, from);
  size_t out = 0;
  bool was_blank = true; /* runs of blanks become one */
  for (ssize_t i = 0; i < len; i++) {
    bool is_blank = (unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f;
    if (!is_blank || !was_blank)
      text[out++] = is_blank ? ' ' : text[i];
    was_blank = is_blank;
  }
  while (out > 0 && text[out - 1] == ' ')
    out--;
  return xstrndup(text, out);
}

static int
wait_for(struct subprocess *subprocess, const char *name, int64_t timeout_ms, int *ret_status,
         struct error **err)
{
  int status;
  if (subprocess_wait(subprocess, timeout_ms, &status, NULL) < 0) {
    subprocess_kill(subprocess);
    return error_set(err, ERROR_DEADLINE_EXCEEDED, "%s did not end within %lld s and was killed",
                     name, (long long)timeout_ms / 1000);
  }
  *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_KILLED;
  return 0;
}

int
tool_run(const char *const *argv, int64_t timeout_ms, int *ret_status, char **ret_output,
         struct error **err)
{
  CLEANUP(freep) char *program = tool_find(argv[0]);
  if (!program)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s is not installed on this node", argv[0]);
  CLEANUP(closep) int output = memfd_create("output", MFD_CLOEXEC);
  CLEANUP(closep) int errors = memfd_create("errors", MFD_CLOEXEC);
  if (output < 0 || errors < 0)
    return error_set_errno(err, errno, "run %s", argv[0]);
  const struct subprocess_fd fds[] = {{.from = output, .to = 1}, {.from = errors, .to = 2}};
  struct subprocess_options options = {
      .program = program, .argv = argv, .env = environment, .fds = fds, .fd_count = 2};
  CLEANUP(subprocess_freep) struct subprocess *subprocess = NULL;
  int status;
  if (SYS_CALL(subprocess_start(&options, &subprocess, err)) < 0 ||
      SYS_CALL(wait_for(subprocess, argv[0], timeout_ms, &status, err)) < 0)
    return -1;
  if (ret_status)
    *ret_status = status;
  if (ret_output)
    *ret_output = tool_say(lseek(errors, 0, SEEK_END) > 0 ? errors : output);
  return 0;
}

int
tool_must(const char *const *argv, int64_t timeout_ms, struct error **err)
{
  int status;
  CLEANUP(freep) char *output = NULL;
  if (tool_run(argv, timeout_ms, &status, &output, err) < 0)
    return -1;
  if (status != 0)
    return error_set(err, ERROR_INTERNAL, "%s ended with status %d: %s", argv[0], status, output);
  return 0;
}
