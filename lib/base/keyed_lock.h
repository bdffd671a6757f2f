/* SPDX-License-Identifier: Apache-2.0 */
/* Locks by name, tried and never waited for: a second call on a busy volume is told so at once and
 * comes again, which keeps threads free. A key is held by one (exclusive) or by many (shared).
 * Any thread may release what another took. */
#ifndef LIB_BASE_KEYED_LOCK_H
#define LIB_BASE_KEYED_LOCK_H

#include <stdbool.h>

#include "lib/base/cleanup.h"

struct keyed_locks;
struct keyed_lock;

enum keyed_lock_mode { KEYED_LOCK_SHARED, KEYED_LOCK_EXCLUSIVE };

struct keyed_locks *keyed_locks_new(void);
/* Every lock must have been released. */
void keyed_locks_free(struct keyed_locks *locks);
DEFINE_CLEANUP(struct keyed_locks *, keyed_locks_free)

/* Who has a key: what for, and how far it has come in percent, -1 when it does not say. */
struct keyed_lock_holder {
  const char *purpose;
  int percent;
};

/* `purpose` says what the key is taken for ("DeleteVolume"); not copied, so a literal.
 * NULL when the key is held in a way that does not go together with mode; then *ret_holder, if
 * asked for, tells who has it. */
struct keyed_lock *keyed_lock_try(struct keyed_locks *locks, const char *key,
                                  enum keyed_lock_mode mode, const char *purpose,
                                  struct keyed_lock_holder *ret_holder);
/* Lets the others know how far the work under this lock has come. */
void keyed_lock_report(struct keyed_lock *lock, int percent);
void keyed_lock_release(struct keyed_lock *lock);
DEFINE_CLEANUP(struct keyed_lock *, keyed_lock_release)

#endif
