/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static const struct qcow2_header header = {
    .version = 3,
    .cluster_bits = 12,
    .cluster_size = 0x1000,
    .virtual_size = 0x100000,
    .l2_entries = 512,
    .l1_entries = 1,
};

#define DATA(host, disk, clusters)                                                                 \
  {                                                                                                \
    .host_offset = (host), .virtual_offset = (disk), .count = (clusters),                          \
    .subclusters = QCOW2_ALL_SUBCLUSTERS                                                           \
  }
#define PACKED(host, disk)                                                                         \
  {                                                                                                \
    .host_offset = (host), .virtual_offset = (disk), .count = 1, .kind = QCOW2_COMPRESSED          \
  }

static void
fill(struct qcow2_window *window)
{
  static const struct qcow2_run runs[] = {
      DATA(0x20000, 0x40000, 2), PACKED(0x18100, 0x10000), DATA(0x10000, 0, 4),
      DATA(0x22000, 0x42000, 1), PACKED(0x18080, 0x11000), DATA(0x30000, 0x50000, 1),
      DATA(0x14000, 0x60000, 2),
  };
  for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
    qcow2_window_add(window, &header, &runs[i]);
  REQUIRE(qcow2_window_sort(window, &header, NULL) == 0);
}

static char *
extents_text(const struct qcow2_window *window, uint64_t first, uint64_t end)
{
  struct qcow2_extents extents = {0};
  char *text = xstrdup("");
  qcow2_window_extents(window, &header, first, end, &extents);
  for (size_t i = 0; i < extents.count; i++) {
    const struct qcow2_extent *extent = &extents.items[i];
    char *longer = xasprintf("%s%s%" PRIx64 "+%" PRIx64 "@%" PRIx64 " ", text,
                             extent->is_compressed ? "c" : "", extent->virtual_offset,
                             extent->length, extent->host_offset);
    free(text);
    text = longer;
  }
  qcow2_extents_clear(&extents);
  return text;
}

static void
test_extents_begin_where_they_are_asked_for(void)
{
  static const struct {
    uint64_t first, end;
    const char *text;
  } rows[] = {
      {0, UINT64_MAX,
       "0+4000@10000 60000+2000@14000 c11000+1000@18080 c10000+1000@18100 40000+3000@20000 "
       "50000+1000@30000 "},
      {0, 0x10000, ""},
      {0, 0x10001, "0+1000@10000 "},
      {0x10000, 0x12000, "0+2000@10000 "},
      {0x11000, 0x13000, "1000+2000@11000 "},
      {0x10001, 0x11000, ""},
      {0x10001, 0x11001, "1000+1000@11000 "},
      {0x13000, 0x15000, "3000+1000@13000 60000+1000@14000 "},
      {0x18080, 0x18100, "c11000+1000@18080 "},
      {0x18081, 0x18101, "c10000+1000@18100 "},
      {0x21000, 0x30000, "41000+2000@21000 "}, /* two runs that are one extent */
      {0x31000, UINT64_MAX, ""},
  };
  CLEANUP(qcow2_window_clear) struct qcow2_window window = {.end = UINT64_MAX};
  fill(&window);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *text = extents_text(&window, rows[i].first, rows[i].end);
    CHECK_STRING(text, rows[i].text);
  }
}

static void
test_a_window_takes_only_what_begins_in_it(void)
{
  CLEANUP(qcow2_window_clear) struct qcow2_window window = {.first = 0x12000, .end = 0x21000};
  fill(&window);
  CLEANUP(freep) char *text = extents_text(&window, 0, UINT64_MAX);
  CHECK_STRING(text, "2000+2000@12000 60000+2000@14000 c11000+1000@18080 c10000+1000@18100 "
                     "40000+1000@20000 ");
}

static void
test_overlaps_are_found(void)
{
  static const struct qcow2_run bad[] = {DATA(0x13000, 0x70000, 1), DATA(0x20000, 0x70000, 1),
                                         PACKED(0x18080, 0x70000), PACKED(0x22fff, 0x70000)};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(qcow2_window_clear) struct qcow2_window window = {.end = UINT64_MAX};
    CLEANUP(error_freep) struct error *err = NULL;
    fill(&window);
    qcow2_window_add(&window, &header, &bad[i]);
    CHECK_NUMBER(qcow2_window_sort(&window, &header, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "share");
  }
}

UNIT_MAIN("populator/format/qcow2_window", UNIT_TEST(test_extents_begin_where_they_are_asked_for),
          UNIT_TEST(test_a_window_takes_only_what_begins_in_it), UNIT_TEST(test_overlaps_are_found))
