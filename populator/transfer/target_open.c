/* SPDX-License-Identifier: Apache-2.0 */
/* What there is under the name of a target: nothing, and it is made; what an import of the same
 * thing has begun, and it is taken up; what another has begun, and it is made anew; or what is none
 * of ours, and it is left alone. An image that is to be filled is emptied in place of that. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/formatting_mark.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/unfinished.h"
#include "populator/transfer/import_done.h"
#include "populator/transfer/import_owner.h"
#include "populator/transfer/remains.h"
#include "populator/transfer/target_parts.h"

#define KEY_SOURCE "imprint.import.source"
/* An image whose size is not known begins with this and is doubled. */
#define GROWING_FIRST_BYTES ((uint64_t)1 << 30)

static int
pass_on(struct error **err, const struct error *failure)
{
  return error_set(err, failure->code, "%s", failure->message);
}

static int
mark(struct target *target, const struct target_options *options, struct error **err)
{
  struct string_map set = {0};
  struct string_map remove = {0};
  CLEANUP(freep) char *owner = import_owner_text(target->location->cluster);
  string_map_set(&set, TARGET_IMPORTING_KEY, target->id);
  string_map_set(&set, IMPORT_OWNER_KEY, owner);
  string_map_set(&set, KEY_SOURCE, options->source_label);
  import_done_list(&remove);
  formatting_mark_list(&remove);
  int r = header_update_metadata_if(target->location, target->id, UNFINISHED_DOOMED, NULL, &set,
                                    &remove, err);
  string_map_clear(&set);
  string_map_clear(&remove);
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
  target_set_id(target, id);
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
  if (options->virtual_size != TARGET_SIZE_UNKNOWN && header->size_bytes < options->virtual_size)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "the content has %llu bytes, image '%s/%s' has only %llu",
                     (unsigned long long)options->virtual_size, target->location->label,
                     target->name, (unsigned long long)header->size_bytes);
  if (is_marked(&header->metadata, TARGET_IMPORTING_KEY, target->id))
    load_checkpoint(target, options, checkpoint);
  return mark(target, options, err);
}

/* Zeros are never written, so whatever an image that was there holds would show through where the
 * content has none: another import's, or what is none of ours. The checkpoint goes first: of that
 * other import, it tells of data that is about to go. */
static int
empty_unless_resumed(struct target *target, const struct checkpoint *checkpoint, struct error **err)
{
  bool is_blank;
  if (checkpoint->identity)
    return 0;
  if (target_discard_spool(target, err) < 0 ||
      blob_remove(target->location, target->checkpoint_name, err) < 0 ||
      image_is_blank(target->image, &is_blank, err) < 0)
    return -1;
  return is_blank ? 0 : image_empty(target->image, err);
}

static int
wait_until_free(struct target *target, const struct header *header, struct error **err)
{
  return import_owner_wait(target->location, target->name, target->id, &header->metadata, err);
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
                                     is_marked(&header.metadata, TARGET_IMPORTING_KEY, target->id));
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
    if (has_header)
      header_clear(&header);
    return r;
  }
  bool is_ours = has_header && is_marked(&header.metadata, TARGET_IMPORTING_KEY, target->id);
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
  return target_remove(target, err) < 0 ? -1 : make(target, options, err);
}

int
target_open(struct location *location, const struct target_options *options,
            struct target **ret_target, struct checkpoint *ret_checkpoint, struct error **err)
{
  CLEANUP(target_closep) struct target *target = xcalloc(1, sizeof(*target));
  struct checkpoint checkpoint = {0};
  target->name = xstrdup(options->name);
  target->is_existing = options->is_existing;
  target->is_growing = options->virtual_size == TARGET_SIZE_UNKNOWN && !options->is_existing;
  target->is_fitted = options->is_fitted && !options->is_existing;
  target->virtual_size = options->virtual_size;
  if (location_reopen(location, &target->location, err) < 0)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  char *id = NULL;
  int r;
  if (directory_id_of(target->location, target->name, &id, &failure) == 0) {
    target_set_id(target, id);
    r = open_found(target, options, &checkpoint, err);
  } else if (failure->code == ERROR_NOT_FOUND && !options->is_existing) {
    r = make(target, options, err);
  } else {
    r = pass_on(err, failure);
  }
  if (r == 0)
    r = image_open(target->location, target->id, &target->image, err);
  if (r == 0 && target->is_existing)
    r = empty_unless_resumed(target, &checkpoint, err);
  if (r < 0) {
    checkpoint_clear(&checkpoint);
    return -1;
  }
  *ret_checkpoint = checkpoint;
  *ret_target = TAKE(target);
  return 0;
}
