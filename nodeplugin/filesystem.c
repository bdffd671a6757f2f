/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/base/memory.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/tool.h"

/* A large filesystem takes minutes to make or to check; callers are answered at their deadline and
 * come again meanwhile. */
#define MAKE_LIMIT_MS (30 * 60000LL)
#define CHECK_LIMIT_MS (6 * 3600000LL)
#define GROW_LIMIT_MS (30 * 60000LL)

/* Of fsck: bits of its exit status. */
#define FSCK_MENDED 1
#define FSCK_MENDED_REBOOT 2
#define FSCK_DAMAGED 4
#define FSCK_FAILED 8

static bool
is_xfs(const char *fs_type)
{
  return strcmp(fs_type, "xfs") == 0;
}

bool
filesystem_is_served(const char *fs_type)
{
  return strcmp(fs_type, "ext4") == 0 || is_xfs(fs_type);
}

int
filesystem_make(const char *device, const char *fs_type, const struct mkfs_options *options,
                bool is_again, struct error **err)
{
  /* A blank image is thin already: there is nothing to discard. */
  static const char *const ext4[] = {"mkfs.ext4", "-q", "-E", "nodiscard", NULL};
  static const char *const xfs[] = {"mkfs.xfs", "-q", "-K", NULL};
  const char *argv[MKFS_WORDS_MAX + 8];
  size_t count = 0;
  for (const char *const *word = is_xfs(fs_type) ? xfs : ext4; *word; word++)
    argv[count++] = *word;
  if (is_again)
    argv[count++] = is_xfs(fs_type) ? "-f" : "-F";
  for (size_t i = 0; i < options->count; i++)
    argv[count++] = options->words[i];
  argv[count++] = device;
  argv[count] = NULL;
  return tool_must(argv, MAKE_LIMIT_MS, err);
}

/* What the status of fsck says. It may also have been killed, or not have got at the device: that
 * says nothing about the filesystem. A superblock that is of no use is not told by a status. */
static int
judge(const char *device, int status, const char *output, struct error **err)
{
  bool has_ended = status != TOOL_KILLED;
  if (has_ended &&
      ((status & FSCK_DAMAGED) || ((status & FSCK_FAILED) && strcasestr(output, "superblock"))))
    return error_set(err, ERROR_DATA_LOSS,
                     "the ext4 filesystem on '%s' is damaged: %s; repair it by hand, it is not "
                     "formatted",
                     device, output);
  if ((status & ~(FSCK_MENDED | FSCK_MENDED_REBOOT)) != 0)
    return error_set(err, ERROR_UNAVAILABLE,
                     "the ext4 filesystem on '%s' could not be checked (status %d): %s", device,
                     status, output);
  return 0;
}

int
filesystem_check(const char *device, const char *fs_type, struct error **err)
{
  if (is_xfs(fs_type))
    return 0;
  const char *const argv[] = {"fsck.ext4", "-p", device, NULL};
  int status;
  CLEANUP(freep) char *output = NULL;
  if (tool_run(argv, CHECK_LIMIT_MS, &status, &output, err) < 0)
    return -1;
  return judge(device, status, output, err);
}

static uint64_t
little_endian(const unsigned char *at, size_t bytes)
{
  uint64_t value = 0;
  for (size_t i = bytes; i > 0; i--)
    value = value << 8 | at[i - 1];
  return value;
}

static uint64_t
big_endian(const unsigned char *at, size_t bytes)
{
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++)
    value = value << 8 | at[i];
  return value;
}

/* Bytes that the filesystem believes to have, and what it rounds to; from its superblock. */
static int
read_extent(const char *device, const char *fs_type, uint64_t *ret_bytes, uint64_t *ret_unit,
            struct error **err)
{
  unsigned char block[2048];
  CLEANUP(closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || pread(fd, block, sizeof(block), 0) != (ssize_t)sizeof(block))
    return error_set_errno(err, errno, "read the superblock on '%s'", device);
  if (is_xfs(fs_type)) {
    uint64_t block_bytes = big_endian(block + 4, 4);
    *ret_bytes = big_endian(block + 8, 8) * block_bytes;
    *ret_unit = block_bytes * 64; /* an allocation group has at least so many */
    return 0;
  }
  const unsigned char *super = block + 1024;
  uint64_t shift = little_endian(super + 24, 4);
  if (shift > 6)
    return error_set(err, ERROR_DATA_LOSS, "the ext4 superblock on '%s' is damaged", device);
  uint64_t block_bytes = 1024ULL << shift;
  uint64_t blocks = little_endian(super + 4, 4);
  if (little_endian(super + 96, 4) & 0x80) /* 64bit: the upper half counts */
    blocks |= little_endian(super + 336, 4) << 32;
  *ret_bytes = blocks * block_bytes;
  *ret_unit = block_bytes * 1024;
  return 0;
}

int
filesystem_is_short(const char *device, const char *fs_type, bool *ret_is_short, struct error **err)
{
  uint64_t has_bytes, unit, device_bytes;
  if (read_extent(device, fs_type, &has_bytes, &unit, err) < 0 ||
      block_device_size(device, &device_bytes, err) < 0)
    return -1;
  *ret_is_short = has_bytes < device_bytes && device_bytes - has_bytes >= unit;
  return 0;
}

int
filesystem_grow_mounted(const char *device, const char *fs_type, const char *path,
                        struct error **err)
{
  const char *const ext4[] = {"resize2fs", device, NULL};
  const char *const xfs[] = {"xfs_growfs", "-d", path, NULL};
  int status;
  CLEANUP(freep) char *output = NULL;
  const char *const *argv = is_xfs(fs_type) ? xfs : ext4;
  if (tool_run(argv, GROW_LIMIT_MS, &status, &output, err) < 0)
    return -1;
  if (status == 0)
    return 0;
  bool lacks_privilege = strcasestr(output, "permission denied") || strstr(output, "not permitted");
  return error_set(err, lacks_privilege ? ERROR_PERMISSION_DENIED : ERROR_INTERNAL,
                   "grow the %s filesystem on '%s': %s%s", fs_type, device, output,
                   lacks_privilege ? " (the kernel wants CAP_SYS_RESOURCE for it)" : "");
}

int
filesystem_grow_unmounted(const char *device, const char *fs_type, struct error **err)
{
  if (is_xfs(fs_type))
    return 0;
  const char *const check[] = {"fsck.ext4", "-f", "-p", device, NULL};
  const char *const grow[] = {"resize2fs", device, NULL};
  int status;
  CLEANUP(freep) char *output = NULL;
  if (tool_run(check, CHECK_LIMIT_MS, &status, &output, err) < 0)
    return -1;
  if (judge(device, status, output, err) < 0)
    return -1;
  return tool_must(grow, GROW_LIMIT_MS, err);
}
