/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up for good: user, capabilities, and the means to get any back; and how much
 * it may use. All of it counts for the whole process or the calling thread, so it is done before
 * there are others. Everything here but privileges_set_user() is async-signal-safe. */
#ifndef LIB_SANDBOX_PRIVILEGES_H
#define LIB_SANDBOX_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* Becomes another user, without further groups. Keeps what was set about dying with the parent,
 * which the kernel forgets at a change of user. */
int privileges_set_user(uid_t uid, gid_t gid, struct error **err);
/* No program that it runs gains anything: set-user-id bits and file capabilities do not count.
 * 0 or an errno. */
int privileges_no_new(void);
/* Nothing that it will ever run can gain a capability. Where it may not say so nothing is lost:
 * without privileges_no_new() it counts, with that it is a second lock on the same door. */
void privileges_empty_bounding_set(void);
/* Keeps of its capabilities only those of `keep` (bits by number), which it gets effective. 0 or an
 * errno. */
int privileges_drop_capabilities(uint64_t keep);
bool privileges_have_capability(int number);

/* 0 leaves a limit as it is. Limits are only ever lowered. */
struct privileges_limits {
  uint64_t files;        /* descriptors */
  uint64_t data_bytes;   /* private memory that can be written */
  uint64_t memory_bytes; /* address space as a whole */
  uint64_t processes;    /* of this user; counts threads, and only where it is not root */
  uint64_t cpu_seconds;
};

/* No core files either: they would hold keys. 0 or an errno. */
int privileges_limit(const struct privileges_limits *limits);

#endif
