/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/stage_filesystem.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/blank_volume.h"
#include "nodeplugin/device_use.h"
#include "nodeplugin/filesystem.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/mounter.h"
#include "nodeplugin/signature.h"

/* One volume on its way. */
struct staging {
  struct node *node;
  const struct volume *volume;
  struct mapping *mapping;
  const Csi__V1__VolumeCapability__MountVolume *mount;
  const struct target_path *target;
  bool is_fresh; /* its filesystem was made by this call: there is nothing to check or to grow */
};

/* A clone on the same node has the same UUID, which xfs refuses without being told. */
static int
parse_options(const struct staging *s, const char *fs_type, struct mount_options *ret_options,
              struct error **err)
{
  bool is_xfs = strcmp(fs_type, "xfs") == 0, is_read_only = s->mapping->is_read_only;
  const char *added = is_xfs ? is_read_only ? "nouuid,ro" : "nouuid" : is_read_only ? "ro" : "";
  return mount_options_parse(fs_type, s->mount->mount_flags, s->mount->n_mount_flags, added,
                             ret_options, err);
}

/* One that is mounted must have no right that the request takes away. */
static int
check_options_of(const struct staging *s, const struct mount_entry *there, struct error **err)
{
  struct mount_options options;
  if (parse_options(s, there->type, &options, err) < 0)
    return -1;
  bool lacks_one = (options.attributes & MOUNT_TABLE_ATTRIBUTES & ~there->attributes) != 0 ||
                   (option_list_find(&options.filesystem, "ro") && !there->is_super_read_only);
  mount_options_clear(&options);
  return lacks_one
             ? error_set(err, ERROR_ALREADY_EXISTS,
                         "it is staged at '%s' already, without an option that is asked for now",
                         there->mount_point)
             : 0;
}

/* What is at the staging path: *ret_is_done when it is this volume's filesystem. *ret_is_mounted
 * when that is mounted, there or elsewhere. */
static int
look_at_target(const struct staging *s, bool *ret_is_done, bool *ret_is_mounted, struct error **err)
{
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  const struct mount_entry *there = mount_table_at(&table, s->target->real);
  const char *asked = s->mount->fs_type;
  *ret_is_done = there && there->device == s->mapping->number;
  *ret_is_mounted = mount_table_of_device(&table, s->mapping->number, NULL) != NULL;
  int r = 0;
  if (there && !*ret_is_done)
    r = error_set(err, ERROR_FAILED_PRECONDITION, "'%s' is mounted at '%s' already", there->source,
                  s->target->real);
  else if (there && *asked && strcmp(asked, there->type) != 0)
    r = error_set(err, ERROR_ALREADY_EXISTS, "it is staged at '%s' already, as %s", s->target->real,
                  there->type);
  else if (there)
    r = check_options_of(s, there, err);
  mount_table_clear(&table);
  return r;
}

/* Whether the filesystem is mounted beside the staging path, or may be. */
static bool
is_mounted_elsewhere(const struct staging *s)
{
  struct mount_table table;
  if (mount_table_read(&table, NULL) < 0)
    return true;
  bool is = mount_table_of_device(&table, s->mapping->number, s->target->real) != NULL;
  mount_table_clear(&table);
  return is;
}

/* A volume restored into a larger one, or grown while nobody used it. */
static int
grow(const struct staging *s, const char *fs_type, const struct mount_options *options,
     struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (filesystem_grow_mounted(s->mapping->device, fs_type, s->target->real, &failure) == 0)
    return 0;
  if (failure->code != ERROR_PERMISSION_DENIED)
    return error_set(err, failure->code, "%s", failure->message);
  if (is_mounted_elsewhere(s)) { /* a pod has it: nobody may touch it from below */
    log_warn("volume of '%s' stays as large as it is until no pod has it: %s", s->target->real,
             failure->message);
    return 0;
  }
  if (mounter_unmount(s->target, err) < 0 ||
      filesystem_grow_unmounted(s->mapping->device, fs_type, err) < 0)
    return -1;
  return mounter_mount(s->mapping->device, fs_type, options, s->target, err);
}

