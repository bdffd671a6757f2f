/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/passing_snapshot.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/passing_name.h"

enum state {
  GATHERING, /* not begun: whoever comes may join */
  TAKING,
  TAKEN,
  FAILED,
};

struct passing_snapshot {
  struct passing_snapshots *owner;
  struct passing_snapshot *next;
  char *volume_id;
  char *name;
  enum state state;
  unsigned users;
  struct image *image; /* kept open: its watch shows that the snapshot has an owner */
  uint64_t snap_id;
  struct error *failure;
};

struct passing_snapshots {
  pthread_mutex_t mutex; /* guards all below, and the members of each */
  pthread_cond_t change;
  struct passing_snapshot *head;
  uint64_t last_number;
};

struct passing_snapshots *
passing_snapshots_new(void)
{
  struct passing_snapshots *snapshots = xcalloc(1, sizeof(*snapshots));
  (void)pthread_mutex_init(&snapshots->mutex, NULL);
  condition_init(&snapshots->change);
  return snapshots;
}

void
passing_snapshots_free(struct passing_snapshots *snapshots)
{
  if (!snapshots)
    return;
  (void)pthread_mutex_destroy(&snapshots->mutex);
  (void)pthread_cond_destroy(&snapshots->change);
  free(snapshots);
}

/* The volume's snapshot in this state. Called with the mutex held. */
static struct passing_snapshot *
find(struct passing_snapshots *snapshots, const char *volume_id, enum state state)
{
  struct passing_snapshot *at = snapshots->head;
  while (at && !(at->state == state && strcmp(at->volume_id, volume_id) == 0))
    at = at->next;
  return at;
}

/* Called with the mutex held; TAKEs volume_id. */
static struct passing_snapshot *
add(struct passing_snapshots *snapshots, const struct volume *volume, char *volume_id)
{
  struct passing_snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
  snapshot->owner = snapshots;
  snapshot->volume_id = volume_id;
  snapshot->name =
      passing_name_make(cluster_client_id(volume->location->cluster), ++snapshots->last_number);
  snapshot->users = 1;
  snapshot->next = snapshots->head;
  snapshots->head = snapshot;
  return snapshot;
}

/* Called with the mutex held, which is given up while Ceph works. */
static void
take(struct passing_snapshots *snapshots, struct passing_snapshot *snapshot,
     const struct volume *volume)
{
  while (find(snapshots, snapshot->volume_id, TAKING))
    (void)pthread_cond_wait(&snapshots->change, &snapshots->mutex);
  snapshot->state = TAKING;
  (void)pthread_mutex_unlock(&snapshots->mutex);

  struct error *failure = NULL;
  struct image *image = NULL;
  uint64_t snap_id = 0;
  int r = image_open(volume->location, volume->id.image_id, &image, &failure);
  if (r == 0)
    r = image_snap_create(image, snapshot->name, &snap_id, &failure);

  (void)pthread_mutex_lock(&snapshots->mutex);
  snapshot->image = image;
  snapshot->snap_id = snap_id;
  snapshot->failure = failure;
  snapshot->state = r == 0 ? TAKEN : FAILED;
  (void)pthread_cond_broadcast(&snapshots->change);
}

static void
free_snapshot(struct passing_snapshot *snapshot)
{
  image_close(snapshot->image);
  error_free(snapshot->failure);
  free(snapshot->volume_id);
  free(snapshot->name);
  free(snapshot);
}

/* Whether that was the last user; then the snapshot is out of the table. */
static bool
drop_user(struct passing_snapshot *snapshot)
{
  struct passing_snapshots *snapshots = snapshot->owner;
  MUTEX_GUARD(&snapshots->mutex);
  if (--snapshot->users > 0)
    return false;
  struct passing_snapshot **at = &snapshots->head;
  while (*at != snapshot)
    at = &(*at)->next;
  *at = snapshot->next;
  return true;
}

int
passing_snapshot_take(struct passing_snapshots *snapshots, const struct volume *volume,
                      struct passing_snapshot **ret_snapshot, struct error **err)
{
  CLEANUP(freep) char *volume_id = volume_id_encode(&volume->id);
  (void)pthread_mutex_lock(&snapshots->mutex);
  struct passing_snapshot *snapshot = find(snapshots, volume_id, GATHERING);
  if (snapshot) {
    snapshot->users++;
    while (snapshot->state != TAKEN && snapshot->state != FAILED)
      (void)pthread_cond_wait(&snapshots->change, &snapshots->mutex);
  } else {
    snapshot = add(snapshots, volume, TAKE(volume_id));
    take(snapshots, snapshot, volume);
  }
  bool has_failed = snapshot->state == FAILED;
  (void)pthread_mutex_unlock(&snapshots->mutex);
  if (!has_failed) {
    *ret_snapshot = snapshot;
    return 0;
  }
  error_make(err, snapshot->failure->code, "%s", snapshot->failure->message);
  if (drop_user(snapshot))
    free_snapshot(snapshot);
  return -1;
}

const char *
passing_snapshot_name(const struct passing_snapshot *snapshot)
{
  return snapshot->name;
}

uint64_t
passing_snapshot_id(const struct passing_snapshot *snapshot)
{
  return snapshot->snap_id;
}

int
passing_snapshot_release(struct passing_snapshot *snapshot, struct error **err)
{
  if (!snapshot || !drop_user(snapshot))
    return 0;
  int r = image_snap_remove(snapshot->image, snapshot->snap_id, err);
  free_snapshot(snapshot);
  return r;
}
