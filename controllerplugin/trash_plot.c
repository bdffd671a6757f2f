/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/trash_plot.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/cluster.h"
#include "lib/ceph/trash_lock.h"

/* What could not be removed is tried again after this. */
#define RETRY_MS 25000
#define RETRY_SPREAD_MS 10000
/* How often the lock on a trash is renewed while removals are under way. */
#define RENEW_MS (TRASH_LOCK_SECONDS * 1000 / 4)

struct trash_plot *
trash_plot_new(struct location *location)
{
  struct location *own;
  if (location_reopen(location, &own, NULL) < 0)
    return NULL;
  struct trash_plot *plot = xcalloc(1, sizeof(*plot));
  plot->location = own;
  return plot;
}

void
trash_plot_free(struct trash_plot *plot)
{
  location_close(plot->location);
  free(plot);
}

bool
trash_plot_is_at(const struct trash_plot *plot, const struct location *location)
{
  return plot->location->cluster == location->cluster &&
         plot->location->pool_id == location->pool_id &&
         strcmp(plot->location->name_space, location->name_space) == 0;
}

enum trash_care
trash_plot_care(const struct trash_plot *plot, int64_t now_ms, int64_t *ret_until_ms)
{
  bool is_busy = plot->running > 0; /* its last removal wakes the purger */
  *ret_until_ms = is_busy ? plot->renew_ms : plot->again_ms;
  if (is_busy)
    return plot->is_locked && plot->renew_ms <= now_ms ? TRASH_CARE_LOCK : TRASH_CARE_NONE;
  if (plot->is_due || plot->again_ms <= now_ms)
    return TRASH_CARE_LIST;
  return plot->is_locked ? TRASH_CARE_UNLOCK : TRASH_CARE_NONE;
}

/* Two controllers that are in each other's way should not meet there again and again: each has a
 * number of its own. */
void
trash_plot_put_off(struct trash_plot *plot)
{
  uint64_t own = cluster_client_id(plot->location->cluster);
  plot->again_ms = clock_now_ms() + RETRY_MS + (int64_t)(own * 997 % RETRY_SPREAD_MS);
}

bool
trash_plot_lock(struct trash_plot *plot)
{
  CLEANUP(error_freep) struct error *err = NULL;
  bool is_ours = false;
  if (trash_lock_take(plot->location, &is_ours, &err) < 0)
    log_debug("locking a trash failed, it is tried again: %s", err->message);
  plot->is_locked = is_ours;
  plot->renew_ms = clock_now_ms() + RENEW_MS;
  return is_ours;
}

void
trash_plot_unlock(struct trash_plot *plot)
{
  if (plot->is_locked)
    trash_lock_release(plot->location);
  plot->is_locked = false;
}
