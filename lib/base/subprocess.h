/* SPDX-License-Identifier: Apache-2.0 */
/* Runs another program: with exactly the arguments, the environment and the descriptors that are
 * named, in a process group of its own. No shell, no search of a path, nothing inherited by
 * accident. It is killed when this process dies, unless it is meant to outlive it.
 *
 * All are started by one thread that lives as long as the process, because the kernel ties "dies
 * with its parent" to the thread that forked. Any thread may use a subprocess, one at a time. */
#ifndef LIB_BASE_SUBPROCESS_H
#define LIB_BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

struct subprocess;

/* A descriptor of ours, and its number over there. */
struct subprocess_fd {
  int from;
  int to;
};

/* Most descriptors that can be handed over. */
#define SUBPROCESS_FDS_MAX 16

struct subprocess_options {
  const char *program;             /* an absolute path */
  const char *const *argv;         /* ends with NULL */
  const char *const *env;          /* ends with NULL; NULL: empty */
  const struct subprocess_fd *fds; /* 0, 1 and 2 are /dev/null unless they are named here */
  size_t fd_count;
  /* In a session of its own; goes on when this process dies, and when the handle is freed. */
  bool is_detached;
  unsigned listen_fds; /* so many from 3 on are listening sockets, told as systemd tells it */
  /* Called in the new process as its last step, for limits and sandboxes; may be NULL. 0 or an
   * errno. Other threads' locks may be held for ever there: only async-signal-safe functions. */
  int (*prepare)(void *context);
  void *context;
};

/* Returns when the program runs, or could not be run. */
int subprocess_start(const struct subprocess_options *options, struct subprocess **ret_subprocess,
                     struct error **err);
/* Kills the group if it still runs and is not detached. */
void subprocess_free(struct subprocess *subprocess);
DEFINE_CLEANUP(struct subprocess *, subprocess_free)

pid_t subprocess_pid(const struct subprocess *subprocess);
/* Readable once the program has ended: for poll(). */
int subprocess_pidfd(const struct subprocess *subprocess);

/* Waits until it has ended; *ret_status is as waitpid() has it, also when asked again.
 * DEADLINE_EXCEEDED when the time is over first; a negative one is endless. */
int subprocess_wait(struct subprocess *subprocess, int64_t timeout_ms, int *ret_status,
                    struct error **err);
/* SIGKILL to the whole group. Fine when it has ended. */
void subprocess_kill(struct subprocess *subprocess);

/* Detached ones whose handles were freed leave zombies when they end: takes those away. Every start
 * does it too; a process that lives long and starts little calls it now and then. */
void subprocess_reap(void);

/* Room for the result of subprocess_status_text(). */
#define SUBPROCESS_STATUS_MAX 64
/* "exit status 1", "killed by signal 9". Returns buf. */
const char *subprocess_status_text(int status, char buf[SUBPROCESS_STATUS_MAX]);

#endif
