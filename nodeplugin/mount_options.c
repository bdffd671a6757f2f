/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mount_options.h"

#include <string.h>
#include <sys/mount.h>

/* Those of the mount, not of the filesystem; and what means nothing. */
static const struct {
  const char *name;
  uint64_t attribute;
  bool is_atime; /* one of several settings of one field */
} generic[] = {
    {"defaults", 0, false},
    {"rw", 0, false},
    {"nosuid", MOUNT_ATTR_NOSUID, false},
    {"nodev", MOUNT_ATTR_NODEV, false},
    {"noexec", MOUNT_ATTR_NOEXEC, false},
    {"nodiratime", MOUNT_ATTR_NODIRATIME, false},
    {"noatime", MOUNT_ATTR_NOATIME, true},
    {"relatime", MOUNT_ATTR_RELATIME, true},
    {"strictatime", MOUNT_ATTR_STRICTATIME, true},
};

#define GENERIC (sizeof(generic) / sizeof(generic[0]))

/* "errors=panic" would take the host down with a volume; "journal_path", "logdev" and "rtdev" name
 * devices of the host; "test_dummy_encryption", "inode32" and the like have no use here. */
#define COMMON_RULES                                                                               \
  {"defaults", OPTION_FLAG, NULL}, {"rw", OPTION_FLAG, NULL}, {"ro", OPTION_FLAG, NULL},           \
      {"nosuid", OPTION_FLAG, NULL}, {"nodev", OPTION_FLAG, NULL}, {"noexec", OPTION_FLAG, NULL},  \
      {"noatime", OPTION_FLAG, NULL}, {"nodiratime", OPTION_FLAG, NULL},                           \
      {"relatime", OPTION_FLAG, NULL}, {"strictatime", OPTION_FLAG, NULL},                         \
      {"lazytime", OPTION_FLAG, NULL}, {"nolazytime", OPTION_FLAG, NULL},                          \
      {"sync", OPTION_FLAG, NULL}, {"async", OPTION_FLAG, NULL}, {"dirsync", OPTION_FLAG, NULL},   \
      {"discard", OPTION_FLAG, NULL},                                                              \
  {                                                                                                \
    "nodiscard", OPTION_FLAG, NULL                                                                 \
  }

static const struct option_rule ext4_rules[] = {
    COMMON_RULES,
    {"data", OPTION_VALUE, NULL},
    {"commit", OPTION_VALUE, NULL},
    {"barrier", OPTION_MAY_HAVE_VALUE, NULL},
    {"nobarrier", OPTION_FLAG, NULL},
    {"errors", OPTION_VALUE, "panic"},
    {"stripe", OPTION_VALUE, NULL},
    {"delalloc", OPTION_FLAG, NULL},
    {"nodelalloc", OPTION_FLAG, NULL},
    {"auto_da_alloc", OPTION_MAY_HAVE_VALUE, NULL},
    {"noauto_da_alloc", OPTION_FLAG, NULL},
    {"journal_checksum", OPTION_FLAG, NULL},
    {"journal_async_commit", OPTION_FLAG, NULL},
    {"journal_ioprio", OPTION_VALUE, NULL},
    {"inode_readahead_blks", OPTION_VALUE, NULL},
    {"max_batch_time", OPTION_VALUE, NULL},
    {"min_batch_time", OPTION_VALUE, NULL},
    {"init_itable", OPTION_MAY_HAVE_VALUE, NULL},
    {"noinit_itable", OPTION_FLAG, NULL},
    {"user_xattr", OPTION_FLAG, NULL},
    {"nouser_xattr", OPTION_FLAG, NULL},
    {"acl", OPTION_FLAG, NULL},
    {"noacl", OPTION_FLAG, NULL},
    {"usrquota", OPTION_FLAG, NULL},
    {"grpquota", OPTION_FLAG, NULL},
    {"prjquota", OPTION_FLAG, NULL},
    {"noquota", OPTION_FLAG, NULL},
    {"dioread_nolock", OPTION_FLAG, NULL},
    {"dioread_lock", OPTION_FLAG, NULL},
    {"noload", OPTION_FLAG, NULL},
    {NULL, OPTION_FLAG, NULL},
};

static const struct option_rule xfs_rules[] = {
    COMMON_RULES,
    {"allocsize", OPTION_VALUE, NULL},
    {"attr2", OPTION_FLAG, NULL},
    {"inode32", OPTION_FLAG, NULL},
    {"inode64", OPTION_FLAG, NULL},
    {"largeio", OPTION_FLAG, NULL},
    {"nolargeio", OPTION_FLAG, NULL},
    {"logbsize", OPTION_VALUE, NULL},
    {"logbufs", OPTION_VALUE, NULL},
    {"noalign", OPTION_FLAG, NULL},
    {"norecovery", OPTION_FLAG, NULL},
    {"nouuid", OPTION_FLAG, NULL},
    {"sunit", OPTION_VALUE, NULL},
    {"swidth", OPTION_VALUE, NULL},
    {"swalloc", OPTION_FLAG, NULL},
    {"wsync", OPTION_FLAG, NULL},
    {"filestreams", OPTION_FLAG, NULL},
    {"uquota", OPTION_FLAG, NULL},
    {"gquota", OPTION_FLAG, NULL},
    {"pquota", OPTION_FLAG, NULL},
    {"usrquota", OPTION_FLAG, NULL},
    {"grpquota", OPTION_FLAG, NULL},
    {"prjquota", OPTION_FLAG, NULL},
    {"noquota", OPTION_FLAG, NULL},
    {NULL, OPTION_FLAG, NULL},
};

/* Takes the options of the mount out of the list: the filesystem does not know them. */
static void
split(struct mount_options *options)
{
  size_t left = 0;
  for (size_t i = 0; i < options->filesystem.count; i++) {
    struct option_item *item = &options->filesystem.items[i];
    size_t j = 0;
    while (j < GENERIC && strcmp(generic[j].name, item->name) != 0)
      j++;
    if (j == GENERIC) {
      options->filesystem.items[left++] = *item;
      continue;
    }
    if (generic[j].is_atime) {
      options->attributes &= ~(uint64_t)MOUNT_ATTR__ATIME;
      options->cleared |= MOUNT_ATTR__ATIME;
    }
    options->attributes |= generic[j].attribute;
    free(item->name);
    free(item->value);
  }
  options->filesystem.count = left;
}

int
mount_options_parse(const char *fs_type, char *const *flags, size_t count, const char *added,
                    struct mount_options *ret_options, struct error **err)
{
  bool is_xfs = strcmp(fs_type, "xfs") == 0;
  const struct option_rule *rules = is_xfs ? xfs_rules : ext4_rules;
  struct mount_options options = {0};
  /* Else the superblock decides, which whoever wrote the volume has written: it may say "panic". */
  int r = option_list_add(&options.filesystem, rules, "mount option",
                          is_xfs ? "" : "errors=remount-ro", err);
  for (size_t i = 0; i < count && r == 0; i++)
    r = option_list_add(&options.filesystem, rules, "mount option", flags[i], err);
  if (r == 0)
    r = option_list_add(&options.filesystem, rules, "mount option", added, err);
  if (r < 0) {
    mount_options_clear(&options);
    return -1;
  }
  split(&options);
  *ret_options = options;
  return 0;
}

void
mount_options_clear(struct mount_options *options)
{
  option_list_clear(&options->filesystem);
  *options = (struct mount_options){0};
}
