/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/passing_snapshot.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/image.h"
#include "lib/ceph/image_clients.h"
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

int
passing_snapshot_release(struct passing_snapshot *snapshot, struct error **err)
{
  if (!snapshot || !drop_user(snapshot))
    return 0;
  int r = image_snap_remove(snapshot->image, snapshot->snap_id, err);
  free_snapshot(snapshot);
  return r;
}

/* Whether a live process has use for the snapshot. */
static bool
has_owner(const struct snap *snap, const struct image_clients *clients)
{
  uint64_t client_id;
  if (!passing_name_client(snap->name, &client_id))
    return false;
  for (size_t i = 0; i < clients->count; i++) {
    if (clients->items[i].id == client_id)
      return true;
  }
  return false;
}

static int
remove_orphans(struct location *location, const char *image_id, const struct snaps *snaps,
               const struct image_clients *clients, struct orphans *orphans, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  for (size_t i = 0; i < snaps->count; i++) {
    const struct snap *snap = &snaps->items[i];
    if (!snapshot_is_passing(snap))
      continue;
    if (has_owner(snap, clients)) {
      orphans->kept++;
      continue;
    }
    if (!image && image_open(location, image_id, &image, err) < 0)
      return -1;
    if (image_snap_remove(image, snap->id, err) < 0)
      return -1;
    orphans->removed++;
  }
  return 0;
}

int
passing_snapshots_remove_orphans(struct location *location, const char *image_id,
                                 const struct snaps *snaps, struct orphans *ret_orphans,
                                 struct error **err)
{
  struct image_clients clients;
  bool has_any = false;
  *ret_orphans = (struct orphans){0};
  for (size_t i = 0; i < snaps->count; i++)
    has_any = has_any || snapshot_is_passing(&snaps->items[i]);
  if (!has_any)
    return 0;
  if (image_clients_list(location, image_id, &clients, err) < 0)
    return -1;
  int r = remove_orphans(location, image_id, snaps, &clients, ret_orphans, err);
  image_clients_clear(&clients);
  return r;
}
