/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/target.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/import_remains.h"
#include "lib/ceph/unfinished.h"
#include "populator/transfer/import_owner.h"
#include "populator/transfer/remains.h"
#include "populator/transfer/target_parts.h"

void
target_close(struct target *target)
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

void
target_set_id(struct target *target, char *id)
{
  free(target->id);
  free(target->checkpoint_name);
  free(target->spool_name);
  target->id = id;
  target->checkpoint_name = remains_checkpoint_name(id);
  target->spool_name = import_remains_spool(id);
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

uint64_t
target_size(const struct target *target)
{
  return target->size_bytes;
}

const char *
target_spool_name(const struct target *target)
{
  return target->spool_name;
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
  uint64_t size = target_disk_bytes(end);
  if (!(target->is_growing || target->is_fitted) || size == target->size_bytes)
    return 0;
  return image_cut(target->image, size, err);
}

static void
encode(const struct target *target, const struct checkpoint *checkpoint, struct buffer *data)
{
  struct checkpoint record = *checkpoint;
  record.virtual_size = target->virtual_size;
  checkpoint_encode(&record, data);
}

int
target_save(struct target *target, const struct checkpoint *checkpoint, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer data = {0};
  encode(target, checkpoint, &data);
  return blob_write(target->location, target->checkpoint_name, data.data, data.len, err);
}

int
target_save_away(struct target *target, struct checkpoint *checkpoint, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer data = {0};
  encode(target, checkpoint, &data);
  buffer_clear(&checkpoint->state);
  return blob_write(target->location, target->checkpoint_name, data.data, data.len, err);
}

int
target_discard_spool(struct target *target, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *id = NULL;
  if (directory_id_of(target->location, target->spool_name, &id, &failure) < 0 &&
      failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  return remains_remove(target->location, target->spool_name, id, err);
}

int
target_remove(struct target *target, struct error **err)
{
  if (target_discard_spool(target, err) < 0)
    return -1;
  return remains_remove(target->location, target->name, target->id, err);
}

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
  string_map_set(&remove, TARGET_IMPORTING_KEY, "");
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
    r = target_remove(target, err);
  target_close(target);
  return r;
}

/* Whether the image is one that an import has begun. */
static int
look_for_mark(struct target *target, bool *ret_is_begun, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header;
  if (header_read(target->location, target->id, &header, &failure) < 0) {
    *ret_is_begun = false;
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  }
  const char *mark = string_map_get(&header.metadata, TARGET_IMPORTING_KEY);
  *ret_is_begun = mark && strcmp(mark, target->id) == 0;
  header_clear(&header);
  return 0;
}

int
target_clear_up(struct location *location, const char *name, struct error **err)
{
  CLEANUP(target_closep) struct target *target = xcalloc(1, sizeof(*target));
  CLEANUP(error_freep) struct error *failure = NULL;
  char *id = NULL;
  bool is_begun;
  target->name = xstrdup(name);
  if (location_reopen(location, &target->location, err) < 0)
    return -1;
  if (directory_id_of(target->location, name, &id, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? remains_remove(target->location, name, NULL, err)
                                            : error_set(err, failure->code, "%s", failure->message);
  target_set_id(target, id);
  if (look_for_mark(target, &is_begun, err) < 0)
    return -1;
  return is_begun ? target_remove(target, err) : 0;
}
