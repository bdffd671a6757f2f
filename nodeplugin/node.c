/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/node.h"

#include "csi/volume/volume_id.h"

struct keyed_lock *
node_lock(struct node *node, const char *volume_id, const char *purpose, struct error **err)
{
  struct keyed_lock_holder other;
  struct keyed_lock *lock =
      keyed_lock_try(node->locks, volume_id, KEYED_LOCK_EXCLUSIVE, purpose, &other);
  if (!lock)
    error_make(err, ERROR_ABORTED, "volume '%.*s' is busy with %s: call again", VOLUME_ID_MAX,
               volume_id, other.purpose);
  return lock;
}

struct keyed_lock *
node_lock_path(struct node *node, const char *path, const char *purpose, struct error **err)
{
  struct keyed_lock_holder other;
  struct keyed_lock *lock =
      keyed_lock_try(node->locks, path, KEYED_LOCK_EXCLUSIVE, purpose, &other);
  if (!lock)
    error_make(err, ERROR_ABORTED, "'%.256s' is busy with %s of another volume: call again", path,
               other.purpose);
  return lock;
}
