/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_layout.h"

#include "tests/unit/unit.h"

#define MIB ((uint64_t)1 << 20)

/* A source that only knows where its data is. */
struct holed_source {
  struct source source;
  uint64_t ranges[4][2]; /* ascending */
  unsigned asked;
  bool is_broken;
};

static int
data_range(struct source *source, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
           struct error **err)
{
  struct holed_source *holed = (struct holed_source *)source;
  holed->asked++;
  if (holed->is_broken)
    return error_set(err, ERROR_UNAVAILABLE, "broken");
  *ret_start = *ret_end = source->size;
  for (unsigned i = 0; i < 4; i++) {
    if (holed->ranges[i][1] <= offset)
      continue;
    *ret_start = holed->ranges[i][0] > offset ? holed->ranges[i][0] : offset;
    *ret_end = holed->ranges[i][1];
    break;
  }
  return 0;
}

static const struct source_ops holed_ops = {.data_range = data_range};
static const struct source_ops plain_ops = {0};

static void
check_extent(const struct layout_extent *extent, uint64_t offset, uint64_t len)
{
  CHECK_NUMBER(extent->virtual_offset, offset);
  CHECK_NUMBER(extent->file_offset, offset);
  CHECK_NUMBER(extent->len, len);
  CHECK_NUMBER(extent->file_len, len);
  CU_ASSERT_FALSE(extent->is_encoded);
}

static void
test_all_is_data_where_nothing_is_known(void)
{
  struct source source = {.ops = &plain_ops, .size = 10 * MIB + 5};
  CLEANUP(layout_closep) struct layout *layout = raw_layout_new(&source);
  CLEANUP(layout_extents_clear) struct layout_extents extents = {0};
  CHECK_NUMBER(layout->virtual_size, 10 * MIB + 5);
  REQUIRE(layout->ops->extents(layout, 0, 8 * MIB, &extents, NULL) == 0);
  REQUIRE(extents.count == 1);
  check_extent(&extents.items[0], 0, 8 * MIB);
  REQUIRE(layout->ops->extents(layout, 8 * MIB, 16 * MIB, &extents, NULL) == 0);
  REQUIRE(extents.count == 1);
  check_extent(&extents.items[0], 8 * MIB, 2 * MIB + 5);
}

static void
test_holes_have_no_extents(void)
{
  struct holed_source holed = {
      .source = {.ops = &holed_ops, .size = 100 * MIB},
      .ranges = {{1 * MIB, 2 * MIB}, {4 * MIB, 10 * MIB}, {80 * MIB, 81 * MIB}}};
  CLEANUP(layout_closep) struct layout *layout = raw_layout_new(&holed.source);
  CLEANUP(layout_extents_clear) struct layout_extents extents = {0};
  REQUIRE(layout->ops->extents(layout, 0, 8 * MIB, &extents, NULL) == 0);
  REQUIRE(extents.count == 2);
  check_extent(&extents.items[0], 1 * MIB, 1 * MIB);
  check_extent(&extents.items[1], 4 * MIB, 4 * MIB);
  REQUIRE(layout->ops->extents(layout, 8 * MIB, 16 * MIB, &extents, NULL) == 0);
  REQUIRE(extents.count == 1);
  check_extent(&extents.items[0], 8 * MIB, 2 * MIB);
  REQUIRE(layout->ops->extents(layout, 88 * MIB, 96 * MIB, &extents, NULL) == 0);
  CHECK_NUMBER(extents.count, 0);
}

static void
test_a_long_hole_is_asked_for_once(void)
{
  struct holed_source holed = {.source = {.ops = &holed_ops, .size = 1000 * MIB},
                               .ranges = {{0, 1 * MIB}, {999 * MIB, 1000 * MIB}}};
  CLEANUP(layout_closep) struct layout *layout = raw_layout_new(&holed.source);
  CLEANUP(layout_extents_clear) struct layout_extents extents = {0};
  for (uint64_t at = 0; at < 1000 * MIB; at += 8 * MIB)
    REQUIRE(layout->ops->extents(layout, at, at + 8 * MIB, &extents, NULL) == 0);
  REQUIRE(extents.count == 1);
  check_extent(&extents.items[0], 999 * MIB, 1 * MIB);
  CHECK_NUMBER(holed.asked, 2);
}

static void
test_a_source_that_fails_fails_the_layout(void)
{
  struct holed_source holed = {.source = {.ops = &holed_ops, .size = MIB}, .is_broken = true};
  CLEANUP(layout_closep) struct layout *layout = raw_layout_new(&holed.source);
  CLEANUP(layout_extents_clear) struct layout_extents extents = {0};
  struct error *err = NULL;
  CHECK_NUMBER(layout->ops->extents(layout, 0, MIB, &extents, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "broken");
}

UNIT_MAIN("populator/transfer/raw_layout", UNIT_TEST(test_all_is_data_where_nothing_is_known),
          UNIT_TEST(test_holes_have_no_extents), UNIT_TEST(test_a_long_hole_is_asked_for_once),
          UNIT_TEST(test_a_source_that_fails_fails_the_layout))
