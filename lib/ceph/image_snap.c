/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_snap.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"
#include "lib/ceph/flattener_mark.h"

#define ATTEMPTS 40
#define OWNER_LOOKS 20
#define PAUSE_MS 50

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
  if (CEPH_CALL(rbd_snap_remove_by_id(image_rbd(image), snap_id)) == -ENOENT) {
    /* somebody else has removed it, before there was a map to go with it */
    CLEANUP(freep) char *map = snap_map_object(image, snap_id);
    (void)CEPH_CALL(rados_remove(image_location(image)->ioctx, map));
  }
  return r;
}

/* Whether there is a whole one of this name. */
static int
look(struct image *image, rbd_image_t handle, const char *snap_name, uint64_t *ret_snap_id,
     bool *ret_is_whole)
{
  bool is_half = false;
  int r = rbd_snap_get_id(handle, snap_name, ret_snap_id);
  if (r == 0)
    r = is_half_made(image, *ret_snap_id, &is_half);
  *ret_is_whole = r == 0 && !is_half;
  return r;
}

static int
take_anew(struct image *image, rbd_image_t handle, const char *snap_name)
{
  bool is_whole = false;
  uint64_t snap_id;
  int r = look(image, handle, snap_name, &snap_id, &is_whole);
  if (is_whole)
    return 0;
  if (r == 0)
    r = CEPH_CALL(rbd_snap_remove_by_id(handle, snap_id));
  if (r == 0 || r == -ENOENT)
    r = CEPH_CALL(rbd_snap_create(handle, snap_name));
  return r == -EEXIST ? 0 : r; /* on behalf of somebody who waits for our lock */
}

/* The lock does not come to us while it is kept for good, by a client that takes the snapshots of
 * others on request. Such a one is given time to complete what it may be at. */
static int
take_anew_by_owner(struct image *image, const char *snap_name)
{
  bool is_whole = false;
  uint64_t snap_id;
  for (int left = OWNER_LOOKS; left > 0; left--) {
    int r = look(image, image_rbd(image), snap_name, &snap_id, &is_whole);
    if (r < 0 || is_whole)
      return r;
    (void)usleep(PAUSE_MS * 1000);
  }
  return take_anew(image, image_rbd(image), snap_name);
}

/* A snapshot is taken by whoever has the image's exclusive lock, and librbd does not let go of that
 * before the snapshot is complete. So what is half made is nobody's any more when we have it; until
 * then another controller may be at it, which has the same call. By a handle of its own, because a
 * lock that is asked for by name is kept, and other calls share the image's. */
static int
take_anew_with_lock(struct image *image, const char *snap_name)
{
  rbd_image_t own = NULL;
  int r =
      CALL_THAT_OPENS(rbd_open_by_id(image_location(image)->ioctx, image_id(image), &own, NULL));
  if (r < 0)
    return r;
  r = CEPH_CALL(rbd_lock_acquire(own, RBD_LOCK_MODE_EXCLUSIVE));
  bool is_kept = r == -EROFS;
  if (r == 0)
    r = take_anew(image, own, snap_name);
  (void)CEPH_CALL(rbd_close(own));
  return is_kept ? take_anew_by_owner(image, snap_name) : r;
}

/* A snapshot of this name is there. One that was never finished is taken anew: whoever asked for it
 * got no answer. */
static int
accept_snap(struct image *image, const char *snap_name, uint64_t *ret_snap_id)
{
  bool is_whole = false;
  int r = look(image, image_rbd(image), snap_name, ret_snap_id, &is_whole);
  if (r < 0 || is_whole)
    return r;
  r = take_anew_with_lock(image, snap_name);
  return r < 0 ? r : rbd_snap_get_id(image_rbd(image), snap_name, ret_snap_id);
}

/* -EAGAIN when one that was there is gone: another controller is about to take it anew. It may even
 * answer our request, which it gets as the lock's owner, by the snapshot that it is removing. */
static int
take_or_accept(struct image *image, const char *snap_name, uint64_t *ret_snap_id)
{
  int r = CEPH_CALL(rbd_snap_create(image_rbd(image), snap_name));
  bool is_there = r == -EEXIST;
  if (r < 0 && !is_there)
    return r;
  r = is_there ? accept_snap(image, snap_name, ret_snap_id)
               : rbd_snap_get_id(image_rbd(image), snap_name, ret_snap_id);
  if (r == 0 && !is_there)
    r = check_snap(image, *ret_snap_id);
  return r == -ENOENT ? -EAGAIN : r;
}

int
image_snap_create(struct image *image, const char *snap_name, uint64_t *ret_snap_id,
                  struct error **err)
{
  uint64_t overlap = 0;
  int r = CEPH_CALL(rbd_get_overlap(image_rbd(image), &overlap));
  if (r == 0 && overlap > 0 &&
      flattener_mark_wait_gone(image_location(image), image_id(image), err) < 0)
    return -1;
  if (r == 0)
    r = take_or_accept(image, snap_name, ret_snap_id);
  for (int left = ATTEMPTS; left > 0 && r == -EAGAIN; left--) {
    (void)usleep(PAUSE_MS * 1000);
    r = take_or_accept(image, snap_name, ret_snap_id);
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
