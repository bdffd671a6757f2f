/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: which files a process, and whatever it starts, may still reach. A ruleset is made
 * first; taking it upon oneself is one system call that cannot be undone, and counts for the
 * calling thread and for those that it starts later. */
#ifndef LIB_SANDBOX_LANDLOCK_H
#define LIB_SANDBOX_LANDLOCK_H

#include <stdbool.h>

#include "lib/base/error.h"

/* Lists of paths end with NULL and may be NULL. A folder stands for all below it. Paths that do not
 * exist are left out. */
struct landlock_options {
  const char *const *read;
  const char *const *write;   /* files there may also be made and removed */
  const char *const *execute; /* read and run */
  bool denies_connecting;     /* by TCP; where the kernel can, from ABI 4 on */
};

/* What the running kernel has; 0: nothing. */
int landlock_abi(void);
/* Binding TCP sockets, signals to others and abstract unix sockets are denied as well where the
 * kernel can. The result is a descriptor for landlock_restrict(). */
int landlock_ruleset(const struct landlock_options *options, int *ret_fd, struct error **err);
/* From here on the calling thread is bound. 0 or an errno; async-signal-safe. Needs
 * no_new_privs. */
int landlock_restrict(int ruleset_fd);

#endif