static int
mount_checked(const struct staging *s, const char *fs_type, const struct mount_options *options,
              struct error **err)
{
  bool is_short = false;
  if (!s->mapping->is_read_only && !s->is_fresh &&
      (filesystem_check(s->mapping->device, fs_type, err) < 0 ||
       filesystem_is_short(s->mapping->device, fs_type, &is_short, err) < 0))
    return -1;
  if (mounter_mount(s->mapping->device, fs_type, options, s->target, err) < 0)
    return -1;
  /* what nobody can write to cannot grow either: it does when it is staged otherwise */
  return is_short && !option_list_find(&options->filesystem, "ro") ? grow(s, fs_type, options, err)
                                                                   : 0;
}

/* It is mounted, by an earlier call that may have been killed before it grew the filesystem. */
static int
go_on_growing(struct staging *s, struct error **err)
{
  struct signature found;
  bool is_short;
  if (s->mapping->is_read_only || signature_read(s->mapping->device, &found, NULL) < 0 ||
      !filesystem_is_served(found.name) ||
      filesystem_is_short(s->mapping->device, found.name, &is_short, NULL) < 0 || !is_short)
    return 0;
  struct mount_options options;
  if (parse_options(s, found.name, &options, err) < 0)
    return -1;
  int r = option_list_find(&options.filesystem, "ro") ? 0 : grow(s, found.name, &options, err);
  mount_options_clear(&options);
  return r;
}

/* A filesystem that was copied while it was in use has a journal to be replayed, which a device
 * that is mapped read-only does not allow; leaving it out would show old data. So the volume, which
 * is for readers alone and nobody writes to, is mapped writable for as long as that takes. When
 * several nodes are at it, one of them does it and the others are called again. */
static int
replay_journal(struct staging *s, const char *fs_type, struct error **err)
{
  const struct attach_wish writable = {.others = ATTACH_ALONE};
  const struct attach_wish read_only = {.is_read_only = true, .others = ATTACH_WITH_READERS};
  bool is_new;
  mapping_clear(s->mapping);
  if (detach_volume(s->node, &s->volume->id, err) < 0 ||
      attach_volume(s->node, s->volume, &writable, s->mapping, &is_new, err) < 0 ||
      filesystem_check(s->mapping->device, fs_type, err) < 0)
    return -1;
  if (strcmp(fs_type, "xfs") == 0) {
    struct mount_options options;
    if (mount_options_parse(fs_type, NULL, 0, "nouuid", &options, err) < 0)
      return -1;
    int r = mounter_replay(s->mapping->device, fs_type, &options, err);
    mount_options_clear(&options);
    if (r < 0)
      return -1;
  }
  mapping_clear(s->mapping);
  if (detach_volume(s->node, &s->volume->id, err) < 0)
    return -1;
  return attach_volume(s->node, s->volume, &read_only, s->mapping, &is_new, err);
}

static int
mount_at_target(struct staging *s, const char *fs_type, const struct mount_options *options,
                struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (mount_checked(s, fs_type, options, &failure) == 0)
    return 0;
  if (!s->mapping->is_read_only || failure->code != ERROR_FAILED_PRECONDITION)
    return error_set(err, failure->code, "%s", failure->message);
  if (replay_journal(s, fs_type, err) < 0)
    return error_wrap(err, "replay the journal, because %s", failure->message);
  return mount_checked(s, fs_type, options, err);
}

static int
stage(struct staging *s, struct error **err)
{
  const char *fs_type;
  struct mount_options options;
  bool is_done, is_mounted;
  if (target_path_make_folder(s->target, err) < 0 ||
      look_at_target(s, &is_done, &is_mounted, err) < 0 ||
      device_use_check_no_disk(s->mapping, err) < 0)
    return -1;
  if (is_done)
    return go_on_growing(s, err);
  if (blank_volume_format(s->volume, s->mapping, s->mount->fs_type, &fs_type, &s->is_fresh, err) <
          0 ||
      parse_options(s, fs_type, &options, err) < 0)
    return -1;
  int r = is_mounted ? mounter_mount(s->mapping->device, fs_type, &options, s->target, err)
                     : mount_at_target(s, fs_type, &options, err);
  mount_options_clear(&options);
  return r;
}

int
stage_filesystem(struct node *node, const struct volume *volume, struct mapping *mapping,
                 const Csi__V1__VolumeCapability__MountVolume *mount,
                 const struct target_path *target, struct error **err)
{
  struct staging s = {
      .node = node, .volume = volume, .mapping = mapping, .mount = mount, .target = target};
  return stage(&s, err);
}
