/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

/* Emptied at once; librbd's lengths are int. */
#define ZERO_BYTES (1ULL << 30)

enum image_state { IMAGE_OPENING, IMAGE_OPEN, IMAGE_CLOSING };

struct image {
  struct image *next;
  struct location *location; /* its own: the handle outlives the call that opened it */
  char *id;
  rbd_image_t rbd;
  enum image_state state;
  unsigned users;
};

struct open_images {
  pthread_mutex_t mutex; /* guards the list, and state and users of each */
  pthread_cond_t change;
  struct image *head;
};

struct open_images *
open_images_new(void)
{
  struct open_images *images = xcalloc(1, sizeof(*images));
  (void)pthread_mutex_init(&images->mutex, NULL);
  condition_init(&images->change);
  return images;
}

void
open_images_free(struct open_images *images)
{
  if (!images)
    return;
  assert(!images->head);
  (void)pthread_mutex_destroy(&images->mutex);
  (void)pthread_cond_destroy(&images->change);
  free(images);
}

static void
make_options(const struct image_layout *layout, rbd_image_options_t *ret_options)
{
  rbd_image_options_create(ret_options);
  const struct {
    int option;
    uint64_t value;
  } numbers[] = {{RBD_IMAGE_OPTION_FEATURES, layout->features},
                 {RBD_IMAGE_OPTION_ORDER, layout->order},
                 {RBD_IMAGE_OPTION_STRIPE_UNIT, layout->stripe_unit},
                 {RBD_IMAGE_OPTION_STRIPE_COUNT, layout->stripe_count}};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    if (numbers[i].value)
      (void)rbd_image_options_set_uint64(*ret_options, numbers[i].option, numbers[i].value);
  }
  if (layout->data_pool)
    (void)rbd_image_options_set_string(*ret_options, RBD_IMAGE_OPTION_DATA_POOL, layout->data_pool);
}

int
image_create(struct location *location, const char *name, uint64_t size_bytes,
             const struct image_layout *layout, struct error **err)
{
  rbd_image_options_t options;
  make_options(layout, &options);
  int r = CEPH_CALL(rbd_create4(location->ioctx, name, size_bytes, options));
  rbd_image_options_destroy(options);
  if (r < 0)
    return location_error_set(location, err, r, "create image '%s/%s'", location->label, name);
  return 0;
}

int
image_clone(struct location *parent, const char *parent_name, const char *snap_name,
            struct location *location, const char *name, const struct image_layout *layout,
            struct error **err)
{
  rbd_image_options_t options;
  struct image_layout own = *layout;
  if (own.order && !own.stripe_unit) {
    /* The parent's stripes were cut for the parent's objects. */
    own.stripe_unit = 1ULL << own.order;
    own.stripe_count = 1;
  }
  make_options(&own, &options);
  int r = CALL_THAT_OPENS(
      rbd_clone3(parent->ioctx, parent_name, snap_name, location->ioctx, name, options));
  rbd_image_options_destroy(options);
  if (r < 0)
    return location_error_set(location, err, r, "clone '%s/%s@%s' to '%s/%s'", parent->label,
                              parent_name, snap_name, location->label, name);
  return 0;
}

static bool
is_same(const struct image *image, const struct location *location, const char *id)
{
  return image->location->pool_id == location->pool_id && strcmp(image->id, id) == 0 &&
         strcmp(image->location->name_space, location->name_space) == 0;
}

/* A new reference to the image when another call has it open. Waits while it is being opened or
 * closed. Called with the mutex held. */
static struct image *
find_open(struct open_images *images, const struct location *location, const char *id)
{
  for (struct image *image = images->head; image;) {
    if (!is_same(image, location, id)) {
      image = image->next;
      continue;
    }
    if (image->state == IMAGE_OPEN) {
      image->users++;
      return image;
    }
    (void)pthread_cond_wait(&images->change, &images->mutex);
    image = images->head; /* the list changed */
  }
  return NULL;
}

static void
unlink_image(struct open_images *images, struct image *image)
{
  struct image **at = &images->head;
  while (*at != image)
    at = &(*at)->next;
  *at = image->next;
  (void)pthread_cond_broadcast(&images->change);
}

