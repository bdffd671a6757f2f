/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/passing_orphans.h"

#include "lib/base/text.h"
#include "lib/ceph/image_clients.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/passing_name.h"

static bool
is_passing(const struct snap *snap)
{
  return snap->kind == SNAP_KIND_USER && text_starts_with(snap->name, PASSING_NAME_PREFIX);
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
               const struct image_clients *clients, struct passing_orphans *orphans,
               struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  for (size_t i = 0; i < snaps->count; i++) {
    const struct snap *snap = &snaps->items[i];
    if (!is_passing(snap))
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
passing_orphans_remove(struct location *location, const char *image_id, const struct snaps *snaps,
                       struct passing_orphans *ret_orphans, struct error **err)
{
  struct image_clients clients;
  bool has_any = false;
  *ret_orphans = (struct passing_orphans){0};
  for (size_t i = 0; i < snaps->count; i++)
    has_any = has_any || is_passing(&snaps->items[i]);
  if (!has_any)
    return 0;
  if (image_clients_list(location, image_id, &clients, err) < 0)
    return -1;
  int r = remove_orphans(location, image_id, snaps, &clients, ret_orphans, err);
  image_clients_clear(&clients);
  return r;
}

void
passing_orphans_remove_childless(struct location *location, const char *image_id,
                                 const struct snaps *snaps)
{
  CLEANUP(image_closep) struct image *image = NULL;
  for (size_t i = 0; i < snaps->count; i++) {
    if (snaps->items[i].kind != SNAP_KIND_TRASH || snaps->items[i].children > 0)
      continue;
    if (!image && image_open(location, image_id, &image, NULL) < 0)
      break;
    (void)image_snap_remove(image, snaps->items[i].id, NULL);
  }
}
