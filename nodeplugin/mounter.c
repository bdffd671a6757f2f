/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mounter.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/sys_call.h"

/* A container that has just ended may hold a mount for a moment. */
#define UNMOUNT_WAIT_MS 5000
#define UNMOUNT_PAUSE_MS 50

/* What the kernel has to say about a filesystem it does not take: the last message, one line. */
static void
read_reason(int fs, char *reason, size_t room)
{
  char line[512];
  ssize_t len;
  reason[0] = '\0';
  while ((len = read(fs, line, sizeof(line) - 1)) > 0) {
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    /* "e ext4: the reason" */
    const char *text = len > 2 && line[1] == ' ' ? line + 2 : line;
    size_t text_len = strnlen(text, room - 1);
    memcpy(reason, text, text_len);
    reason[text_len] = '\0';
  }
}

static int
refusal(int fs, int cause, const char *device, const char *fs_type, struct error **err)
{
  char reason[256];
  read_reason(fs, reason, sizeof(reason));
  const char *between = reason[0] ? ": " : "";
  if (cause == EUCLEAN || cause == EBADMSG)
    return error_set(err, ERROR_DATA_LOSS,
                     "mount '%s': its %s filesystem is damaged%s%s; repair it by hand, it is not "
                     "formatted",
                     device, fs_type, between, reason);
  if (cause == EROFS)
    return error_set(err, ERROR_FAILED_PRECONDITION, "mount '%s' as %s: it is read-only%s%s",
                     device, fs_type, between, reason);
  return error_set_errno(err, cause, "mount '%s' as %s%s%s", device, fs_type, between, reason);
}

static int
configure(int fs, const char *device, const struct option_list *options)
{
  if (fsconfig(fs, FSCONFIG_SET_STRING, "source", device, 0) < 0)
    return -1;
  for (size_t i = 0; i < options->count; i++) {
    const struct option_item *item = &options->items[i];
    if (fsconfig(fs, item->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, item->name, item->value,
                 0) < 0)
      return -1;
  }
  return SYS_CALL(fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
}

static int
attach(int mount, const struct target_path *target, struct error **err)
{
  if (SYS_CALL(move_mount(mount, "", target->parent, target->name, MOVE_MOUNT_F_EMPTY_PATH)) < 0)
    return error_set_errno(err, errno, "mount on '%s'", target->real);
  return 0;
}

/* fs: what fsopen() has answered. The filesystem is up until it is closed, and mounted nowhere. */
static int
bring_up(int fs, const char *device, const char *fs_type, const struct mount_options *options,
         struct error **err)
{
  if (fs < 0)
    return error_set_errno(err, errno, "this kernel has no %s", fs_type);
  if (configure(fs, device, &options->filesystem) < 0)
    return refusal(fs, errno, device, fs_type, err);
  return 0;
}

int
mounter_mount(const char *device, const char *fs_type, const struct mount_options *options,
              const struct target_path *target, struct error **err)
{
  CLEANUP(closep) int fs = fsopen(fs_type, FSOPEN_CLOEXEC);
  if (bring_up(fs, device, fs_type, options, err) < 0)
    return -1;
  CLEANUP(closep) int mount = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)options->attributes);
  if (mount < 0)
    return refusal(fs, errno, device, fs_type, err);
  return attach(mount, target, err);
}

int
mounter_replay(const char *device, const char *fs_type, const struct mount_options *options,
               struct error **err)
{
  CLEANUP(closep) int fs = fsopen(fs_type, FSOPEN_CLOEXEC);
  return bring_up(fs, device, fs_type, options, err);
}

int
mounter_bind(const struct target_path *source, const struct mount_options *options,
             bool is_read_only, const struct target_path *target, struct error **err)
{
  CLEANUP(closep)
  int mount = open_tree(source->parent, source->name,
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
  if (mount < 0)
    return error_set_errno(err, errno, "take a copy of the mount '%s'", source->real);
  struct mount_attr attributes = {
      .attr_set = options->attributes | (is_read_only ? MOUNT_ATTR_RDONLY : 0),
      .attr_clr = options->cleared,
  };
  if ((attributes.attr_set || attributes.attr_clr) &&
      mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
    return error_set_errno(err, errno, "set the options of the mount '%s'", target->real);
  return attach(mount, target, err);
}

int
mounter_bind_device(const char *device, const struct target_path *target, struct error **err)
{
  CLEANUP(closep) int mount = open_tree(AT_FDCWD, device, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (mount < 0)
    return error_set_errno(err, errno, "take a copy of the node '%s'", device);
  return attach(mount, target, err);
}

static bool
is_mounted(const struct target_path *target)
{
  struct mount_table table;
  if (mount_table_read(&table, NULL) < 0)
    return true;
  bool found = mount_table_at(&table, target->real) != NULL;
  mount_table_clear(&table);
  return found;
}

int
mounter_unmount(const struct target_path *target, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + UNMOUNT_WAIT_MS;
  while (is_mounted(target)) {
    if (SYS_CALL(umount2(target->by_fd, UMOUNT_NOFOLLOW)) == 0)
      continue;
    if (errno == EINVAL && !is_mounted(target)) /* somebody was quicker */
      return 0;
    if (errno != EBUSY)
      return error_set_errno(err, errno, "unmount '%s'", target->real);
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION, "unmount '%s': it is still in use",
                       target->real);
    (void)nanosleep(&(struct timespec){.tv_nsec = UNMOUNT_PAUSE_MS * 1000000L}, NULL);
  }
  return 0;
}
