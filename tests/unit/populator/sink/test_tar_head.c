/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/tar_head.h"

#include "lib/base/memory.h"
#include "populator/source/tar.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

/* So that room can be kept for one whose size is known last. */
static void
test_a_head_with_a_pax_size_is_as_long_for_every_size(void)
{
  static const uint64_t sizes[] = {0,        9, 1024, ((uint64_t)8 << 30) - 1, (uint64_t)8 << 30,
                                   INT64_MAX};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    CLEANUP(buffer_clear) struct buffer archive = {0};
    const struct tar_head head = {.name = "a", .size = sizes[i], .has_pax_size = true};
    tar_head_add(&head, &archive);
    CHECK_NUMBER(archive.len, 3 * 512);
    CLEANUP(tar_freep) struct tar *tar = tar_new(byte_stream_new(archive.data, archive.len, 0, 0));
    const struct tar_entry *entry;
    REQUIRE(tar_next(tar, &entry, NULL) == 0);
    CHECK_NUMBER(entry->type, TAR_FILE);
    CHECK_STRING(entry->path, "a");
    CHECK_NUMBER(entry->size, sizes[i]);
  }
}

static void
test_files_are_padded_to_blocks(void)
{
  static const struct {
    uint64_t size;
    size_t pad;
  } table[] = {{0, 0}, {1, 511}, {511, 1}, {512, 0}, {UINT64_MAX, 1}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    CLEANUP(buffer_clear) struct buffer archive = {0};
    tar_head_pad(table[i].size, &archive);
    CHECK_NUMBER(archive.len, table[i].pad);
  }
}

UNIT_MAIN("populator/sink/tar_head",
          UNIT_TEST(test_a_head_with_a_pax_size_is_as_long_for_every_size),
          UNIT_TEST(test_files_are_padded_to_blocks))
