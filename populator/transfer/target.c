/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/target.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/unfinished.h"
#include "populator/transfer/import_owner.h"
#include "populator/transfer/remains.h"

#define KEY_IMPORTING "imprint.importing"
#define KEY_SOURCE "imprint.import.source"
/* An image whose size is not known begins with this and is doubled. */
#define GROWING_FIRST_BYTES ((uint64_t)1 << 30)
#define GROWING_UNIT_BYTES ((uint64_t)1 << 20)

struct target {
  struct location *location; /* its own */
  char *name;
  char *id;
  char *checkpoint_name;
  char *spool_name;
  struct image *image;
  bool is_existing;
  bool is_growing;       /* its size was not known */
  uint64_t virtual_size; /* of the content, as it was said at the beginning */
  uint64_t size_bytes;
};

static int
pass_on(struct error **err, const struct error *failure)
{
  return error_set(err, failure->code, "%s", failure->message);
}

static void
target_free(struct target *target)
{
  if (!target)
    return;
  image_close(target->image);
  location_close(target->location);
  free(target->name);
  free(target->id);
  free(target->checkpoint_name);
  free(target->spool_name);
  free(target);
}

DEFINE_CLEANUP(struct target *, target_free)

void
target_close(struct target *target)
{
  target_free(target);
}

struct image *
target_image(struct target *target)
{
  return target->image;
}

struct location *
target_location(struct target *target)
{
  return target->location;
}

const char *
target_name(const struct target *target)
{
  return target->name;
}

const char *
target_spool_name(const struct target *target)
{
  return target->spool_name;
}

static void
set_id(struct target *target, char *id)
{
  free(target->id);
  free(target->checkpoint_name);
  free(target->spool_name);
  target->id = id;
  target->checkpoint_name = remains_checkpoint_name(id);
  target->spool_name = xasprintf("imprint.spool.%s", id);
}

/* ---- begin ----------------------------------------------------------------------------------- */

static int
mark(struct target *target, const struct target_options *options, struct error **err)
{
  struct string_map set = {0};
  CLEANUP(freep) char *owner = import_owner_text(target->location->cluster);
  string_map_set(&set, KEY_IMPORTING, target->id);
  string_map_set(&set, IMPORT_OWNER_KEY, owner);
  string_map_set(&set, KEY_SOURCE, options->source_label);
  int r = header_update_metadata_if(target->location, target->id, UNFINISHED_DOOMED, NULL, &set,
                                    NULL, err);
  string_map_clear(&set);
  return r;
}

/* From the name that it was made under to its own. A process that was killed over this may have
 * left where the name leads to; as long as the other name is ours, nobody else is at it. */
static int
give_name(struct target *target, const char *begin, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct location *location = target->location;
  if (directory_drop_stray_name(location, target->name, &failure) == 0 &&
      directory_rename(location, begin, target->name, target->id, &failure) == 0)
    return 0;
  (void)remains_remove(location, target->name, NULL, NULL);
  if (failure->code == ERROR_ALREADY_EXISTS || failure->code == ERROR_NOT_FOUND)
    return error_set(err, ERROR_ABORTED,
                     "the name '%s/%s' was taken by somebody else meanwhile: try again",
                     location->label, target->name);
  return pass_on(err, failure);
}

static int
make(struct target *target, const struct target_options *options, struct error **err)
{
  char *id;
  struct location *location = target->location;
  CLEANUP(freep) char *begin = remains_begin_name(target->name);
  target->size_bytes = target->is_growing ? GROWING_FIRST_BYTES : options->size_bytes;
  if (remains_remove(location, target->name, NULL, err) < 0 ||
      image_create(location, begin, target->size_bytes, &options->layout, err) < 0 ||
      directory_id_of(location, begin, &id, err) < 0)
    return -1;
  set_id(target, id);
  return mark(target, options, err) < 0 ? -1 : give_name(target, begin, err);
}

static bool
is_marked(const struct string_map *metadata, const char *key, const char *id)
{
  const char *value = string_map_get(metadata, key);
  return value && strcmp(value, id) == 0;
}

/* The checkpoint of an import of the same thing, if there is one. */
static void
load_checkpoint(struct target *target, const struct target_options *options,
                struct checkpoint *checkpoint)
{
  struct buffer data = {0};
  if (options->identity && blob_read(target->location, target->checkpoint_name, &data, NULL) == 0 &&
      checkpoint_decode(data.data, data.len, checkpoint) &&
      (strcmp(checkpoint->identity, options->identity) != 0 ||
       checkpoint->virtual_size != options->virtual_size))
    checkpoint_clear(checkpoint);
  buffer_clear(&data);
}

