/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/sweep.h"

#include "controllerplugin/flattener.h"
#include "controllerplugin/purger.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "csi/volume/record.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/children.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/passing_orphans.h"

/* Deleted volumes whose last snapshot went while nobody was there to move them on. */
static void
bury_forgotten(struct controller *controller, struct location *location)
{
  struct directory directory;
  if (directory_list(location, IMAGE_NAME_DELETED_PREFIX, &directory, NULL) < 0)
    return;
  for (size_t i = 0; i < directory.count; i++)
    (void)purger_bury_if_free(controller->purger, location, directory.entries[i].id, NULL);
  directory_clear(&directory);
}

/* Clones that a deleted snapshot waits for in vain. */
static void
drop_ghost_clones(struct location *location, const char *image_id, struct snaps *snaps)
{
  for (size_t i = 0; i < snaps->count; i++) {
    struct snap *snap = &snaps->items[i];
    const struct image_snap counted = {
        .location = location, .image_id = image_id, .snap_id = snap->id};
    if (snap->kind == SNAP_KIND_TRASH && snap->children > 0 && snap->children <= CHILDREN_LOOKED_AT)
      snap->children -= (uint32_t)children_drop_ghosts(&counted);
  }
}

bool
sweep_snapshots(struct location *location, const char *image_id, const struct header *header)
{
  struct snaps snaps;
  struct passing_orphans orphans;
  if (header->snap_count == 0)
    return false;
  if (header_read_snaps(location, image_id, header->snap_ids, header->snap_count, &snaps, NULL) < 0)
    return true;
  int r = passing_orphans_remove(location, image_id, &snaps, &orphans, NULL);
  drop_ghost_clones(location, image_id, &snaps);
  passing_orphans_remove_childless(location, image_id, &snaps);
  snaps_clear(&snaps);
  return r < 0 || orphans.kept > 0;
}

/* Whether to look again later. */
static bool
sweep_image(struct controller *controller, struct location *location, const char *image_id,
            const struct header *header)
{
  if (record_is_flattening(&header->metadata, image_id))
    flattener_add(controller->flattener, location, image_id);
  return sweep_snapshots(location, image_id, header);
}

static bool
sweep_images(struct controller *controller, struct location *location)
{
  struct directory directory;
  if (directory_list(location, IMAGE_NAME_PREFIX, &directory, NULL) < 0)
    return true;
  char **ids = xcalloc(directory.count + 1, sizeof(char *));
  struct header *headers = xcalloc(directory.count + 1, sizeof(struct header));
  bool *found = xcalloc(directory.count + 1, sizeof(bool));
  for (size_t i = 0; i < directory.count; i++)
    ids[i] = directory.entries[i].id;
  bool again = header_read_many(location, ids, directory.count, headers, found, NULL) < 0;
  for (size_t i = 0; i < directory.count; i++) {
    if (found[i] && !atomic_load(&controller->is_stopping))
      again = sweep_image(controller, location, ids[i], &headers[i]) || again;
    header_clear(&headers[i]);
  }
  free(ids);
  free(headers);
  free(found);
  directory_clear(&directory);
  return again;
}

int
sweep_cluster(struct controller *controller, const char *id)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct locations locations;
  if (clusters_get(controller->clusters, id, &cluster, &err) < 0 ||
      locations_list(cluster, &locations, &err) < 0) {
    log_warn("looking for what is left to delete: %s", err->message);
    return -1;
  }
  bool again = false;
  for (size_t i = 0; i < locations.count && !atomic_load(&controller->is_stopping); i++) {
    bury_forgotten(controller, locations.items[i]);
    purger_kick(controller->purger, locations.items[i]);
    again = sweep_images(controller, locations.items[i]) || again;
  }
  locations_clear(&locations);
  return again ? -1 : 0;
}
