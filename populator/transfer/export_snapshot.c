/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export_snapshot.h"

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/passing_name.h"
#include "lib/ceph/passing_orphans.h"

struct export_snapshot {
  struct image *image; /* open: its watch shows that the snapshot has an owner */
  char *name;
  uint64_t snap_id;
};

static void
snapshot_free(struct export_snapshot *snapshot)
{
  if (!snapshot)
    return;
  image_close(snapshot->image);
  free(snapshot->name);
  free(snapshot);
}

DEFINE_CLEANUP(struct export_snapshot *, snapshot_free)

/* What exports that were killed have left, also on its way out; what belongs to others is theirs.
 */
static int
remove_orphans(struct location *location, const char *id, struct error **err)
{
  struct header header;
  struct snaps snaps;
  if (header_read(location, id, &header, err) < 0)
    return -1;
  int r = header_read_snaps(location, id, header.snap_ids, header.snap_count, &snaps, err);
  header_clear(&header);
  if (r < 0)
    return -1;
  struct passing_orphans ignored;
  (void)passing_orphans_remove(location, id, &snaps, &ignored, NULL);
  passing_orphans_remove_childless(location, id, &snaps);
  snaps_clear(&snaps);
  return 0;
}

int
export_snapshot_take(struct location *location, const char *image_name,
                     struct export_snapshot **ret_snapshot, struct error **err)
{
  CLEANUP(snapshot_freep) struct export_snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
  CLEANUP(freep) char *id = NULL;
  snapshot->name = passing_name_make(cluster_client_id(location->cluster), 1);
  if (directory_id_of(location, image_name, &id, err) < 0 ||
      remove_orphans(location, id, err) < 0 ||
      image_open(location, id, &snapshot->image, err) < 0 ||
      image_snap_create(snapshot->image, snapshot->name, &snapshot->snap_id, err) < 0)
    return -1;
  *ret_snapshot = TAKE(snapshot);
  return 0;
}

void
export_snapshot_remove_orphans(struct location *location, const char *image_name)
{
  CLEANUP(freep) char *id = NULL;
  if (directory_id_of(location, image_name, &id, NULL) == 0)
    (void)remove_orphans(location, id, NULL);
}

const char *
export_snapshot_name(const struct export_snapshot *snapshot)
{
  return snapshot->name;
}

int
export_snapshot_remove(struct export_snapshot *snapshot, struct error **err)
{
  int r = image_snap_remove(snapshot->image, snapshot->snap_id, err);
  snapshot_free(snapshot);
  return r;
}