/* An image that an import has begun, or that is to be filled: take it up. */
static int
take_up(struct target *target, const struct target_options *options, const struct header *header,
        struct checkpoint *checkpoint, struct error **err)
{
  target->size_bytes = header->size_bytes;
  if (!target->is_growing && header->size_bytes < options->virtual_size)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the content has %llu bytes, image '%s/%s' has only %llu",
                     (unsigned long long)options->virtual_size, target->location->label,
                     target->name, (unsigned long long)header->size_bytes);
  if (is_marked(&header->metadata, KEY_IMPORTING, target->id))
    load_checkpoint(target, options, checkpoint);
  return mark(target, options, err);
}

static int
wait_until_free(struct target *target, const struct header *header, struct error **err)
{
  return import_owner_wait(target->location, target->name, target->id, &header->metadata, err);
}

int
target_discard_spool(struct target *target, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *id = NULL;
  if (directory_id_of(target->location, target->spool_name, &id, &failure) < 0 &&
      failure->code != ERROR_NOT_FOUND)
    return pass_on(err, failure);
  return remains_remove(target->location, target->spool_name, id, err);
}

/* Nothing of it stays, nor of its spool. */
static int
discard(struct target *target, struct error **err)
{
  if (target_discard_spool(target, err) < 0)
    return -1;
  return remains_remove(target->location, target->name, target->id, err);
}

/* Waits until nobody else works on the image, then looks again: whoever did may have finished it
 * just now. ABORTED when it was taken away meanwhile. */
static int
look_when_free(struct target *target, struct header *header, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header now;
  if (wait_until_free(target, header, err) < 0)
    return -1;
  if (header_read(target->location, target->id, &now, &failure) == 0) {
    header_clear(header);
    *header = now;
    return 0;
  }
  if (failure->code != ERROR_NOT_FOUND)
    return pass_on(err, failure);
  return error_set(err, ERROR_ABORTED,
                   "image '%s/%s' was removed by another import meanwhile: try again",
                   target->location->label, target->name);
}

/* An import that was killed behind its last step has left these; the image is whole without them.
 */
static void
sweep(struct target *target)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (target_discard_spool(target, &failure) < 0 ||
      blob_remove(target->location, target->checkpoint_name, &failure) < 0)
    log_warn("behind the import of '%s/%s': %s", target->location->label, target->name,
             failure->message);
}

/* An image of this name is there, and is not one that is being imported. */
static int
refuse_found(struct target *target, struct error **err)
{
  sweep(target);
  return error_set(err, ERROR_ALREADY_EXISTS,
                   "image '%s/%s' exists already: remove it or choose another name",
                   target->location->label, target->name);
}

/* What to do with an image of this name that is there. */
static int
open_found(struct target *target, const struct target_options *options,
           struct checkpoint *checkpoint, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header;
  bool has_header = header_read(target->location, target->id, &header, &failure) == 0;
  if (!has_header && failure->code != ERROR_NOT_FOUND)
    return pass_on(err, failure);
  bool is_worked_on = has_header && (options->is_existing ||
                                     is_marked(&header.metadata, KEY_IMPORTING, target->id));
  if (is_worked_on && look_when_free(target, &header, err) < 0) {
    header_clear(&header);
    return -1;
  }
  if (options->is_existing) {
    int r = has_header ? 0
                       : error_set(err, ERROR_NOT_FOUND, "image '%s/%s' is not finished",
                                   target->location->label, target->name);
    if (r == 0)
      r = take_up(target, options, &header, checkpoint, err);
    if (r == 0 && !checkpoint->identity)
      r = target_discard_spool(target, err);
    if (has_header)
      header_clear(&header);
    return r;
  }
  bool is_ours = has_header && is_marked(&header.metadata, KEY_IMPORTING, target->id);
  bool is_same = is_ours && !string_map_get(&header.metadata, UNFINISHED_DOOMED) &&
                 (target->is_growing || header.size_bytes == options->size_bytes);
  int r = 0;
  if (has_header && !is_ours)
    r = refuse_found(target, err);
  if (r == 0 && is_same)
    r = take_up(target, options, &header, checkpoint, err);
  if (has_header)
    header_clear(&header);
  if (r < 0 || (is_same && checkpoint->identity))
    return r;
  /* Begun by an import of something else, or never finished by rbd itself: make it anew, so that
   * nothing of the old is left in it. */
  return discard(target, err) < 0 ? -1 : make(target, options, err);
}

