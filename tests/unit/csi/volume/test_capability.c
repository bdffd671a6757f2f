/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/capability.h"

#include <stdio.h>

#include "tests/unit/unit.h"

#define MODE(name) CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__##name

/* A capability with its parts in one piece. */
struct made {
  Csi__V1__VolumeCapability capability;
  Csi__V1__VolumeCapability__BlockVolume block;
  Csi__V1__VolumeCapability__MountVolume mount;
  Csi__V1__VolumeCapability__AccessMode mode;
};

/* fs_type NULL makes a block volume. */
static void
make(struct made *made, int mode, const char *fs_type)
{
  *made = (struct made){
      .capability = CSI__V1__VOLUME_CAPABILITY__INIT,
      .block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT,
      .mount = CSI__V1__VOLUME_CAPABILITY__MOUNT_VOLUME__INIT,
      .mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT,
  };
  made->mode.mode = (Csi__V1__VolumeCapability__AccessMode__Mode)mode;
  made->capability.access_mode = &made->mode;
  if (fs_type) {
    made->mount.fs_type = (char *)fs_type;
    made->capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
    made->capability.mount = &made->mount;
  } else {
    made->capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    made->capability.block = &made->block;
  }
}

static const struct {
  int mode;
  const char *refused_block; /* what the message has; NULL where it is served */
  const char *refused_mount;
  bool is_multi_node;
  bool is_read_only;
} modes[] = {
    {MODE(UNKNOWN), "access mode 0 is not known", "access mode 0 is not known", false, false},
    {MODE(SINGLE_NODE_WRITER), NULL, NULL, false, false},
    {MODE(SINGLE_NODE_READER_ONLY), NULL, NULL, false, true},
    {MODE(MULTI_NODE_READER_ONLY), NULL, NULL, true, true},
    {MODE(MULTI_NODE_SINGLE_WRITER), "MULTI_NODE_SINGLE_WRITER is not served",
     "MULTI_NODE_SINGLE_WRITER is not served", false, false},
    {MODE(MULTI_NODE_MULTI_WRITER), NULL, "use volumeMode: Block", true, false},
    {MODE(SINGLE_NODE_SINGLE_WRITER), NULL, NULL, false, false},
    {MODE(SINGLE_NODE_MULTI_WRITER), NULL, NULL, false, false},
    {8, "access mode 8 is not known", "access mode 8 is not known", false, false},
    {-1, "access mode -1 is not known", "access mode -1 is not known", false, false},
};

static void
check_mode(const Csi__V1__VolumeCapability *capability, const char *refused, const char *row)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_ROW(capability_check(capability, &err) == (refused ? -1 : 0), row);
  if (refused)
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, refused);
  CU_ASSERT_PTR_NULL(err);
}

static void
test_every_access_mode_with_block_and_mount(void)
{
  for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
    char row[32];
    (void)snprintf(row, sizeof(row), "mode %d", modes[i].mode);
    struct made made;
    make(&made, modes[i].mode, NULL);
    check_mode(&made.capability, modes[i].refused_block, row);
    make(&made, modes[i].mode, "ext4");
    check_mode(&made.capability, modes[i].refused_mount, row);
    CHECK_ROW(capability_is_multi_node(&made.capability) == modes[i].is_multi_node ||
                  modes[i].refused_mount,
              row);
    CHECK_ROW(capability_is_read_only(&made.capability) == modes[i].is_read_only, row);
  }
}

static void
test_filesystems(void)
{
  static const struct {
    const char *fs_type;
    bool is_served;
  } rows[] = {{"", true},       {"ext4", true},  {"xfs", true},
              {"ext3", false},  {"EXT4", false}, {"ext4 ", false},
              {"btrfs", false}, {"ext", false},  {"../../x", false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct made made;
    make(&made, MODE(SINGLE_NODE_WRITER), rows[i].fs_type);
    CHECK_ROW(capability_check(&made.capability, &err) == (rows[i].is_served ? 0 : -1),
              rows[i].fs_type);
    if (!rows[i].is_served)
      CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not served: use ext4 or xfs");
  }
}

static void
test_an_access_type_is_needed(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct made made;
  make(&made, MODE(SINGLE_NODE_WRITER), NULL);
  made.capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE__NOT_SET;
  CU_ASSERT_EQUAL(capability_check(&made.capability, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "access_type is needed");
}

static void
test_an_access_mode_is_needed(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct made made;
  make(&made, MODE(SINGLE_NODE_WRITER), NULL);
  made.capability.access_mode = NULL;
  CU_ASSERT_EQUAL(capability_check(&made.capability, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "access_mode is needed");
}

static void
test_all_of_a_list_must_be_served(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct made good, bad;
  make(&good, MODE(SINGLE_NODE_WRITER), NULL);
  make(&bad, MODE(SINGLE_NODE_WRITER), "btrfs");
  Csi__V1__VolumeCapability *all_good[] = {&good.capability, &good.capability};
  Csi__V1__VolumeCapability *one_bad[] = {&good.capability, &good.capability, &bad.capability};
  CU_ASSERT_EQUAL(capabilities_check(all_good, 2, NULL), 0);
  CU_ASSERT_EQUAL(capabilities_check(one_bad, 2, NULL), 0);
  CU_ASSERT_EQUAL(capabilities_check(one_bad, 3, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "volume_capabilities[2]: fs_type 'btrfs'");
}

static void
test_an_empty_list_is_refused(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(capabilities_check(NULL, 0, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "volume_capabilities is needed");
}

UNIT_MAIN("csi/volume/capability", UNIT_TEST(test_every_access_mode_with_block_and_mount),
          UNIT_TEST(test_filesystems), UNIT_TEST(test_an_access_type_is_needed),
          UNIT_TEST(test_an_access_mode_is_needed), UNIT_TEST(test_all_of_a_list_must_be_served),
          UNIT_TEST(test_an_empty_list_is_refused))
