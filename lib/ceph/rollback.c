/* SPDX-License-Identifier: Apache-2.0 */
/* librbd cuts the image to the size of the snapshot; a volume that was grown since is grown again,
 * or its filesystem's device would be smaller than Kubernetes says it is. */
#include "lib/ceph/rollback.h"

#include <rbd/librbd.h>

#include "lib/ceph/ceph_call.h"
#include "lib/ceph/formatting_mark.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_clients.h"

static int
check_unused(struct location *location, const char *image_id, struct error **err)
{
  bool is_used;
  if (image_clients_any(location, image_id, &is_used, err) < 0)
    return -1;
  if (is_used)
    return error_set(
        err, ERROR_FAILED_PRECONDITION,
        "the volume is in use: stop the virtual machine, pod or export that has it first");
  return 0;
}

static int
remove_formatting_mark(struct location *location, const char *image_id, struct error **err)
{
  struct string_map mark = {0};
  formatting_mark_list(&mark);
  int r = header_update_metadata(location, image_id, NULL, &mark, err);
  string_map_clear(&mark);
  return r;
}

/* librbd wants the name. To be cleared. */
static int
find_snap(struct location *location, const struct rollback *rollback, struct snaps *ret_snaps,
          struct error **err)
{
  if (header_read_snaps(location, rollback->image_id, &rollback->snap_id, 1, ret_snaps, err) < 0)
    return -1;
  if (ret_snaps->count == 1 && ret_snaps->items[0].kind == SNAP_KIND_USER)
    return 0;
  snaps_clear(ret_snaps);
  return error_set(err, ERROR_NOT_FOUND, "the volume has no such snapshot (any more)");
}

static int
on_progress(uint64_t offset, uint64_t total, void *arg)
{
  const struct rollback *rollback = arg;
  if (!rollback->progress)
    return 0;
  return rollback->progress(rollback->context, total ? (int)(offset * 100 / total) : 100);
}

static int
roll(struct image *image, const struct rollback *rollback, const char *snap_name,
     struct error **err)
{
  uint64_t size_bytes = rollback->size_bytes;
  int r = size_bytes ? 0 : CEPH_CALL(rbd_get_size(image_rbd(image), &size_bytes));
  if (r == 0)
    r = CEPH_CALL(rbd_snap_rollback_with_progress(image_rbd(image), snap_name, on_progress,
                                                  (void *)rollback));
  if (r < 0)
    return location_error_set(image_location(image), err, r, "roll image id '%s' back to '%s'",
                              rollback->image_id, snap_name);
  return image_grow(image, size_bytes, err);
}

int
rollback_image(struct location *location, const struct rollback *rollback, struct error **err)
{
  struct snaps snaps;
  CLEANUP(image_closep) struct image *image = NULL;
  if (find_snap(location, rollback, &snaps, err) < 0)
    return -1;
  int r = check_unused(location, rollback->image_id, err);
  if (r == 0)
    r = remove_formatting_mark(location, rollback->image_id, err);
  if (r == 0)
    r = image_open(location, rollback->image_id, &image, err);
  if (r == 0)
    r = roll(image, rollback, snaps.items[0].name, err);
  snaps_clear(&snaps);
  return r;
}