int
target_open(struct location *location, const struct target_options *options,
            struct target **ret_target, struct checkpoint *ret_checkpoint, struct error **err)
{
  CLEANUP(target_freep) struct target *target = xcalloc(1, sizeof(*target));
  struct checkpoint checkpoint = {0};
  target->name = xstrdup(options->name);
  target->is_existing = options->is_existing;
  target->is_growing = options->virtual_size == TARGET_SIZE_UNKNOWN && !options->is_existing;
  target->virtual_size = options->virtual_size;
  if (location_open_by_id(location->cluster, location->pool_id, location->name_space,
                          &target->location, err) < 0)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  char *id = NULL;
  int r;
  if (directory_id_of(target->location, target->name, &id, &failure) == 0) {
    set_id(target, id);
    r = open_found(target, options, &checkpoint, err);
  } else if (failure->code == ERROR_NOT_FOUND && !options->is_existing) {
    r = make(target, options, err);
  } else {
    r = pass_on(err, failure);
  }
  if (r == 0)
    r = image_open(target->location, target->id, &target->image, err);
  if (r < 0) {
    checkpoint_clear(&checkpoint);
    return -1;
  }
  *ret_checkpoint = checkpoint;
  *ret_target = TAKE(target);
  return 0;
}

int
target_make_room(struct target *target, uint64_t end, struct error **err)
{
  if (end <= target->size_bytes)
    return 0;
  if (!target->is_growing)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the content is larger than image '%s/%s', which has %llu",
                     target->location->label, target->name, (unsigned long long)target->size_bytes);
  uint64_t size = target->size_bytes;
  while (size < end)
    size *= 2;
  if (image_grow(target->image, size, err) < 0)
    return -1;
  target->size_bytes = size;
  return 0;
}

int
target_set_end(struct target *target, uint64_t end, struct error **err)
{
  uint64_t size = (end + GROWING_UNIT_BYTES - 1) / GROWING_UNIT_BYTES * GROWING_UNIT_BYTES;
  if (!target->is_growing || size == target->size_bytes)
    return 0;
  return image_cut(target->image, size, err);
}

int
target_save(struct target *target, const struct checkpoint *checkpoint, struct error **err)
{
  struct buffer data = {0};
  struct checkpoint record = *checkpoint;
  record.virtual_size = target->virtual_size;
  checkpoint_encode(&record, &data);
  int r = blob_write(target->location, target->checkpoint_name, data.data, data.len, err);
  buffer_clear(&data);
  return r;
}

/* ---- end ------------------------------------------------------------------------------------- */

int
target_commit(struct target *target, const char *snapshot, const struct string_map *metadata,
              struct error **err)
{
  uint64_t snap_id;
  if (snapshot && image_snap_create(target->image, snapshot, &snap_id, err) < 0)
    return -1;
  struct string_map set = {0};
  struct string_map remove = {0};
  for (size_t i = 0; i < metadata->count; i++)
    string_map_set(&set, metadata->entries[i].key, metadata->entries[i].value);
  if (!target->is_existing)
    string_map_set(&set, REMAINS_READY_KEY, target->id);
  string_map_set(&remove, KEY_IMPORTING, "");
  string_map_set(&remove, IMPORT_OWNER_KEY, "");
  int r = header_update_metadata_if(target->location, target->id, UNFINISHED_DOOMED, NULL, &set,
                                    &remove, err);
  string_map_clear(&set);
  string_map_clear(&remove);
  if (r < 0)
    return -1;
  return blob_remove(target->location, target->checkpoint_name, err);
}

/* What was written to an image that is not ours goes; the image stays. */
static int
empty_existing(struct target *target, struct error **err)
{
  if (target_discard_spool(target, err) < 0 ||
      blob_remove(target->location, target->checkpoint_name, err) < 0)
    return -1;
  return image_empty(target->image, err);
}

int
target_discard(struct target *target, struct error **err)
{
  int r = target->is_existing ? empty_existing(target, err) : 0;
  image_close(TAKE(target->image));
  if (r == 0 && !target->is_existing)
    r = discard(target, err);
  target_free(target);
  return r;
}
