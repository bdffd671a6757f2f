/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/volume.h"

#include <string.h>

#include "csi/volume/image_name.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/directory.h"

static int
locate(struct node *node, struct volume *volume, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (clusters_get(node->clusters, volume->id.cluster_id, &cluster, err) < 0) {
    /* The volume may well exist: that its cluster is not configured must not look like "gone". */
    if (err && (*err)->code == ERROR_NOT_FOUND)
      (*err)->code = ERROR_FAILED_PRECONDITION;
    return -1;
  }
  return location_open_by_id(cluster, volume->id.pool_id, volume->id.name_space, &volume->location,
                             err);
}

static int
find(struct node *node, const char *text, bool may_be_inline, struct volume *volume,
     struct error **err)
{
  if (volume_id_decode(text, &volume->id, err) < 0) {
    if (err)
      (*err)->code = ERROR_NOT_FOUND; /* we never gave such an id out */
    return -1;
  }
  if (locate(node, volume, err) < 0 ||
      directory_name_of(volume->location, volume->id.image_id, &volume->image_name, err) < 0 ||
      header_read(volume->location, volume->id.image_id, &volume->header, err) < 0)
    return -1;
  if (!text_starts_with(volume->image_name, IMAGE_NAME_VOLUME_PREFIX) &&
      !(may_be_inline && text_starts_with(volume->image_name, IMAGE_NAME_INLINE_PREFIX)))
    return error_set(err, ERROR_NOT_FOUND, "it was deleted, or is not one of this driver's");
  if (!record_is_ready(&volume->header.metadata, volume->id.image_id))
    return error_set(err, ERROR_NOT_FOUND, "it was never finished");
  record_volume_context(&volume->header.metadata, &volume->settings);
  return 0;
}

static int
find_or_clear(struct node *node, const char *volume_id, bool may_be_inline,
              struct volume *ret_volume, struct error **err)
{
  struct volume volume = {.header.parent.pool_id = -1};
  if (find(node, volume_id, may_be_inline, &volume, err) < 0) {
    volume_clear(&volume);
    return -1;
  }
  *ret_volume = volume;
  return 0;
}

int
volume_find(struct node *node, const char *volume_id, struct volume *ret_volume, struct error **err)
{
  return find_or_clear(node, volume_id, false, ret_volume, err);
}

int
volume_find_any(struct node *node, const char *handle, struct volume *ret_volume,
                struct error **err)
{
  return find_or_clear(node, handle, true, ret_volume, err);
}

void
volume_clear(struct volume *volume)
{
  location_close(volume->location);
  free(volume->image_name);
  header_clear(&volume->header);
  string_map_clear(&volume->settings);
  *volume = (struct volume){0};
}

int
volume_check_context(const struct volume *volume, const struct string_map *context,
                     struct error **err)
{
  static const char *const compared[] = {"clusterID",  "pool",        "namespace",   "mapper",
                                         "mapOptions", "mkfsOptions", "unmapOptions"};
  for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
    const char *said = string_map_get(context, compared[i]);
    if (said && strcmp(said, volume_setting(volume, compared[i])) != 0)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "volume_context says '%s' is '%.64s', the image says '%.64s'", compared[i],
                       said, volume_setting(volume, compared[i]));
  }
  return 0;
}

const char *
volume_setting(const struct volume *volume, const char *name)
{
  const char *value = string_map_get(&volume->settings, name);
  return value ? value : "";
}
