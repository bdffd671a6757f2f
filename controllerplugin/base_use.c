/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/base_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controllerplugin/base_image.h"
#include "controllerplugin/base_volume.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_clients.h"

/* "<image id> <seconds since 1970>", or "<image id> removed". With the image's own id, as all
 * marks: a clone has its parent's. */
#define MARK "imprint.base"
#define REMOVED "removed"

static char *
mark_of(const char *image_id, const char *what)
{
  return xasprintf("%s %s", image_id, what);
}

static char *
mark_now(const char *image_id)
{
  CLEANUP(freep) char *now = xasprintf("%" PRId64, (int64_t)time(NULL));
  return mark_of(image_id, now);
}

/* What is behind the id; NULL: there is no mark of its own. */
static const char *
read_mark(const struct header *header, const char *image_id)
{
  const char *mark = string_map_get(&header->metadata, MARK);
  size_t len = strlen(image_id);
  return mark && strncmp(mark, image_id, len) == 0 && mark[len] == ' ' ? mark + len + 1 : NULL;
}

static bool
is_being_removed(const struct header *header, const char *image_id)
{
  const char *mark = read_mark(header, image_id);
  return mark && strcmp(mark, REMOVED) == 0;
}

/* In place of the mark that the header was read with. */
static int
write_mark(struct location *location, const char *image_id, const struct header *header,
           const char *mark, struct error **err)
{
  struct string_map set = {0};
  string_map_set(&set, MARK, mark);
  int r = header_update_metadata_if(location, image_id, MARK,
                                    string_map_get(&header->metadata, MARK), &set, NULL, err);
  string_map_clear(&set);
  return r;
}

/* ---- removing it ------------------------------------------------------------------------------
 */

/* The snapshot first: a volume without one is made complete, or removed, by whoever finds it. */
static void
remove_base(struct controller *controller, const char *handle)
{
  CLEANUP(freep) char *snapshot = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (base_volume_snapshot(controller, handle, &snapshot, &failure) < 0) {
    log_warn("base image '%s': %s", handle, failure->message);
    return;
  }
  if (snapshot) {
    base_images_forget(controller->base_images, snapshot);
    base_volume_remove_snapshot(controller, snapshot);
  }
  base_volume_remove(controller, handle);
}

static char *
handle_of(const struct location *location, const char *image_id)
{
  struct volume_id id = {.pool_id = location->pool_id};
  (void)snprintf(id.cluster_id, sizeof(id.cluster_id), "%s", cluster_id(location->cluster));
  (void)snprintf(id.name_space, sizeof(id.name_space), "%s", location->name_space);
  (void)snprintf(id.image_id, sizeof(id.image_id), "%s", image_id);
  return volume_id_encode(&id);
}

/* Whether a volume is a clone of it, or it is being imported. Also when that cannot be told. */
static bool
is_needed(struct location *location, const char *image_id, const struct header *header)
{
  struct snaps snaps;
  bool has_client = true;
  bool has_clones = false;
  if (header_read_snaps(location, image_id, header->snap_ids, header->snap_count, &snaps, NULL) < 0)
    return true;
  for (size_t i = 0; i < snaps.count; i++)
    has_clones = has_clones || snaps.items[i].children > 0;
  snaps_clear(&snaps);
  return has_clones || image_clients_any(location, image_id, &has_client, NULL) < 0 || has_client;
}

static bool
is_old(const char *mark, int64_t keep_s)
{
  int64_t used = strtoll(mark, NULL, 10);
  return (int64_t)time(NULL) - used >= keep_s;
}

static void
look_at(struct controller *controller, struct location *location,
        const struct directory_entry *entry, int64_t keep_s)
{
  struct header header;
  if (header_read(location, entry->id, &header, NULL) < 0)
    return;
  const char *mark = read_mark(&header, entry->id);
  CLEANUP(freep) char *handle = handle_of(location, entry->id);
  CLEANUP(freep) char *now = mark_now(entry->id);
  CLEANUP(freep) char *removed = mark_of(entry->id, REMOVED);
  if (!mark) /* of an earlier release: its time begins now */
    (void)write_mark(location, entry->id, &header, now, NULL);
  else if (is_being_removed(&header, entry->id))
    remove_base(controller, handle);
  else if (is_old(mark, keep_s) && !is_needed(location, entry->id, &header) &&
           write_mark(location, entry->id, &header, removed, NULL) == 0) {
    log_info("base image '%s' is removed: nobody asked for it for %" PRId64 " s", entry->name,
             keep_s);
    remove_base(controller, handle);
  }
  header_clear(&header);
}

void
base_use_sweep(struct controller *controller, struct location *location, int64_t keep_s)
{
  CLEANUP(freep) char *prefix = image_name_of_volume(BASE_IMAGE_PREFIX);
  struct directory directory;
  if (!directory_may_have(location, prefix) ||
      directory_list(location, prefix, &directory, NULL) < 0)
    return;
  for (size_t i = 0; i < directory.count && !atomic_load(&controller->is_stopping); i++) {
    const char *digits = directory.entries[i].name + strlen(prefix);
    if (strlen(digits) == BASE_IMAGE_DIGITS && strspn(digits, "0123456789abcdef") == strlen(digits))
      look_at(controller, location, &directory.entries[i], keep_s);
  }
  directory_clear(&directory);
}

/* ---- asking for it ----------------------------------------------------------------------------
 */

int
base_use_touch(struct controller *controller, const char *handle, struct error **err)
{
  static const char advice[] = "it was not used for long and is being removed: call again";
  struct volume volume;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (volume_find(controller, "volume_id", handle, &volume, &failure) < 0)
    return error_set(err, failure->code == ERROR_NOT_FOUND ? ERROR_UNAVAILABLE : failure->code,
                     "%s", failure->code == ERROR_NOT_FOUND ? advice : failure->message);
  CLEANUP(freep) char *now = mark_now(volume.id.image_id);
  bool is_removed = is_being_removed(&volume.header, volume.id.image_id);
  int r = is_removed
              ? error_set(err, ERROR_UNAVAILABLE, "%s", advice)
              : write_mark(volume.location, volume.id.image_id, &volume.header, now, &failure);
  volume_clear(&volume);
  if (is_removed)
    remove_base(controller, handle);
  if (r == 0 || is_removed)
    return r;
  return error_set(err, failure->code == ERROR_ABORTED ? ERROR_UNAVAILABLE : failure->code, "%s",
                   failure->code == ERROR_ABORTED
                       ? "another process has just asked for it: call again"
                       : failure->message);
}
