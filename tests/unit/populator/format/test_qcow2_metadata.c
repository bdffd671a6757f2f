/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_metadata.h"

#include "tests/unit/unit.h"

#define CLUSTER 0x1000

static const struct qcow2_header header = {
    .cluster_bits = 12,
    .cluster_size = CLUSTER,
    .l1_offset = 0x3000,
    .l1_bytes = 0x1008, /* two clusters */
    .refcount_table_offset = 0x1000,
    .refcount_table_bytes = 0x1000,
    .snapshots_offset = 0x8000,
    .snapshot_count = 1,
};

static void
test_tables_may_stand_side_by_side(void)
{
  CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
  qcow2_metadata_init(&metadata, &header);
  qcow2_metadata_add(&metadata, 0x2000, QCOW2_PART_REFCOUNT_BLOCK);
  qcow2_metadata_add(&metadata, 0x7000, QCOW2_PART_L2);
  qcow2_metadata_add(&metadata, 0x5000, QCOW2_PART_L2);
  CHECK_NUMBER(qcow2_metadata_seal(&metadata, NULL), 0);
  CHECK_NUMBER(qcow2_metadata_offset(&metadata, 2), 0x7000);
  CHECK_NUMBER(qcow2_metadata_part(&metadata, 0), QCOW2_PART_REFCOUNT_BLOCK);
}

static void
test_tables_must_not_overlap(void)
{
  static const struct {
    uint64_t offset;
    const char *text;
  } rows[] = {
      {0, "an L2 table at 0x0 overlaps the header"},
      {0x1000, "overlaps the refcount table"},
      {0x3000, "overlaps the L1 table"},
      {0x4000, "overlaps the L1 table"},
      {0x8000, "overlaps the snapshot table"},
      {0x2000, "overlaps a refcount block"},
      {0x5000, "an L2 table at 0x5000 overlaps an L2 table"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
    CLEANUP(error_freep) struct error *err = NULL;
    qcow2_metadata_init(&metadata, &header);
    qcow2_metadata_add(&metadata, 0x5000, QCOW2_PART_L2);
    qcow2_metadata_add(&metadata, rows[i].offset, QCOW2_PART_L2);
    qcow2_metadata_add(&metadata, 0x2000, QCOW2_PART_REFCOUNT_BLOCK);
    CHECK_NUMBER(qcow2_metadata_seal(&metadata, &err), -1);
    if (rows[i].offset == 0x2000)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "overlaps an L2 table");
    else
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
  }
}

static void
test_what_the_header_names_must_not_overlap(void)
{
  static const struct {
    uint64_t l1, refcount_table, snapshots;
  } rows[] = {
      {0x1000, 0x2000, 0x8000}, /* the end of the L1 table */
      {0x3000, 0x4000, 0x8000}, {0x3000, 0x3000, 0x8000},
      {0x3000, 0x1000, 0x4000}, {0x3000, 0x1000, 0x1000},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_header bad = header;
    bad.l1_offset = rows[i].l1;
    bad.refcount_table_offset = rows[i].refcount_table;
    bad.snapshots_offset = rows[i].snapshots;
    qcow2_metadata_init(&metadata, &bad);
    CHECK_NUMBER(qcow2_metadata_seal(&metadata, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "overlaps");
  }
}

static void
test_claims_are_held_against_all_tables(void)
{
  static const struct {
    uint64_t offset, len;
    const char *text; /* NULL: free */
  } rows[] = {
      {0, 1, "the header"},
      {0xfff, 1, "the header"},
      {0x1000, 1, "the refcount table"},
      {0x1fff, 2, "the refcount table"},
      {0x2000, 0x1000, NULL},
      {0x2000, 0x1001, "the L1 table"},
      {0x4fff, 1, "the L1 table"},
      {0x5000, 1, "an L2 table"},
      {0x5fff, 1, "an L2 table"},
      {0x6000, 0x1000, NULL},
      {0x6000, 0x1001, "a refcount block"},
      {0x6000, 0x100000, "the snapshot table"},
      {0x7800, 0x10, "a refcount block"},
      {0x8000, 1, "the snapshot table"},
      {0x9000, 0x1000, NULL},
      {0x9000, 0x1001, "an L2 table"},
      {0xb000, 0x7fffffff, NULL},
  };
  CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
  qcow2_metadata_init(&metadata, &header);
  qcow2_metadata_add(&metadata, 0xa000, QCOW2_PART_L2);
  qcow2_metadata_add(&metadata, 0x7000, QCOW2_PART_REFCOUNT_BLOCK);
  qcow2_metadata_add(&metadata, 0x5000, QCOW2_PART_L2);
  REQUIRE(qcow2_metadata_seal(&metadata, NULL) == 0);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    int r = qcow2_metadata_check(&metadata, rows[i].offset, rows[i].len, "this", &err);
    CHECK_NUMBER(r, rows[i].text ? -1 : 0);
    if (rows[i].text)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
  }
}

UNIT_MAIN("populator/format/qcow2_metadata", UNIT_TEST(test_tables_may_stand_side_by_side),
          UNIT_TEST(test_tables_must_not_overlap),
          UNIT_TEST(test_what_the_header_names_must_not_overlap),
          UNIT_TEST(test_claims_are_held_against_all_tables))
