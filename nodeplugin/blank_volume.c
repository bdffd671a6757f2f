/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/blank_volume.h"

#include <string.h>

#include "lib/ceph/formatting_mark.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/signature.h"

static const char *
constant_of(const char *fs_type)
{
  return strcmp(fs_type, "xfs") == 0 ? "xfs" : "ext4";
}

static int
set_mark(const struct volume *volume, bool is_set, struct error **err)
{
  struct string_map mark = {0};
  formatting_mark_write(volume->id.image_id, &mark);
  int r = header_update_metadata(volume->location, volume->id.image_id, is_set ? &mark : NULL,
                                 is_set ? NULL : &mark, err);
  string_map_clear(&mark);
  return r;
}

/* Whether what is there is what a call that died has left of mkfs. The mark is looked at again now
 * that the device is ours: the one that we know of may be of another node, which has finished
 * since, and somebody has written to the volume. */
static int
is_half_made(const struct volume *volume, bool *ret_is_half_made, struct error **err)
{
  const char *image_id = volume->id.image_id;
  struct header now = {.parent.pool_id = -1};
  *ret_is_half_made = false;
  if (!formatting_mark_is_there(&volume->header.metadata, image_id))
    return 0;
  if (header_read(volume->location, image_id, &now, err) < 0)
    return -1;
  *ret_is_half_made = formatting_mark_is_there(&now.metadata, image_id);
  header_clear(&now);
  return 0;
}

int
blank_volume_give_up(const struct volume *volume, struct error **err)
{
  bool is_marked;
  if (is_half_made(volume, &is_marked, err) < 0)
    return -1;
  return is_marked ? set_mark(volume, false, err) : 0;
}

static int
format(const struct volume *volume, const struct mapping *mapping, const char *fs_type,
       bool is_again, struct error **err)
{
  struct mkfs_options options;
  if (mkfs_options_parse(fs_type, volume_setting(volume, "mkfsOptions"), &options, err) < 0)
    return -1;
  int r = is_again ? 0 : set_mark(volume, true, err);
  if (r == 0)
    r = filesystem_make(mapping->device, fs_type, &options, is_again, err);
  if (r == 0)
    r = set_mark(volume, false, err);
  mkfs_options_clear(&options);
  return r;
}

static int
accept_found(const struct signature *found, const char *device, const char *asked,
             const char **ret_fs_type, struct error **err)
{
  if (found->kind != SIGNATURE_FILESYSTEM || !filesystem_is_served(found->name))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' holds %s: it is neither mounted nor formatted", device, found->name);
  if (*asked && strcmp(asked, found->name) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' holds %s, and %s is asked for: it is not formatted", device, found->name,
                     asked);
  *ret_fs_type = constant_of(found->name);
  return 0;
}

int
blank_volume_format(const struct volume *volume, const struct mapping *mapping, const char *fs_type,
                    const char **ret_fs_type, bool *ret_is_fresh, struct error **err)
{
  bool is_again;
  struct signature found;
  if (is_half_made(volume, &is_again, err) < 0 || signature_read(mapping->device, &found, err) < 0)
    return -1;
  *ret_is_fresh = found.kind == SIGNATURE_BLANK || is_again;
  if (!*ret_is_fresh)
    return accept_found(&found, mapping->device, fs_type, ret_fs_type, err);
  if (mapping->is_read_only)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "the volume is blank and is to be read only: there is nothing to mount");
  const char *chosen = *fs_type ? constant_of(fs_type) : FILESYSTEM_DEFAULT;
  if (format(volume, mapping, chosen, is_again, err) < 0)
    return -1;
  *ret_fs_type = chosen;
  return 0;
}
