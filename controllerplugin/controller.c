/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/controller.h"

#include "lib/base/memory.h"

static const char *const kind_names[] = {
    [LOCK_VOLUME_NAME] = "volume",
    [LOCK_SNAPSHOT_NAME] = "snapshot",
    [LOCK_VOLUME] = "volume id",
    [LOCK_CHANGE] = "change of volume id",
};

struct keyed_lock *
controller_lock(struct controller *controller, enum lock_kind kind, const char *key,
                enum keyed_lock_mode mode, const char *purpose, struct error **err)
{
  CLEANUP(freep) char *full = xasprintf("%d/%s", (int)kind, key);
  struct keyed_lock_holder other;
  struct keyed_lock *lock = keyed_lock_try(controller->locks, full, mode, purpose, &other);
  if (lock)
    return lock;
  if (other.percent >= 0)
    error_make(err, ERROR_ABORTED, "%s '%s' is busy with %s, %d %% done: call again",
               kind_names[kind], key, other.purpose, other.percent);
  else
    error_make(err, ERROR_ABORTED, "%s '%s' is busy with %s: call again", kind_names[kind], key,
               other.purpose);
  return NULL;
}
