/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export_copy.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/image_url.h"
#include "populator/source/rbd.h"
#include "populator/transfer/import_chunks.h"
#include "populator/transfer/raw_layout.h"

bool
export_copy_is(const char *url)
{
  return image_url_is(url);
}

/* Where it goes, and its name there, to be freed. */
static int
open_destination(struct cluster *cluster, const char *text, struct location **ret_location,
                 char **ret_name, struct error **err)
{
  CLEANUP(image_url_clear) struct image_url url = {0};
  if (image_url_parse(text, &url, err) < 0)
    return -1;
  if (url.snapshot)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.200s': a snapshot cannot be exported to; name an image", text);
  if (location_open(cluster, url.pool, url.name_space, ret_location, err) < 0)
    return -1;
  *ret_name = TAKE(url.name);
  return 0;
}

/* From the target that is open to the end. */
static int
fill(struct source *source, struct target *target, const struct checkpoint *from,
     const struct export_options *options, struct error **err)
{
  CLEANUP(layout_closep) struct layout *layout = raw_layout_new(source);
  const struct import_chunks_options chunks = {
      .source = source,
      .layout = layout,
      .target = target,
      .identity = source->identity,
      .workers = options->workers,
      .progress = options->progress,
  };
  if (import_chunks(&chunks, from->identity ? from : NULL, err) < 0 ||
      source->ops->check(source, err) < 0)
    return -1;
  struct string_map metadata = {0};
  string_map_set(&metadata, "imprint.import.identity", source->identity);
  int r = target_commit(target, NULL, &metadata, err);
  string_map_clear(&metadata);
  return r;
}

static int
copy(struct source *source, struct location *location, const char *name,
     const struct export_options *options, struct error **err)
{
  struct target *target;
  struct checkpoint checkpoint = {0};
  uint64_t size = target_disk_bytes(source->size);
  const struct target_options target_options = {
      .name = name,
      .layout = {.features = TARGET_FEATURES_DEFAULT},
      .source_label = source->label,
      .identity = source->identity,
      .virtual_size = size,
      .size_bytes = size,
  };
  if (target_open(location, &target_options, &target, &checkpoint, err) < 0)
    return -1;
  int r = fill(source, target, &checkpoint, options, err);
  checkpoint_clear(&checkpoint);
  if (r < 0) {
    (void)target_discard(target, NULL);
    return -1;
  }
  target_close(target);
  if (options->ret_bytes)
    *options->ret_bytes = size;
  return 0;
}

int
export_copy(struct location *location, const char *image, const char *snapshot,
            const struct export_options *options, struct error **err)
{
  CLEANUP(location_closep) struct location *there = NULL;
  CLEANUP(source_closep) struct source *source = NULL;
  CLEANUP(freep) char *name = NULL;
  if (open_destination(location->cluster, options->url, &there, &name, err) < 0 ||
      location_check(there, err) < 0 ||
      rbd_source_open(location, image, snapshot, &source, err) < 0)
    return -1;
  return copy(source, there, name, options, err);
}

int
export_copy_discard(struct location *location, const char *url, struct error **err)
{
  CLEANUP(location_closep) struct location *there = NULL;
  CLEANUP(freep) char *name = NULL;
  if (open_destination(location->cluster, url, &there, &name, err) < 0)
    return -1;
  return target_clear_up(there, name, err);
}
