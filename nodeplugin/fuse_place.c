/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/fuse_place.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "nodeplugin/helper_lock.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/sys_call.h"

void
fuse_place_of(const struct mapper_env *env, const struct volume_id *id,
              struct fuse_place *ret_place)
{
  CLEANUP(freep) char *text = volume_id_encode(id);
  char hash[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), hash);
  ret_place->folder = xasprintf("%s/fuse/%.16s", env->run_dir, hash);
  ret_place->file = xasprintf("%s/%s", ret_place->folder, text);
  ret_place->socket = xasprintf("%s/qmp", ret_place->folder);
}

void
fuse_place_clear(struct fuse_place *place)
{
  free(place->folder);
  free(place->file);
  free(place->socket);
}

int
fuse_place_open(const struct fuse_place *place, const char *name, int flags)
{
  CLEANUP(freep) char *path = xasprintf("%s/%s", place->folder, name);
  return open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int
fuse_place_take_lock(const struct fuse_place *place)
{
  return helper_lock_take(fuse_place_open(place, "lock", O_RDWR | O_CREAT));
}

bool
fuse_place_is_served(const struct fuse_place *place)
{
  CLEANUP(closep) int fd = fuse_place_open(place, "lock", O_RDWR);
  return helper_lock_is_held(fd);
}

bool
fuse_place_is_shown(const struct fuse_place *place)
{
  struct mount_table table;
  if (mount_table_read(&table, NULL) < 0)
    return false;
  bool found = mount_table_at(&table, place->file) != NULL;
  mount_table_clear(&table);
  return found;
}

static char *
new_mark(const struct fuse_place *place)
{
  return xasprintf("%s/new", place->folder);
}

int
fuse_place_mark_new(const struct fuse_place *place, struct error **err)
{
  CLEANUP(freep) char *path = new_mark(place);
  CLEANUP(closep)
  int fd = SYS_CALL(open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return fd < 0 ? error_set_errno(err, errno, "make file '%s'", path) : 0;
}

int
fuse_place_unmark_new(const struct fuse_place *place, struct error **err)
{
  CLEANUP(freep) char *path = new_mark(place);
  if (SYS_CALL(unlink(path)) < 0 && errno != ENOENT)
    return error_set_errno(err, errno, "remove '%s'", path);
  return 0;
}

bool
fuse_place_is_new(const struct fuse_place *place)
{
  CLEANUP(freep) char *path = new_mark(place);
  return access(path, F_OK) == 0;
}

int
fuse_place_prepare(const struct mapper_env *env, const struct fuse_place *place, struct error **err)
{
  CLEANUP(freep) char *parent = xasprintf("%s/fuse", env->run_dir);
  if ((SYS_CALL(mkdir(parent, 0700)) < 0 && errno != EEXIST) ||
      (SYS_CALL(mkdir(place->folder, 0700)) < 0 && errno != EEXIST))
    return error_set_errno(err, errno, "make folder '%s'", place->folder);
  if (fuse_place_is_shown(place))
    return 0;
  int fd = SYS_CALL(open(place->file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0)
    return error_set_errno(err, errno, "make file '%s'", place->file);
  (void)close(fd);
  return 0;
}

int
fuse_place_clear_remains(const struct fuse_place *place, struct error **err)
{
  char *device;
  while ((device = loop_device_find(place->file))) {
    int r = loop_device_detach(device, place->file, err);
    free(device);
    if (r < 0)
      return -1;
  }
  while (fuse_place_is_shown(place)) {
    if (SYS_CALL(umount2(place->file, MNT_DETACH)) < 0 && fuse_place_is_shown(place))
      return error_set_errno(err, errno, "unmount '%s'", place->file);
  }
  return 0;
}

int
fuse_place_remove(const struct fuse_place *place, struct error **err)
{
  static const char *const names[] = {"qmp", "log", "lock", "new"};
  if (SYS_CALL(unlink(place->file)) < 0 && errno != ENOENT)
    return error_set_errno(err, errno, "remove '%s'", place->file);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(freep) char *path = xasprintf("%s/%s", place->folder, names[i]);
    (void)SYS_CALL(unlink(path));
  }
  if (SYS_CALL(rmdir(place->folder)) < 0 && errno != ENOENT)
    return error_set_errno(err, errno, "remove '%s'", place->folder);
  return 0;
}
