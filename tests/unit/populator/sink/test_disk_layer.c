/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/disk_layer.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/tar.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

static void
test_names(void)
{
  static const char *const good[] = {"disk.img", "a", "fedora-40_x86.qcow2", "0"};
  static const char *const bad[] = {
      "",         ".",
      "..",       ".a",
      "a/b",      "a b",
      "\xc3\xa9", "a\n",
      "-a",       "12345678901234567890123456789012345678901234567890123456789012345"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    CHECK_ROW(disk_layer_check_name(good[i], NULL) == 0, good[i]);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(disk_layer_check_name(bad[i], &err) == -1, bad[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, bad[i]);
  }
}

/* Our own reader takes it for what it is, whatever the size. */
static void
test_an_archive_with_a_disk_of_any_size(void)
{
  static const uint64_t sizes[] = {0,
                                   1,
                                   511,
                                   512,
                                   ((uint64_t)8 << 30) - 1,
                                   (uint64_t)8 << 30,
                                   (uint64_t)10 << 40,
                                   (uint64_t)INT64_MAX};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    CLEANUP(buffer_clear) struct buffer head = {0};
    disk_layer_head("disk.img", sizes[i], &head);
    CLEANUP(tar_freep) struct tar *tar = tar_new(byte_stream_new(head.data, head.len, 0, 0));
    const struct tar_entry *entry;
    REQUIRE(tar_next(tar, &entry, NULL) == 0);
    CHECK_NUMBER(entry->type, TAR_DIRECTORY);
    CHECK_STRING(entry->path, "disk");
    REQUIRE(tar_next(tar, &entry, NULL) == 0);
    CHECK_NUMBER(entry->type, TAR_FILE);
    CHECK_STRING(entry->path, "disk/disk.img");
    CHECK_NUMBER(entry->size, sizes[i]);
    CHECK_NUMBER(tar_position(tar), head.len);
    CU_ASSERT_EQUAL(head.len % 512, 0);
  }
}

static void
test_owner_and_mode(void)
{
  CLEANUP(buffer_clear) struct buffer head = {0};
  disk_layer_head("x", 5, &head);
  REQUIRE(head.len == 1024);
  CHECK_STRING(head.data, "disk/");
  CHECK_STRING(head.data + 100, "0000555");
  CHECK_STRING(head.data + 512, "disk/x");
  CHECK_STRING(head.data + 612, "0000440");
  CHECK_STRING(head.data + 620, "0000153"); /* 107 */
  CHECK_STRING(head.data + 628, "0000153");
  CHECK_STRING(head.data + 636, "00000000005");
  CHECK_STRING(head.data + 648, "00000000000");
}

static void
test_the_end_fills_blocks(void)
{
  static const struct {
    uint64_t size;
    size_t len;
  } rows[] = {{0, 1024}, {1, 1024 + 511}, {511, 1024 + 1}, {512, 1024}, {513, 1024 + 511}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(buffer_clear) struct buffer tail = {0};
    disk_layer_tail(rows[i].size, &tail);
    CHECK_NUMBER(tail.len, rows[i].len);
    CU_ASSERT(tail.data[0] == 0 && memcmp(tail.data, tail.data + 1, tail.len - 1) == 0);
  }
}

UNIT_MAIN("populator/sink/disk_layer", UNIT_TEST(test_names),
          UNIT_TEST(test_an_archive_with_a_disk_of_any_size), UNIT_TEST(test_owner_and_mode),
          UNIT_TEST(test_the_end_fills_blocks))
