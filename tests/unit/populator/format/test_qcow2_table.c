/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "tests/unit/unit.h"

#define COPIED ((uint64_t)1 << 63)
#define COMPRESSED ((uint64_t)1 << 62)

/* Clusters of 4 KiB, the disk ends in the third cluster of its last table. */
static const struct qcow2_header plain = {
    .version = 3,
    .cluster_bits = 12,
    .cluster_size = 0x1000,
    .virtual_size = 512 * 0x1000 + 2 * 0x1000 + 512,
    .l2_entries = 512,
    .l1_entries = 2,
};

static const struct qcow2_header extended = {
    .version = 3,
    .cluster_bits = 14,
    .cluster_size = 0x4000,
    .virtual_size = 0x4000 * 10 + 700,
    .has_subclusters = true,
    .l2_entries = 1024,
    .l1_entries = 1,
};

static void
test_l1_entries_are_checked(void)
{
  static const struct {
    uint64_t entry;
    uint64_t offset;
    const char *text; /* NULL: sound */
  } rows[] = {
      {0, 0, NULL},
      {COPIED, 0, NULL},
      {0x5000, 0x5000, NULL},
      {COPIED | 0x5000, 0x5000, NULL},
      {COPIED | 0x00fffffffffff000, 0x00fffffffffff000, NULL},
      {0x5001, 0, "reserved bits"},
      {0x5100, 0, "reserved bits"},
      {0x0100000000005000, 0, "reserved bits"},
      {COMPRESSED | 0x5000, 0, "reserved bits"},
      {0x5200, 0, "not aligned"},
      {0x5800, 0, "not aligned"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    uint64_t offset = 42;
    int r = qcow2_l1_entry(&plain, rows[i].entry, &offset, &err);
    CHECK_NUMBER(r, rows[i].text ? -1 : 0);
    if (rows[i].text)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
    else
      CHECK_NUMBER(offset, rows[i].offset);
    /* the refcount table has no flag in its highest bit */
    r = qcow2_refcount_table_entry(&plain, rows[i].entry, &offset, NULL);
    CHECK_NUMBER(r, rows[i].text || rows[i].entry & COPIED ? -1 : 0);
  }
}

struct found {
  char text[2000];
};

static int
note(void *context, const struct qcow2_run *run, struct error **err)
{
  struct found *found = context;
  size_t end = strlen(found->text);
  (void)snprintf(found->text + end, sizeof(found->text) - end, "%s %" PRIx64 "@%" PRIx64 "x%u",
                 run->kind == QCOW2_COMPRESSED ? "c" : "d", run->virtual_offset, run->host_offset,
                 (unsigned)run->count);
  if (run->subclusters != QCOW2_ALL_SUBCLUSTERS) {
    end = strlen(found->text);
    (void)snprintf(found->text + end, sizeof(found->text) - end, "/%" PRIx32, run->subclusters);
  }
  end = strlen(found->text);
  (void)snprintf(found->text + end, sizeof(found->text) - end, ";");
  return strstr(found->text, "bad00") ? error_set(err, ERROR_ABORTED, "enough") : 0;
}

static void
test_runs_are_put_together(void)
{
  static const struct {
    uint64_t index;
    struct {
      size_t at;
      uint64_t entry;
    } entries[4];
    const char *text;
  } rows[] = {
      {0, {{0, 0}}, ""},
      {0, {{0, COPIED | 0x8000}}, "d 0@8000x1;"},
      {0, {{0, 0x8000}, {1, 0x9000}, {2, 0xa000}}, "d 0@8000x3;"},
      {0, {{0, 0x8000}, {2, 0xa000}}, "d 0@8000x1;d 2000@a000x1;"},
      {0, {{0, 0x8000}, {1, 0xa000}}, "d 0@8000x1;d 1000@a000x1;"},
      {0, {{0, 0x9000}, {1, 0x8000}}, "d 0@9000x1;d 1000@8000x1;"},
      {0, {{510, 0x9000}, {511, 0xa000}}, "d 1fe000@9000x2;"},
      {1, {{0, 0x9000}}, "d 200000@9000x1;"},
      /* zeros, with and without a place of their own */
      {0, {{0, 1}, {1, 0x9001}, {2, COPIED | 0xa001}, {3, 0xb000}}, "d 3000@b000x1;"},
      /* compressed: 4 bits of further sectors, from bit 58 on */
      {0, {{0, COMPRESSED | 0x8123}}, "c 0@8123x1;"},
      {0, {{0, COMPRESSED | (uint64_t)15 << 58 | 0x8123}}, "c 0@8123x16;"},
      {0, {{0, COMPRESSED | 0x8000}, {1, COMPRESSED | 0x9000}}, "c 0@8000x1;c 1000@9000x1;"},
      {0, {{0, COMPRESSED | 0x03ffffffffffffff}}, "c 0@3ffffffffffffffx1;"},
      {0,
       {{0, 0x8000}, {1, COMPRESSED | 0x9000}, {2, 0xa000}},
       "d 0@8000x1;c 1000@9000x1;d 2000@a000x1;"},
      /* behind the end of the disk nothing counts, not even nonsense */
      {1, {{2, 0x9000}, {3, 0x9007}, {511, UINT64_MAX}}, "d 202000@9000x1;"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char table[0x1000] = {0};
    struct found found = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    for (size_t j = 0; j < 4; j++) {
      if (rows[i].entries[j].entry)
        bytes_put_be64(table + rows[i].entries[j].at * 8, rows[i].entries[j].entry);
    }
    CHECK_NUMBER(qcow2_l2_decode(&plain, rows[i].index, table, note, &found, &err), 0);
    CHECK_STRING(found.text, rows[i].text);
  }
}

static void
test_bad_l2_entries_are_refused(void)
{
  static const struct {
    uint64_t entry;
    unsigned version;
    const char *text;
  } rows[] = {
      {0x8002, 3, "reserved bits"},
      {0x8100, 3, "reserved bits"},
      {0x2000000000008000, 3, "reserved bits"},
      {0x0100000000008000, 3, "reserved bits"},
      {0x8200, 3, "not aligned"},
      {0x8201, 3, "not aligned"}, /* zeros with a place */
      {1, 2, "version 2"},
      {0x8001, 2, "version 2"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char table[0x1000] = {0};
    struct found found = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_header header = plain;
    header.version = rows[i].version;
    bytes_put_be64(table + 40, rows[i].entry);
    CHECK_NUMBER(qcow2_l2_decode(&header, 0, table, note, &found, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
  }
}

static void
test_the_visitor_can_end_it(void)
{
  char table[0x1000] = {0};
  struct found found = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  bytes_put_be64(table, 0xbad000);
  bytes_put_be64(table + 8, 0x1000);
  CHECK_NUMBER(qcow2_l2_decode(&plain, 0, table, note, &found, &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, "enough");
  CHECK_STRING(found.text, "d 0@bad000x1;");
}

static void
test_subclusters_are_decoded(void)
{
  static const struct {
    uint64_t entry, bitmap;
    const char *text;  /* NULL: refused, */
    const char *error; /* with this */
  } rows[] = {
      {0, 0, "", NULL},
      {0, 0xffffffff00000000, "", NULL}, /* all zeros */
      {0x8000, 0, "", NULL},
      {0x8000, 0xffffffff, "d 0@8000x1;", NULL},
      {0x8000, 0x0000000f, "d 0@8000x1/f;", NULL},
      {0x8000, 0xfffffff00000000f, "d 0@8000x1/f;", NULL},
      {COMPRESSED | 0x8001, 0, "c 0@8001x1;", NULL},
      {0x8000, 0x0000000100000001, NULL, "both"},
      {0, 1, NULL, "there is no cluster"},
      {0x8001, 0xffffffff, NULL, "reserved bits"},
      {COMPRESSED | 0x8001, 1, NULL, "a compressed cluster has subclusters"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char table[0x4000] = {0};
    struct found found = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    bytes_put_be64(table, rows[i].entry);
    bytes_put_be64(table + 8, rows[i].bitmap);
    CHECK_NUMBER(qcow2_l2_decode(&extended, 0, table, note, &found, &err), rows[i].text ? 0 : -1);
    if (rows[i].text)
      CHECK_STRING(found.text, rows[i].text);
    else
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].error);
  }
}

static void
test_only_whole_clusters_join_a_run(void)
{
  char table[0x4000] = {0};
  struct found found = {0};
  for (size_t i = 0; i < 5; i++) {
    bytes_put_be64(table + 16 * i, 0x8000 + i * 0x4000);
    bytes_put_be64(table + 16 * i + 8, i == 2 ? 0x7fffffff : 0xffffffff);
  }
  CHECK_NUMBER(qcow2_l2_decode(&extended, 0, table, note, &found, NULL), 0);
  CHECK_STRING(found.text, "d 0@8000x2;d 8000@10000x1/7fffffff;d c000@14000x2;");
}

/* ---- extents -----------------------------------------------------------------------------------
 */

static char *
extents_of(const struct qcow2_header *header, struct qcow2_run run, uint64_t max_bytes)
{
  struct qcow2_extent extent;
  char *text = xstrdup("");
  while (qcow2_run_next_extent(header, &run, max_bytes, &extent)) {
    char *longer = xasprintf("%s%s%" PRIx64 "+%" PRIx64 "@%" PRIx64 "+%" PRIx64 " ", text,
                             extent.is_compressed ? "c" : "", extent.virtual_offset, extent.length,
                             extent.host_offset, extent.host_length);
    free(text);
    text = longer;
  }
  CHECK_NUMBER(run.count, 0);
  return text;
}

static const struct {
  const struct qcow2_header *header;
  struct qcow2_run run;
  uint64_t max_bytes;
  const char *text;
} extents[] = {
    {&plain,
     {.host_offset = 0x8000, .count = 3, .subclusters = UINT32_MAX},
     UINT64_MAX,
     "0+3000@8000+3000 "},
    {&plain,
     {.host_offset = 0x8000, .count = 3, .subclusters = UINT32_MAX},
     0x2fff,
     "0+2000@8000+2000 2000+1000@a000+1000 "},
    {&plain,
     {.host_offset = 0x8000, .virtual_offset = 0x201000, .count = 2, .subclusters = UINT32_MAX},
     UINT64_MAX,
     "201000+1200@8000+1200 "}, /* up to the end of the disk */
    {&plain,
     {.host_offset = 0x8000, .virtual_offset = 0x202000, .count = 1, .subclusters = UINT32_MAX},
     0x1000,
     "202000+200@8000+200 "},
    {&plain,
     {.host_offset = 0x8123, .count = 2, .kind = QCOW2_COMPRESSED},
     UINT64_MAX,
     "c0+1000@8123+2dd "},
    {&plain,
     {.host_offset = 0x8123, .virtual_offset = 0x202000, .count = 1, .kind = QCOW2_COMPRESSED},
     UINT64_MAX,
     "c202000+200@8123+dd "},
    {&extended, {.host_offset = 0x8000, .count = 1, .subclusters = 0x1}, 0x4000, "0+200@8000+200 "},
    {&extended,
     {.host_offset = 0x8000, .count = 1, .subclusters = 0x80000001},
     0x4000,
     "0+200@8000+200 3e00+200@be00+200 "},
    {&extended,
     {.host_offset = 0x8000, .count = 1, .subclusters = 0x0ff000f0},
     0x4000,
     "800+800@8800+800 2800+1000@a800+1000 "},
    {&extended,
     {.host_offset = 0x8000, .count = 1, .subclusters = 0x7fffffff},
     0x4000,
     "0+3e00@8000+3e00 "},
    /* the disk ends in the second subcluster of its last cluster */
    {&extended,
     {.host_offset = 0x8000, .virtual_offset = 0x28000, .count = 1, .subclusters = 0xfffffffe},
     0x4000,
     "28200+bc@8200+bc "},
    {&extended,
     {.host_offset = 0x8000, .virtual_offset = 0x28000, .count = 1, .subclusters = 0xf0},
     0x4000,
     ""},
};

static void
test_runs_become_extents(void)
{
  for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
    CLEANUP(freep) char *text = extents_of(extents[i].header, extents[i].run, extents[i].max_bytes);
    CHECK_STRING(text, extents[i].text);
  }
}

static void
test_compressed_extents_have_a_limit(void)
{
  struct qcow2_run run = {.host_offset = 0x8000, .count = 8192, .kind = QCOW2_COMPRESSED};
  struct qcow2_header header = plain;
  header.cluster_bits = 21;
  header.cluster_size = (uint64_t)2 << 20;
  CHECK_NUMBER(qcow2_run_span(&header, &run), (uint64_t)4 << 20);
  struct qcow2_extent extent;
  CU_ASSERT(qcow2_run_next_extent(&header, &run, UINT64_MAX, &extent));
  CHECK_NUMBER(extent.host_length, ((uint64_t)2 << 20) + QCOW2_COMPRESSED_OVERHEAD);
}

static void
test_runs_must_lie_in_the_file_and_beside_tables(void)
{
  static const struct {
    struct qcow2_run run;
    uint64_t file_size;
    const char *text; /* NULL: sound */
  } rows[] = {
      {{.host_offset = 0x8000, .count = 2, .subclusters = UINT32_MAX}, 0xa000, NULL},
      {{.host_offset = 0x8000, .count = 2, .subclusters = UINT32_MAX}, 0x9fff, "lies outside"},
      {{.host_offset = 0x8000, .count = 2, .subclusters = UINT32_MAX}, 0x7000, "lies outside"},
      {{.host_offset = 0x8000, .virtual_offset = 0x202000, .count = 1, .subclusters = UINT32_MAX},
       0x8200,
       NULL}, /* all that the disk has of it */
      {{.host_offset = 0x8000, .virtual_offset = 0x202000, .count = 1, .subclusters = UINT32_MAX},
       0x81ff,
       "lies outside"},
      {{.host_offset = 0x8123, .count = 5, .kind = QCOW2_COMPRESSED}, 0x8124, NULL},
      {{.host_offset = 0x8123, .count = 5, .kind = QCOW2_COMPRESSED}, 0x8123, "lies outside"},
      {{.host_offset = 0x5fff, .count = 1, .kind = QCOW2_COMPRESSED}, 0xa000, NULL},
      {{.host_offset = 0x5fff, .count = 2, .kind = QCOW2_COMPRESSED}, 0xa000, "an L2 table"},
      {{.host_offset = 0x6010, .count = 1, .kind = QCOW2_COMPRESSED}, 0xa000, "an L2 table"},
      {{.host_offset = 0x5000, .count = 2, .subclusters = UINT32_MAX}, 0xa000, "an L2 table"},
      {{.host_offset = 0, .count = 1, .kind = QCOW2_COMPRESSED}, 0xa000, "the header"},
      {{.host_offset = (uint64_t)1 << 60, .count = 9, .kind = QCOW2_COMPRESSED},
       QCOW2_FILE_SIZE_UNKNOWN,
       NULL},
  };
  CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
  struct qcow2_header header = plain;
  header.l1_offset = 0x1000;
  header.refcount_table_offset = 0x2000;
  header.l1_bytes = header.refcount_table_bytes = 0x1000;
  qcow2_metadata_init(&metadata, &header);
  qcow2_metadata_add(&metadata, 0x6000, QCOW2_PART_L2);
  REQUIRE(qcow2_metadata_seal(&metadata, NULL) == 0);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    int r = qcow2_run_check(&header, &rows[i].run, &metadata, rows[i].file_size, &err);
    CHECK_NUMBER(r, rows[i].text ? -1 : 0);
    if (rows[i].text)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
  }
}

static void
test_runs_must_not_share_bytes(void)
{
#define DATA(offset)                                                                               \
  {                                                                                                \
    .host_offset = (offset), .count = 1, .subclusters = UINT32_MAX                                 \
  }
#define PACKED(offset, sectors)                                                                    \
  {                                                                                                \
    .host_offset = (offset), .count = (sectors), .kind = QCOW2_COMPRESSED                          \
  }
  static const struct {
    struct qcow2_run first, second;
    int result;
  } rows[] = {
      {DATA(0x8000), DATA(0x9000), 0},
      {DATA(0x8000), DATA(0x8000), -1},
      {DATA(0x8000), PACKED(0x8fff, 1), -1},
      {DATA(0x8000), PACKED(0x9000, 1), 0},
      {PACKED(0x8000, 1), PACKED(0x8000, 1), -1},
      {PACKED(0x8000, 1), PACKED(0x8001, 1), 0}, /* it may be that short */
      {PACKED(0x8000, 2), PACKED(0x8200, 1), -1},
      {PACKED(0x8000, 2), PACKED(0x8201, 1), 0}, /* in its last sector */
      {PACKED(0x8100, 2), PACKED(0x8200, 1), -1},
      {PACKED(0x8100, 2), PACKED(0x8201, 1), 0},
      {PACKED(0x8e00, 1), DATA(0x9000), 0},
      {PACKED(0x8e00, 2), DATA(0x9000), -1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_NUMBER(qcow2_run_check_order(&plain, &rows[i].first, &rows[i].second, &err),
                 rows[i].result);
    if (rows[i].result < 0)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "share");
  }
}

UNIT_MAIN("populator/format/qcow2_table", UNIT_TEST(test_l1_entries_are_checked),
          UNIT_TEST(test_runs_are_put_together), UNIT_TEST(test_bad_l2_entries_are_refused),
          UNIT_TEST(test_the_visitor_can_end_it), UNIT_TEST(test_subclusters_are_decoded),
          UNIT_TEST(test_only_whole_clusters_join_a_run), UNIT_TEST(test_runs_become_extents),
          UNIT_TEST(test_compressed_extents_have_a_limit),
          UNIT_TEST(test_runs_must_lie_in_the_file_and_beside_tables),
          UNIT_TEST(test_runs_must_not_share_bytes))
