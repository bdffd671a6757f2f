/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mount_table.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const char usual[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro\n"
    "30 22 0:5 /rbd0 /var/lib/kubelet/block rw,nosuid shared:2 master:1 - devtmpfs udev rw\n"
    "31 22 252:16 / /var/lib/kubelet/a\\040b ro,noatime - xfs /dev/rbd1 rw,attr2\n"
    "32 22 252:16 / /var/lib/kubelet/c rw - xfs /dev/rbd1 ro,attr2\n"
    "33 31 7:3 /sub\\134dir /var/lib/kubelet/a\\040b rw - ext4 /dev/loop3 rw";

static void
test_lines_are_taken_apart(void)
{
  struct mount_table table;
  REQUIRE(mount_table_parse(usual, &table, NULL) == 0);
  CHECK_NUMBER(table.count, 5);
  const struct mount_entry *entry = &table.entries[2];
  CHECK_STRING(entry->mount_point, "/var/lib/kubelet/a b");
  CHECK_STRING(entry->root, "/");
  CHECK_STRING(entry->type, "xfs");
  CHECK_STRING(entry->source, "/dev/rbd1");
  CU_ASSERT(entry->device == makedev(252, 16));
  CU_ASSERT(entry->is_read_only && !entry->is_super_read_only);
  CU_ASSERT(!table.entries[3].is_read_only && table.entries[3].is_super_read_only);
  CHECK_STRING(table.entries[1].root, "/rbd0");
  CHECK_STRING(table.entries[4].root, "/sub\\dir");
  CU_ASSERT(!table.entries[0].is_super_read_only); /* errors=remount-ro is not ro */
  CHECK_NUMBER(table.entries[1].attributes, MOUNT_ATTR_NOSUID);
  CHECK_NUMBER(table.entries[2].attributes, 0);
  mount_table_clear(&table);
}

static void
test_the_topmost_mount_is_found(void)
{
  struct mount_table table;
  REQUIRE(mount_table_parse(usual, &table, NULL) == 0);
  CHECK_STRING(mount_table_at(&table, "/var/lib/kubelet/a b")->source, "/dev/loop3");
  CU_ASSERT_PTR_NULL(mount_table_at(&table, "/var/lib/kubelet/a"));
  CU_ASSERT_PTR_NULL(mount_table_at(&table, "/var/lib/kubelet/a b/"));
  mount_table_clear(&table);
}

static void
test_mounts_of_a_device_are_found(void)
{
  struct mount_table table;
  REQUIRE(mount_table_parse(usual, &table, NULL) == 0);
  dev_t device = makedev(252, 16);
  CHECK_STRING(mount_table_of_device(&table, device, NULL)->mount_point, "/var/lib/kubelet/a b");
  CHECK_STRING(mount_table_of_device(&table, device, "/var/lib/kubelet/a b")->mount_point,
               "/var/lib/kubelet/c");
  CU_ASSERT_PTR_NULL(mount_table_of_device(&table, makedev(252, 32), NULL));
  mount_table_clear(&table);
}

static void
test_mounts_of_a_node_are_found(void)
{
  struct mount_table table;
  REQUIRE(mount_table_parse(usual, &table, NULL) == 0);
  const struct mount_entry *entry = mount_table_of_node(&table, "/dev/rbd0", NULL);
  REQUIRE(entry);
  CHECK_STRING(entry->mount_point, "/var/lib/kubelet/block");
  CU_ASSERT_PTR_NULL(mount_table_of_node(&table, "/dev/rbd0", entry));
  CU_ASSERT_PTR_NULL(mount_table_of_node(&table, "/dev/rbd1", NULL)); /* a filesystem is none */
  mount_table_clear(&table);
}

/* As where a container runtime has filled /dev: the name of the node tells nothing there. */
static void
test_a_node_is_known_by_its_number(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *device = temp_dir_path(dir, "rbd0");
  CLEANUP(freep) char *bound = temp_dir_path(dir, "bound");
  CLEANUP(freep) char *other = temp_dir_path(dir, "rbd1");
  REQUIRE(mknod(device, S_IFBLK | 0600, makedev(252, 16)) == 0);
  REQUIRE(mknod(bound, S_IFBLK | 0600, makedev(252, 16)) == 0);
  REQUIRE(mknod(other, S_IFBLK | 0600, makedev(252, 32)) == 0);
  CLEANUP(freep)
  char *text = xasprintf("22 1 0:5 / %s rw - tmpfs tmpfs rw\n23 1 0:5 /x %s rw - tmpfs tmpfs rw\n",
                         dir, bound);
  struct mount_table table;
  REQUIRE(mount_table_parse(text, &table, NULL) == 0);
  const struct mount_entry *entry = mount_table_of_node(&table, device, NULL);
  REQUIRE(entry);
  CHECK_STRING(entry->mount_point, bound);
  CU_ASSERT_PTR_NULL(mount_table_of_node(&table, other, NULL));
  mount_table_clear(&table);
}

static void
test_what_is_no_line_is_refused(void)
{
  static const char *const lines[] = {
      "x",
      "\n",
      "22 1 254:0 / / rw",
      "22 1 254:0 / / rw -",
      "22 1 254:0 / / rw - ext4",
      "22 1 254 / / rw - ext4 /dev/vda rw",
      "22 1 254:x / / rw - ext4 /dev/vda rw",
      "22 1 99999999999:0 / / rw - ext4 /dev/vda rw",
      "22 1 254:0 / / rw shared:1 ext4 /dev/vda rw",
  };
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct mount_table table;
    CHECK_ROW(mount_table_parse(lines[i], &table, &err) == -1, lines[i]);
    CHECK_ERROR(&err, ERROR_INTERNAL, "is not a line of a mount table");
  }
}

static void
test_our_own_table_can_be_read(void)
{
  struct mount_table table;
  REQUIRE(mount_table_read(&table, NULL) == 0);
  CU_ASSERT_PTR_NOT_NULL(mount_table_at(&table, "/"));
  mount_table_clear(&table);
}

UNIT_MAIN("nodeplugin/mount_table", UNIT_TEST(test_lines_are_taken_apart),
          UNIT_TEST(test_the_topmost_mount_is_found), UNIT_TEST(test_mounts_of_a_device_are_found),
          UNIT_TEST(test_mounts_of_a_node_are_found), UNIT_TEST(test_a_node_is_known_by_its_number),
          UNIT_TEST(test_what_is_no_line_is_refused), UNIT_TEST(test_our_own_table_can_be_read))
