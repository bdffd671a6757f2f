/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_snap.h"

#include <errno.h>
#include <rbd/librbd.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

static char *
snap_map_object(const struct image *image, uint64_t snap_id)
{
  return xasprintf("rbd_object_map.%s.%016llx", image_id(image), (unsigned long long)snap_id);
}

/* Whether the object map of a snapshot is missing. librbd enters a snapshot in the header first and
 * copies the map then; when it is killed in between, or there is no space for the copy, nothing can
 * be cloned from what is left. */
static int
is_half_made(struct image *image, uint64_t snap_id, bool *ret_is)
{
  uint64_t features = 0;
  *ret_is = false;
  int r = rbd_get_features(image_rbd(image), &features);
  if (r < 0 || !(features & RBD_FEATURE_OBJECT_MAP))
    return r;
  CLEANUP(freep) char *map = snap_map_object(image, snap_id);
  r = CEPH_CALL(rados_stat(image_location(image)->ioctx, map, NULL, NULL));
  *ret_is = r == -ENOENT;
  return *ret_is ? 0 : r;
}

/* Why the map could not be written, which librbd keeps to itself: by trying once more. */
static int
why_half_made(struct image *image, uint64_t snap_id)
{
  CLEANUP(freep) char *map = snap_map_object(image, snap_id);
  int r = CEPH_CALL(rados_write_full(image_location(image)->ioctx, map, "", 0));
  return r < 0 ? r : -EAGAIN; /* it goes with the snapshot */
}

/* A snapshot was taken. One that is of no use is taken back. */
static int
check_snap(struct image *image, uint64_t snap_id)
{
  bool is_half = false;
  int r = is_half_made(image, snap_id, &is_half);
  if (r < 0 || !is_half)
    return r;
  r = why_half_made(image, snap_id);
  (void)CEPH_CALL(rbd_snap_remove_by_id(image_rbd(image), snap_id));
  return r;
}

/* A snapshot of this name is there. One that was never finished is taken anew: whoever asked for it
 * got no answer. */
static int
accept_snap(struct image *image, const char *snap_name, uint64_t *ret_snap_id)
{
  bool is_half = false;
  int r = rbd_snap_get_id(image_rbd(image), snap_name, ret_snap_id);
  if (r == 0)
    r = is_half_made(image, *ret_snap_id, &is_half);
  if (r < 0 || !is_half)
    return r;
  r = CEPH_CALL(rbd_snap_remove_by_id(image_rbd(image), *ret_snap_id));
  if (r == 0)
    r = CEPH_CALL(rbd_snap_create(image_rbd(image), snap_name));
  return r < 0 ? r : rbd_snap_get_id(image_rbd(image), snap_name, ret_snap_id);
}

int
image_snap_create(struct image *image, const char *snap_name, uint64_t *ret_snap_id,
                  struct error **err)
{
  int r = CEPH_CALL(rbd_snap_create(image_rbd(image), snap_name));
  if (r == 0) {
    r = rbd_snap_get_id(image_rbd(image), snap_name, ret_snap_id);
    if (r == 0)
      r = check_snap(image, *ret_snap_id);
  } else if (r == -EEXIST) {
    r = accept_snap(image, snap_name, ret_snap_id);
  }
  if (r < 0)
    return location_error_set(image_location(image), err, r, "snapshot image id '%s' in '%s'",
                              image_id(image), image_location(image)->label);
  return 0;
}

int
image_snap_remove(struct image *image, uint64_t snap_id, struct error **err)
{
  int r = CEPH_CALL(rbd_snap_remove_by_id(image_rbd(image), snap_id));
  if (r < 0 && r != -ENOENT)
    return location_error_set(
        image_location(image), err, r, "remove snapshot id %llu of image id '%s' in '%s'",
        (unsigned long long)snap_id, image_id(image), image_location(image)->label);
  return 0;
}
