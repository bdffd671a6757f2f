/* SPDX-License-Identifier: Apache-2.0 */
/* A pool's namespace with something of ours in its trash, as the purger sees it: when to look at it
 * again, how much is under way there, whether its lock is ours. */
#ifndef CONTROLLERPLUGIN_TRASH_PLOT_H
#define CONTROLLERPLUGIN_TRASH_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/ceph/location.h"

/* Only the purger's own thread uses the lock's fields; the others are under the purger's mutex. */
struct trash_plot {
  struct trash_plot *next;
  struct location *location; /* our own */
  bool is_due;               /* look at it as soon as may be */
  int64_t again_ms;          /* else at this time */
  unsigned running;          /* removals under way */
  bool has_removed;          /* since it was last listed: what was kept by a clone may go now */
  bool is_locked;            /* by us: trash_lock.h */
  int64_t renew_ms;          /* the lock, at this time, if removals are still under way */
};

/* What a plot needs. */
enum trash_care { TRASH_CARE_NONE, TRASH_CARE_LIST, TRASH_CARE_LOCK, TRASH_CARE_UNLOCK };

/* NULL when the location cannot be opened. */
struct trash_plot *trash_plot_new(struct location *location);
/* The lock must have been given up. */
void trash_plot_free(struct trash_plot *plot);

bool trash_plot_is_at(const struct trash_plot *plot, const struct location *location);
/* What it needs now; with TRASH_CARE_NONE, *ret_until_ms is when that may change by itself. */
enum trash_care trash_plot_care(const struct trash_plot *plot, int64_t now_ms,
                                int64_t *ret_until_ms);
/* It is looked at again some time later. */
void trash_plot_put_off(struct trash_plot *plot);

/* Takes or renews the lock: whether the trash is ours to empty. */
bool trash_plot_lock(struct trash_plot *plot);
void trash_plot_unlock(struct trash_plot *plot);

#endif
