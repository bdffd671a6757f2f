/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: which system calls a process may still make. A filter is written as tables of rules,
 * compiled while memory may be allocated, and installed in one step that cannot be undone.
 *
 * Rules name what is allowed and conditions are equalities under a mask, never the other way round:
 * the kernel looks at 32 bits of an int where the filter sees 64, so what is not exactly as a rule
 * says must fall through to the refusal. */
#ifndef LIB_SANDBOX_SYSCALL_FILTER_H
#define LIB_SANDBOX_SYSCALL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

enum syscall_action {
  SYSCALL_ALLOW,
  SYSCALL_REFUSE,  /* EPERM */
  SYSCALL_UNKNOWN, /* ENOSYS: libraries then do without */
  SYSCALL_KILL,    /* the whole process: no healthy library calls it */
  SYSCALL_ASK,     /* whoever holds the listener decides */
};

#define SYSCALL_CONDITIONS_MAX 3

/* (argument & mask) == value */
struct syscall_condition {
  unsigned argument;
  uint64_t mask;
  uint64_t value;
};

/* Of several rules for one call, any may match. */
struct syscall_rule {
  const char *name; /* one that this machine does not have is left out */
  enum syscall_action action;
  unsigned condition_count;
  struct syscall_condition conditions[SYSCALL_CONDITIONS_MAX];
};

struct syscall_filter;

/* What no rule matches is refused. */
struct syscall_filter *syscall_filter_new(void);
void syscall_filter_free(struct syscall_filter *filter);
DEFINE_CLEANUP(struct syscall_filter *, syscall_filter_free)

void syscall_filter_add(struct syscall_filter *filter, const struct syscall_rule *rule);
/* One action for many names, which end with NULL. */
void syscall_filter_add_names(struct syscall_filter *filter, const char *const *names,
                              enum syscall_action action);
/* The last step before it can be installed. */
int syscall_filter_compile(struct syscall_filter *filter, struct error **err);

/* From here on the calling thread, and what it starts, is bound; needs no_new_privs.
 * Async-signal-safe. A listener is what asked questions are read from, see seccomp_unotify(2).
 * Returns 0, or the listener where one is wanted, or -errno. */
int syscall_filter_install(const struct syscall_filter *filter, bool has_listener);

#endif