/* May drop the last reference to the cluster, so the table must not be touched behind it. */
static void
image_free(struct image *image)
{
  location_close(image->location);
  free(image->id);
  free(image);
}

int
image_open(struct location *location, const char *image_id, struct image **ret_image,
           struct error **err)
{
  struct open_images *images = location->cluster->images;
  struct location *own = NULL;
  if (location_open_by_id(location->cluster, location->pool_id, location->name_space, &own, err) <
      0)
    return -1;

  (void)pthread_mutex_lock(&images->mutex);
  struct image *image = find_open(images, location, image_id);
  if (image) {
    (void)pthread_mutex_unlock(&images->mutex);
    location_close(own);
    *ret_image = image;
    return 0;
  }
  image = xcalloc(1, sizeof(*image));
  image->location = own;
  image->id = xstrdup(image_id);
  image->state = IMAGE_OPENING;
  image->users = 1;
  image->next = images->head;
  images->head = image;
  (void)pthread_mutex_unlock(&images->mutex);

  int r = CALL_THAT_OPENS(rbd_open_by_id(own->ioctx, image_id, &image->rbd, NULL));

  (void)pthread_mutex_lock(&images->mutex);
  if (r < 0)
    unlink_image(images, image);
  else
    image->state = IMAGE_OPEN;
  (void)pthread_cond_broadcast(&images->change);
  (void)pthread_mutex_unlock(&images->mutex);
  if (r < 0) {
    image_free(image);
    return location_error_set(location, err, r, "open image id '%s' in '%s'", image_id,
                              location->label);
  }
  *ret_image = image;
  return 0;
}

void
image_close(struct image *image)
{
  if (!image)
    return;
  struct open_images *images = image->location->cluster->images;
  (void)pthread_mutex_lock(&images->mutex);
  bool is_last = --image->users == 0;
  if (is_last)
    image->state = IMAGE_CLOSING;
  (void)pthread_mutex_unlock(&images->mutex);
  if (!is_last)
    return;
  (void)CEPH_CALL(rbd_close(image->rbd));
  (void)pthread_mutex_lock(&images->mutex);
  unlink_image(images, image);
  (void)pthread_mutex_unlock(&images->mutex);
  image_free(image);
}

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
  int r = CEPH_CALL(rbd_get_size(image->rbd, &now));
  if (r == 0 && now < size_bytes)
    r = CEPH_CALL(rbd_resize2(image->rbd, size_bytes, false, ignore_progress, NULL));
  if (r < 0)
    return location_error_set(image->location, err, r, "grow image id '%s' in '%s' to %llu bytes",
                              image->id, image->location->label, (unsigned long long)size_bytes);
  return 0;
}

int
image_cut(struct image *image, uint64_t size_bytes, struct error **err)
{
  int r = CEPH_CALL(rbd_resize2(image->rbd, size_bytes, true, ignore_progress, NULL));
  if (r < 0)
    return location_error_set(image->location, err, r, "cut image id '%s' in '%s' to %llu bytes",
                              image->id, image->location->label, (unsigned long long)size_bytes);
  return 0;
}

/* Zeroes are not stored: whole objects go. A discard would do the same but for what is behind the
 * last multiple of rbd_discard_granularity_bytes, which it leaves as it is. */
