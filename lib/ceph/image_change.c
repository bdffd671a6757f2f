/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_change.h"

#include <errno.h>
#include <rbd/librbd.h>

#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"
#include "lib/ceph/object_map.h"

/* Emptied at once; librbd's lengths are int. */
#define ZERO_BYTES (1ULL << 30)

/* librbd calls it without looking whether there is one. */
static int
ignore_progress(uint64_t offset, uint64_t total, void *arg)
{
  (void)offset, (void)total, (void)arg;
  return 0;
}

int
image_grow(struct image *image, uint64_t size_bytes, struct error **err)
{
  uint64_t now;
  int r = CEPH_CALL(rbd_get_size(image_rbd(image), &now));
  if (r == 0 && now < size_bytes)
    r = CEPH_CALL(rbd_resize2(image_rbd(image), size_bytes, false, ignore_progress, NULL));
  if (r < 0)
    return location_error_set(image_location(image), err, r,
                              "grow image id '%s' in '%s' to %llu bytes", image_id(image),
                              image_location(image)->label, (unsigned long long)size_bytes);
  return 0;
}

int
image_cut(struct image *image, uint64_t size_bytes, struct error **err)
{
  int r = CEPH_CALL(rbd_resize2(image_rbd(image), size_bytes, true, ignore_progress, NULL));
  if (r < 0)
    return location_error_set(image_location(image), err, r,
                              "cut image id '%s' in '%s' to %llu bytes", image_id(image),
                              image_location(image)->label, (unsigned long long)size_bytes);
  return 0;
}

/* Zeroes are not stored: whole objects go. A discard would do the same but for what is behind the
 * last multiple of rbd_discard_granularity_bytes, which it leaves as it is. */
int
image_empty(struct image *image, struct error **err)
{
  uint64_t size;
  int r = CEPH_CALL(rbd_get_size(image_rbd(image), &size));
  for (uint64_t at = 0; r >= 0 && at < size; at += ZERO_BYTES) {
    uint64_t len = size - at < ZERO_BYTES ? size - at : ZERO_BYTES;
    r = (int)CEPH_CALL(rbd_write_zeroes(image_rbd(image), at, len, 0, 0));
  }
  if (r < 0)
    return location_error_set(image_location(image), err, r, "empty image id '%s' in '%s'",
                              image_id(image), image_location(image)->label);
  return 0;
}

/* What ends the look at the first thing found; librbd hands it back. */
#define FOUND (-ECANCELED)

static int
on_data(uint64_t offset, size_t len, int exists, void *arg)
{
  (void)offset, (void)len, (void)arg;
  return exists ? FOUND : 0;
}

int
image_is_blank(struct image *image, bool *ret_is_blank, struct error **err)
{
  uint64_t size;
  int r = CEPH_CALL(rbd_get_size(image_rbd(image), &size));
  if (r == 0)
    r = CEPH_CALL(rbd_diff_iterate2(image_rbd(image), NULL, 0, size, 1, 1, on_data, NULL));
  if (r < 0 && r != FOUND)
    return location_error_set(image_location(image), err, r,
                              "list the data of image id '%s' in '%s'", image_id(image),
                              image_location(image)->label);
  *ret_is_blank = r != FOUND;
  return 0;
}

struct progress {
  image_progress *report;
  void *context;
};

static int
on_progress(uint64_t offset, uint64_t total, void *arg)
{
  struct progress *progress = arg;
  if (!progress->report)
    return 0;
  return progress->report(progress->context, total ? (int)(offset * 100 / total) : 100);
}

/* Nothing is left out of it because of what the object map says, and the map is as good as it was
 * when the work is stopped, or better when it is done. */
static int
flatten(struct image *image, struct progress *state)
{
  bool was_trusted = false;
  int r = object_map_distrust(image, &was_trusted);
  if (r == 0)
    r = CEPH_CALL(rbd_flatten_with_progress(image_rbd(image), on_progress, state));
  if (r < 0 && was_trusted)
    (void)object_map_trust(image);
  return r;
}

int
image_flatten(struct image *image, image_progress *progress, void *context, struct error **err)
{
  struct progress state = {.report = progress, .context = context};
  uint64_t overlap = 0;
  int r = CEPH_CALL(rbd_get_overlap(image_rbd(image), &overlap));
  if (r == 0 && overlap > 0)
    r = flatten(image, &state);
  if (r == -EINVAL) /* it has no parent any more */
    r = 0;
  if (r == 0)
    r = object_map_rebuild(image);
  if (r < 0)
    return location_error_set(image_location(image), err, r, "flatten image id '%s' in '%s'",
                              image_id(image), image_location(image)->label);
  return 0;
}

int
image_set_metadata(struct image *image, const char *key, const char *value, struct error **err)
{
  int r = value ? CEPH_CALL(rbd_metadata_set(image_rbd(image), key, value))
                : CEPH_CALL(rbd_metadata_remove(image_rbd(image), key));
  if (r < 0 && !(r == -ENOENT && !value))
    return location_error_set(image_location(image), err, r, "set '%s' on image id '%s' in '%s'",
                              key, image_id(image), image_location(image)->label);
  return 0;
}
