/* SPDX-License-Identifier: Apache-2.0 */
/* rbd:pool[/namespace]/image[@snapshot], of the cluster that the options name. What does not change
 * has an identity: a snapshot, and an upload that is complete. An image that somebody may write to
 * has none. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_reader.h"
#include "populator/source/image_url.h"
#include "populator/source/rbd.h"
#include "populator/source/seek_stream.h"
#include "populator/source/sources.h"

/* Asked for in one go. Each time the whole object map is fetched, so it must be much; what comes of
 * it is kept, so it must have an end. */
#define WINDOW_BYTES ((uint64_t)1 << 40)

struct image_source {
  struct source source;
  struct location *location; /* its own */
  struct image_reader *reader;

  pthread_mutex_t mutex; /* guards all below: the window that was last asked for */
  uint64_t window_start;
  uint64_t window_end;
  struct image_extents extents;
};

static void
image_source_close(struct source *source)
{
  struct image_source *image = (struct image_source *)source;
  image_reader_close(image->reader);
  location_close(image->location);
  image_extents_clear(&image->extents);
  (void)pthread_mutex_destroy(&image->mutex);
  source_clear(source);
  free(image);
}

static void
image_source_free(struct image_source *image)
{
  if (image)
    image_source_close(&image->source);
}

DEFINE_CLEANUP(struct image_source *, image_source_free)

/* Whether the image holds an upload that is complete. */
static int
look_for_mark(const struct image_source *image, bool *ret_is_received, struct error **err)
{
  struct header header;
  const char *id = image_reader_id(image->reader);
  if (header_read(image->location, id, &header, err) < 0)
    return -1;
  const char *mark = string_map_get(&header.metadata, RBD_SOURCE_RECEIVED_KEY);
  *ret_is_received = mark && strcmp(mark, id) == 0;
  header_clear(&header);
  return 0;
}

static char *
identity_of(const struct image_source *image, bool is_received)
{
  const struct location *location = image->location;
  CLEANUP(freep)
  char *state = is_received ? xstrdup("received")
                            : xasprintf("%" PRIu64, image_reader_snap_id(image->reader));
  return xasprintf("rbd:%s:%lld:%s:%s:%s", cluster_id(location->cluster),
                   (long long)location->pool_id, location->name_space,
                   image_reader_id(image->reader), state);
}

/* Takes the location, also when it fails. */
static int
open_at(struct location *location, const char *name, const char *snapshot, const char *label,
        struct source **ret_source, struct error **err)
{
  CLEANUP(image_source_freep) struct image_source *image = xcalloc(1, sizeof(*image));
  image->source.ops = &source_rbd_ops;
  image->source.label = xstrdup(label);
  image->location = location;
  (void)pthread_mutex_init(&image->mutex, NULL);
  if (image_reader_open(location, name, snapshot, &image->reader, err) < 0)
    return -1;
  image->source.size = image_reader_size(image->reader);
  image->source.can_seek = image->source.can_resume = true;
  bool is_received = false;
  if (!snapshot && look_for_mark(image, &is_received, err) < 0)
    return -1;
  if (snapshot || is_received)
    image->source.identity = identity_of(image, is_received);
  *ret_source = &TAKE(image)->source;
  return 0;
}

int
rbd_source_open(struct location *location, const char *name, const char *snapshot,
                struct source **ret_source, struct error **err)
{
  struct location *own = NULL;
  CLEANUP(freep)
  char *label = xasprintf(IMAGE_URL_SCHEME "%s/%s%s%s", location->label, name, snapshot ? "@" : "",
                          snapshot ? snapshot : "");
  if (location_reopen(location, &own, err) < 0)
    return -1;
  return open_at(own, name, snapshot, label, ret_source, err);
}

static int
open_path(const struct image_url *path, const struct cluster_config *config, const char *url,
          struct source **ret_source, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct location *location = NULL;
  if (cluster_connect(config, NULL, &cluster, err) < 0 ||
      location_open(cluster, path->pool, path->name_space, &location, err) < 0)
    return -1;
  return open_at(location, path->name, path->snapshot, url, ret_source, err);
}

static int
image_source_open(const char *url, const struct source_options *options, struct source **ret_source,
                  struct error **err)
{
  struct image_url path = {0};
  if (image_url_parse(url, &path, err) < 0)
    return -1;
  int r = open_path(&path, &options->ceph, url, ret_source, err);
  image_url_clear(&path);
  return r;
}

static int
image_source_read_at(struct source *source, void *buf, size_t len, uint64_t offset,
                     struct error **err)
{
  return image_reader_read(((struct image_source *)source)->reader, buf, len, offset, err);
}

/* Fills the window from offset on. Called with the mutex held: who comes meanwhile wants the same.
 */
static int
move_window(struct image_source *image, uint64_t offset, struct error **err)
{
  uint64_t left = image->source.size - offset;
  uint64_t len = left < WINDOW_BYTES ? left : WINDOW_BYTES;
  image_extents_clear(&image->extents);
  image->window_start = image->window_end = 0;
  if (image_reader_extents(image->reader, offset, len, &image->extents, err) < 0)
    return -1;
  image->window_start = offset;
  image->window_end = offset + len;
  return 0;
}

/* The first extent of the window that ends behind offset; NULL when there is none. */
static const struct image_extent *
find_extent(const struct image_source *image, uint64_t offset)
{
  size_t low = 0, high = image->extents.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct image_extent *extent = &image->extents.items[middle];
    if (extent->offset + extent->len > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low < image->extents.count ? &image->extents.items[low] : NULL;
}

static int
image_source_data_range(struct source *source, uint64_t offset, uint64_t *ret_start,
                        uint64_t *ret_end, struct error **err)
{
  struct image_source *image = (struct image_source *)source;
  MUTEX_GUARD(&image->mutex);
  while (offset < source->size) {
    if (offset < image->window_start || offset >= image->window_end) {
      if (move_window(image, offset, err) < 0)
        return -1;
    }
    const struct image_extent *extent = find_extent(image, offset);
    if (extent) {
      *ret_start = extent->offset > offset ? extent->offset : offset;
      *ret_end = extent->offset + extent->len;
      return 0;
    }
    offset = image->window_end;
  }
  *ret_start = *ret_end = source->size;
  return 0;
}

static int
image_source_check(struct source *source, struct error **err)
{
  return image_reader_check(((struct image_source *)source)->reader, err);
}

const struct source_ops source_rbd_ops = {
    .scheme = IMAGE_URL_SCHEME,
    .open = image_source_open,
    .read_at = image_source_read_at,
    .stream = seek_stream_open,
    .data_range = image_source_data_range,
    .check = image_source_check,
    .close = image_source_close,
};
