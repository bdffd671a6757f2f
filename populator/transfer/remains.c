/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/remains.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_snap.h"
#include "lib/ceph/import_remains.h"
#include "lib/ceph/trash.h"
#include "lib/ceph/unfinished.h"
#include "populator/transfer/import_owner.h"

/* How long another import may take to give an image its name. */
#define BEGIN_PATIENCE_MS 1000
#define BEGIN_LOOK_MS 50

char *
remains_begin_name(const char *name)
{
  return xasprintf("imprint.begin.%s", name);
}

char *
remains_checkpoint_name(const char *image_id)
{
  return import_remains_checkpoint(image_id);
}

static int
pass_on(struct error **err, const struct error *failure)
{
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- an image that has a name ---------------------------------------------------------------- */

/* Nobody was told of them. An image that has any cannot be removed. */
static int
remove_snapshots(struct location *location, const char *id, const struct header *header,
                 struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  struct snaps snaps = {0};
  if (header->snap_count == 0)
    return 0;
  if (header_read_snaps(location, id, header->snap_ids, header->snap_count, &snaps, err) < 0)
    return -1;
  int r = image_open(location, id, &image, err);
  for (size_t i = 0; r == 0 && i < snaps.count; i++) {
    if (snaps.items[i].kind == SNAP_KIND_USER)
      r = image_snap_remove(image, snaps.items[i].id, err);
  }
  snaps_clear(&snaps);
  return r;
}

/* So that whoever finds us dead need not wait until Ceph does. */
static int
own(struct location *location, const char *id, struct error **err)
{
  struct string_map set = {0};
  CLEANUP(freep) char *owner = import_owner_text(location->cluster);
  string_map_set(&set, IMPORT_OWNER_KEY, owner);
  int r = header_update_metadata(location, id, &set, NULL, err);
  string_map_clear(&set);
  return r;
}

static int
take_away(struct location *location, const char *name, const char *id, const struct header *header,
          struct error **err)
{
  const char *ready = string_map_get(&header->metadata, REMAINS_READY_KEY);
  if (ready && strcmp(ready, id) == 0)
    return error_set(err, ERROR_ABORTED,
                     "image '%s/%s' was finished by another import meanwhile: try again",
                     location->label, name);
  CLEANUP(freep) char *checkpoint = remains_checkpoint_name(id);
  if (import_owner_wait(location, name, id, &header->metadata, err) < 0 ||
      own(location, id, err) < 0 || blob_remove(location, checkpoint, err) < 0 ||
      remove_snapshots(location, id, header, err) < 0)
    return -1;
  return unfinished_take_away(location, name, id, header, REMAINS_READY_KEY, err);
}

static int
remove_named(struct location *location, const char *name, const char *id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header;
  if (header_read(location, id, &header, &failure) == 0) {
    int r = take_away(location, name, id, &header, err);
    header_clear(&header);
    return r;
  }
  if (failure->code != ERROR_NOT_FOUND)
    return pass_on(err, failure);
  return unfinished_take_away(location, name, id, NULL, REMAINS_READY_KEY, err);
}

/* ---- one that was never given it ------------------------------------------------------------- */

static int
find(struct location *location, const char *name, char **ret_id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_id = NULL;
  if (directory_id_of(location, name, ret_id, &failure) == 0 || failure->code == ERROR_NOT_FOUND)
    return 0;
  return pass_on(err, failure);
}

/* Where the name leads to comes before the name itself (directory_rename): killed in between, it
 * would lead nowhere for good. */
static int
remove_name_object(struct location *location, const char *name, const char *id, struct error **err)
{
  int r = directory_remove_name(location, name, id);
  if (r < 0)
    return location_error_set(location, err, r, "free the name '%s/%s'", location->label, name);
  return 0;
}

/* Somebody may be about to give it its name, or be dead. */
static int
remove_begun(struct location *location, const char *name, const char *begin, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  if (find(location, begin, &id, err) < 0)
    return -1;
  for (int waited_ms = 0; id && waited_ms < BEGIN_PATIENCE_MS; waited_ms += BEGIN_LOOK_MS) {
    (void)usleep(BEGIN_LOOK_MS * 1000);
    free(TAKE(id));
    if (find(location, begin, &id, err) < 0)
      return -1;
  }
  if (!id)
    return 0;
  if (remove_name_object(location, name, id, err) < 0)
    return -1;
  return remove_named(location, begin, id, err);
}

/* ---- those in the trash ---------------------------------------------------------------------- */

static int
wait_for_remover(struct location *location, const struct trash_entry *entry, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header;
  int r = header_read(location, entry->id, &header, &failure);
  if (r == 0) {
    r = import_owner_wait(location, entry->name, entry->id, &header.metadata, &failure);
    header_clear(&header);
  }
  return r == 0 || failure->code == ERROR_NOT_FOUND ? 0 : pass_on(err, failure);
}

static int
remove_buried(struct location *location, const char *name, struct error **err)
{
  struct trash trash;
  if (unfinished_list_buried(location, name, &trash, err) < 0)
    return -1;
  int r = 0;
  for (size_t i = 0; r == 0 && i < trash.count; i++) {
    r = wait_for_remover(location, &trash.entries[i], err);
    if (r == 0)
      r = trash_remove(location, &trash.entries[i], err);
  }
  trash_clear(&trash);
  return r;
}

int
remains_remove(struct location *location, const char *name, const char *id, struct error **err)
{
  CLEANUP(freep) char *begin = remains_begin_name(name);
  if (id && remove_named(location, name, id, err) < 0)
    return -1;
  if (remove_begun(location, name, begin, err) < 0 || remove_buried(location, name, err) < 0 ||
      remove_buried(location, begin, err) < 0)
    return -1;
  return 0;
}