int
image_empty(struct image *image, struct error **err)
{
  uint64_t size;
  int r = CEPH_CALL(rbd_get_size(image->rbd, &size));
  for (uint64_t at = 0; r >= 0 && at < size; at += ZERO_BYTES) {
    uint64_t len = size - at < ZERO_BYTES ? size - at : ZERO_BYTES;
    r = (int)CEPH_CALL(rbd_write_zeroes(image->rbd, at, len, 0, 0));
  }
  if (r < 0)
    return location_error_set(image->location, err, r, "empty image id '%s' in '%s'", image->id,
                              image->location->label);
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

int
image_flatten(struct image *image, image_progress *progress, void *context, struct error **err)
{
  struct progress state = {.report = progress, .context = context};
  int r = CEPH_CALL(rbd_flatten_with_progress(image->rbd, on_progress, &state));
  if (r < 0 && r != -EINVAL) /* EINVAL: it has no parent (any more) */
    return location_error_set(image->location, err, r, "flatten image id '%s' in '%s'", image->id,
                              image->location->label);
  return 0;
}

static char *
snap_map_object(const struct image *image, uint64_t snap_id)
{
  return xasprintf("rbd_object_map.%s.%016llx", image->id, (unsigned long long)snap_id);
}

/* Whether the object map of a snapshot is missing. librbd enters a snapshot in the header first and
 * copies the map then; when it is killed in between, or there is no space for the copy, nothing can
 * be cloned from what is left. */
static int
is_half_made(struct image *image, uint64_t snap_id, bool *ret_is)
{
  uint64_t features = 0;
  *ret_is = false;
  int r = rbd_get_features(image->rbd, &features);
  if (r < 0 || !(features & RBD_FEATURE_OBJECT_MAP))
    return r;
  CLEANUP(freep) char *map = snap_map_object(image, snap_id);
  r = CEPH_CALL(rados_stat(image->location->ioctx, map, NULL, NULL));
  *ret_is = r == -ENOENT;
  return *ret_is ? 0 : r;
}

/* Why the map could not be written, which librbd keeps to itself: by trying once more. */
static int
why_half_made(struct image *image, uint64_t snap_id)
{
  CLEANUP(freep) char *map = snap_map_object(image, snap_id);
  int r = CEPH_CALL(rados_write_full(image->location->ioctx, map, "", 0));
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
  (void)CEPH_CALL(rbd_snap_remove_by_id(image->rbd, snap_id));
  return r;
}

/* A snapshot of this name is there. One that was never finished is taken anew: whoever asked for it
 * got no answer. */
static int
accept_snap(struct image *image, const char *snap_name, uint64_t *ret_snap_id)
{
  bool is_half = false;
  int r = rbd_snap_get_id(image->rbd, snap_name, ret_snap_id);
  if (r == 0)
    r = is_half_made(image, *ret_snap_id, &is_half);
  if (r < 0 || !is_half)
    return r;
  r = CEPH_CALL(rbd_snap_remove_by_id(image->rbd, *ret_snap_id));
  if (r == 0)
    r = CEPH_CALL(rbd_snap_create(image->rbd, snap_name));
  return r < 0 ? r : rbd_snap_get_id(image->rbd, snap_name, ret_snap_id);
}

int
image_snap_create(struct image *image, const char *snap_name, uint64_t *ret_snap_id,
                  struct error **err)
{
  int r = CEPH_CALL(rbd_snap_create(image->rbd, snap_name));
  if (r == 0) {
    r = rbd_snap_get_id(image->rbd, snap_name, ret_snap_id);
    if (r == 0)
      r = check_snap(image, *ret_snap_id);
  } else if (r == -EEXIST) {
    r = accept_snap(image, snap_name, ret_snap_id);
  }
  if (r < 0)
    return location_error_set(image->location, err, r, "snapshot image id '%s' in '%s'", image->id,
                              image->location->label);
  return 0;
}

int
image_snap_remove(struct image *image, uint64_t snap_id, struct error **err)
{
  int r = CEPH_CALL(rbd_snap_remove_by_id(image->rbd, snap_id));
  if (r < 0 && r != -ENOENT)
    return location_error_set(image->location, err, r,
                              "remove snapshot id %llu of image id '%s' in '%s'",
                              (unsigned long long)snap_id, image->id, image->location->label);
  return 0;
}

int
image_set_metadata(struct image *image, const char *key, const char *value, struct error **err)
{
  int r = value ? CEPH_CALL(rbd_metadata_set(image->rbd, key, value))
                : CEPH_CALL(rbd_metadata_remove(image->rbd, key));
  if (r < 0 && !(r == -ENOENT && !value))
    return location_error_set(image->location, err, r, "set '%s' on image id '%s' in '%s'", key,
                              image->id, image->location->label);
  return 0;
}

const char *
image_id(const struct image *image)
{
  return image->id;
}

struct location *
image_location(struct image *image)
{
  return image->location;
}

void *
image_rbd(struct image *image)
{
  return image->rbd;
}
