/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image.h"

#include <assert.h>
#include <pthread.h>
#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

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
  if (location_reopen(location, &own, err) < 0)
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
