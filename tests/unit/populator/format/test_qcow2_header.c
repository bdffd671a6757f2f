/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_header.h"

#include <stdio.h>
#include <string.h>

#include "tests/format/qcow2_image.h"
#include "tests/unit/unit.h"

#define GIB ((uint64_t)1 << 30)

static int
parse(const struct qcow2_image *image, struct qcow2_header *header, struct error **err)
{
  size_t len = image->bytes.len < QCOW2_HEADER_BYTES ? image->bytes.len : QCOW2_HEADER_BYTES;
  return qcow2_header_parse(image->bytes.data, len, image->bytes.len, header, err);
}

static void
test_both_versions_and_all_cluster_sizes_are_read(void)
{
  for (unsigned version = 2; version <= 3; version++) {
    for (unsigned bits = 9; bits <= 21; bits++) {
      CLEANUP(qcow2_image_clear) struct qcow2_image image;
      CLEANUP(error_freep) struct error *err = NULL;
      struct qcow2_header header = {0};
      qcow2_image_init(&image, version, bits, 100000, false);
      CHECK_NUMBER(parse(&image, &header, &err), 0);
      CHECK_NUMBER(header.version, version);
      CHECK_NUMBER(header.cluster_bits, bits);
      CHECK_NUMBER(header.cluster_size, 1 << bits);
      CHECK_NUMBER(header.virtual_size, 100000);
      CHECK_NUMBER(header.l2_entries, (1 << bits) / 8);
      CHECK_NUMBER(header.l1_offset, image.l1_offset);
      CHECK_NUMBER(header.compression, QCOW2_COMPRESSION_ZLIB);
      CU_ASSERT_FALSE(header.has_subclusters);
      CU_ASSERT_FALSE(header.is_dirty);
    }
  }
}

static void
test_the_l1_table_must_be_large_enough(void)
{
  /* a table of 64 KiB clusters maps 512 MiB */
  static const struct {
    uint64_t size;
    uint32_t l1_size;
    int result;
  } rows[] = {
      {GIB / 2, 1, 0}, {GIB / 2 + 1, 1, -1}, {GIB / 2 + 1, 2, 0},
      {GIB, 1, -1},    {1, 0, -1},           {1, 1, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(qcow2_image_clear) struct qcow2_image image;
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_header header;
    qcow2_image_init(&image, 3, 16, GIB, false);
    qcow2_image_put64(&image, QCOW2_AT_SIZE, rows[i].size);
    qcow2_image_put32(&image, QCOW2_AT_L1_SIZE, rows[i].l1_size);
    CHECK_NUMBER(parse(&image, &header, &err), rows[i].result);
    if (rows[i].result < 0)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "the L1 table is too small");
  }
}

static void
test_features_are_read(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  struct qcow2_header header;
  qcow2_image_init(&image, 3, 16, GIB, true);
  CHECK_NUMBER(parse(&image, &header, NULL), 0);
  CU_ASSERT(header.has_subclusters);
  CHECK_NUMBER(header.l2_entries, 4096);
  CHECK_NUMBER(header.l1_entries, 4);
  qcow2_image_put64(&image, QCOW2_AT_INCOMPATIBLE, 1 << 4 | 1 << 3 | 1);
  image.bytes.data[QCOW2_AT_COMPRESSION] = 1;
  CHECK_NUMBER(parse(&image, &header, NULL), 0);
  CU_ASSERT(header.is_dirty);
  CHECK_NUMBER(header.compression, QCOW2_COMPRESSION_ZSTD);
  /* bits that do not matter for reading */
  qcow2_image_put64(&image, QCOW2_AT_INCOMPATIBLE + 8, UINT64_MAX);
  qcow2_image_put64(&image, QCOW2_AT_INCOMPATIBLE + 16, UINT64_MAX);
  CHECK_NUMBER(parse(&image, &header, NULL), 0);
}

struct patch {
  size_t offset;
  unsigned bytes; /* 1, 4 or 8; 0 ends */
  uint64_t value;
};

static void
apply(struct qcow2_image *image, const struct patch *patch)
{
  if (patch->bytes == 1)
    image->bytes.data[patch->offset] = (char)patch->value;
  else if (patch->bytes == 4)
    qcow2_image_put32(image, patch->offset, (uint32_t)patch->value);
  else if (patch->bytes == 8)
    qcow2_image_put64(image, patch->offset, patch->value);
}

static const struct {
  struct patch patches[3];
  enum error_code code;
  const char *text;
} refusals[] = {
    {{{0, 4, 0x514649fa}}, ERROR_DATA_LOSS, "no qcow2 header"},
    {{{QCOW2_AT_VERSION, 4, 1}}, ERROR_INVALID_ARGUMENT, "version 1"},
    {{{QCOW2_AT_VERSION, 4, 4}}, ERROR_INVALID_ARGUMENT, "version 4"},
    {{{QCOW2_AT_CLUSTER_BITS, 4, 8}}, ERROR_DATA_LOSS, "2^8 bytes"},
    {{{QCOW2_AT_CLUSTER_BITS, 4, 22}}, ERROR_DATA_LOSS, "2^22 bytes"},
    {{{QCOW2_AT_CLUSTER_BITS, 4, UINT32_MAX}}, ERROR_DATA_LOSS, "bytes"},
    {{{QCOW2_AT_SIZE, 8, 0}}, ERROR_INVALID_ARGUMENT, "no size"},
    {{{QCOW2_AT_SIZE, 8, ((uint64_t)64 << 50) + 1}}, ERROR_INVALID_ARGUMENT, "absurd"},
    {{{QCOW2_AT_SIZE, 8, UINT64_MAX}}, ERROR_INVALID_ARGUMENT, "absurd"},
    {{{QCOW2_AT_BACKING_OFFSET, 8, 1000}, {QCOW2_AT_BACKING_LEN, 4, 8}, {1000, 8, 0x62617365}},
     ERROR_INVALID_ARGUMENT,
     "backing file"},
    {{{QCOW2_AT_BACKING_OFFSET, 8, UINT64_MAX}, {QCOW2_AT_BACKING_LEN, 4, UINT32_MAX}},
     ERROR_INVALID_ARGUMENT,
     "backing file"},
    {{{QCOW2_AT_CRYPT, 4, 1}}, ERROR_INVALID_ARGUMENT, "encrypted (AES)"},
    {{{QCOW2_AT_CRYPT, 4, 2}}, ERROR_INVALID_ARGUMENT, "encrypted (LUKS)"},
    {{{QCOW2_AT_CRYPT, 4, 3}}, ERROR_INVALID_ARGUMENT, "encrypted (method 3)"},
    {{{112, 4, 0x0537be77}, {116, 4, 16}}, ERROR_INVALID_ARGUMENT, "encrypted (LUKS)"},
    {{{QCOW2_AT_L1_SIZE, 4, 0}}, ERROR_DATA_LOSS, "L1 table is too small"},
    {{{QCOW2_AT_L1_SIZE, 4, (4 << 20) + 1}}, ERROR_INVALID_ARGUMENT, "L1 table is too large"},
    {{{QCOW2_AT_L1_SIZE, 4, UINT32_MAX}}, ERROR_INVALID_ARGUMENT, "L1 table is too large"},
    {{{QCOW2_AT_L1_SIZE, 4, 1 << 20}}, ERROR_DATA_LOSS, "L1 table at 0x30000 lies outside"},
    {{{QCOW2_AT_L1_OFFSET, 8, 0}}, ERROR_DATA_LOSS, "L1 table cannot be at 0x0"},
    {{{QCOW2_AT_L1_OFFSET, 8, 0x30200}}, ERROR_DATA_LOSS, "L1 table at 0x30200 is not aligned"},
    {{{QCOW2_AT_L1_OFFSET, 8, 0x7fffffffffff0000}}, ERROR_DATA_LOSS, "L1 table cannot be at"},
    {{{QCOW2_AT_L1_OFFSET, 8, 0x40000}}, ERROR_DATA_LOSS, "L1 table at 0x40000 lies outside"},
    {{{QCOW2_AT_REFCOUNT_TABLE, 8, 0}}, ERROR_DATA_LOSS, "refcount table cannot be at 0x0"},
    {{{QCOW2_AT_REFCOUNT_TABLE, 8, 0x40000}}, ERROR_DATA_LOSS, "refcount table at 0x40000 lies"},
    {{{QCOW2_AT_REFCOUNT_TABLE, 8, 1}}, ERROR_DATA_LOSS, "is not aligned"},
    {{{QCOW2_AT_REFCOUNT_TABLE_CLUSTERS, 4, 0}}, ERROR_DATA_LOSS, "no refcount table"},
    {{{QCOW2_AT_REFCOUNT_TABLE_CLUSTERS, 4, 129}}, ERROR_INVALID_ARGUMENT, "too large"},
    {{{QCOW2_AT_REFCOUNT_TABLE_CLUSTERS, 4, UINT32_MAX}}, ERROR_INVALID_ARGUMENT, "too large"},
    {{{QCOW2_AT_SNAPSHOTS, 4, 1}}, ERROR_DATA_LOSS, "snapshot table cannot be at 0x0"},
    {{{QCOW2_AT_SNAPSHOTS, 4, 1}, {QCOW2_AT_SNAPSHOTS_OFFSET, 8, 0x40000}},
     ERROR_DATA_LOSS,
     "snapshot table at 0x40000 lies outside"},
    {{{QCOW2_AT_SNAPSHOTS, 4, 65537}}, ERROR_INVALID_ARGUMENT, "too many snapshots"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, 2}}, ERROR_DATA_LOSS, "marked as corrupt"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, 4}}, ERROR_INVALID_ARGUMENT, "in another file"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, 8}}, ERROR_DATA_LOSS, "contradict"},
    {{{QCOW2_AT_COMPRESSION, 1, 1}}, ERROR_DATA_LOSS, "contradict"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, 8}, {QCOW2_AT_COMPRESSION, 1, 2}},
     ERROR_INVALID_ARGUMENT,
     "compression type 2"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, 32}}, ERROR_INVALID_ARGUMENT, "not known (bit 5)"},
    {{{QCOW2_AT_INCOMPATIBLE, 8, (uint64_t)1 << 63}}, ERROR_INVALID_ARGUMENT, "not known (bit 63)"},
    {{{QCOW2_AT_REFCOUNT_ORDER, 4, 7}}, ERROR_DATA_LOSS, "2^7 bits"},
    {{{QCOW2_AT_HEADER_LENGTH, 4, 96}}, ERROR_DATA_LOSS, "cannot have 96 bytes"},
    {{{QCOW2_AT_HEADER_LENGTH, 4, 105}}, ERROR_DATA_LOSS, "cannot have 105 bytes"},
    {{{QCOW2_AT_HEADER_LENGTH, 4, 0x10008}}, ERROR_DATA_LOSS, "cannot have 65544 bytes"},
    {{{112, 4, 1}, {116, 4, UINT32_MAX}}, ERROR_DATA_LOSS, "extension 0x00000001 is longer"},
    {{{112, 4, 7}, {116, 4, 65536 - 112 - 8 + 1}}, ERROR_DATA_LOSS, "is longer than the header"},
};

static void
test_what_is_refused_is_named(void)
{
  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    CLEANUP(qcow2_image_clear) struct qcow2_image image;
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_header header;
    qcow2_image_init(&image, 3, 16, GIB, false);
    for (size_t j = 0; j < 3; j++)
      apply(&image, &refusals[i].patches[j]);
    CHECK_ROW(parse(&image, &header, &err) == -1, refusals[i].text);
    CHECK_ERROR(&err, refusals[i].code, refusals[i].text);
  }
}

static void
test_unknown_features_are_named_by_the_file(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_header header;
  qcow2_image_init(&image, 3, 16, GIB, false);
  qcow2_image_put64(&image, QCOW2_AT_INCOMPATIBLE, 1 << 7);
  qcow2_image_put32(&image, 112, 0x6803f857);
  qcow2_image_put32(&image, 116, 3 * 48);
  char *names = image.bytes.data + 120;
  names[1] = 6;
  (void)snprintf(names + 2, 46, "another");
  names[48] = 1; /* a compatible one */
  names[49] = 7;
  (void)snprintf(names + 50, 46, "wrong");
  names[97] = 7;
  (void)snprintf(names + 98, 46, "time travel\n");
  CHECK_NUMBER(parse(&image, &header, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "feature 'time travel?' (bit 7)");
}

static void
test_the_backing_file_is_named(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_header header;
  qcow2_image_init(&image, 2, 16, GIB, false);
  memcpy(image.bytes.data + 72, "base\x1b.img", 9); /* no extensions between */
  qcow2_image_put64(&image, QCOW2_AT_BACKING_OFFSET, 72);
  qcow2_image_put32(&image, QCOW2_AT_BACKING_LEN, 9);
  CHECK_NUMBER(parse(&image, &header, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "backing file ('base?.img')");
}

static void
test_extensions_may_fill_the_cluster(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  struct qcow2_header header;
  qcow2_image_init(&image, 3, 9, 10000, false);
  qcow2_image_put32(&image, 112, 0xabcdef);
  qcow2_image_put32(&image, 116, 512 - 120); /* none says that they end */
  CHECK_NUMBER(parse(&image, &header, NULL), 0);
  qcow2_image_put32(&image, 116, 512 - 120 - 3); /* padding up to the end */
  CHECK_NUMBER(parse(&image, &header, NULL), 0);
}

static void
test_a_short_file_is_refused_wherever_it_ends(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  qcow2_image_init(&image, 3, 9, 10000, false);
  for (size_t len = 0; len < (size_t)4 * 512; len++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_header header;
    if (len >= (size_t)3 * 512 + 8)
      break; /* the L1 table has one entry */
    CHECK_NUMBER(qcow2_header_parse(image.bytes.data, len, len, &header, &err), -1);
    CU_ASSERT(err && err->code == ERROR_DATA_LOSS);
  }
}

static void
test_the_size_of_the_file_may_be_unknown(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  struct qcow2_header header;
  qcow2_image_init(&image, 3, 9, 10000, false);
  CHECK_NUMBER(qcow2_header_parse(image.bytes.data, 512, QCOW2_FILE_SIZE_UNKNOWN, &header, NULL),
               0);
}

UNIT_MAIN("populator/format/qcow2_header",
          UNIT_TEST(test_both_versions_and_all_cluster_sizes_are_read),
          UNIT_TEST(test_the_l1_table_must_be_large_enough), UNIT_TEST(test_features_are_read),
          UNIT_TEST(test_what_is_refused_is_named),
          UNIT_TEST(test_unknown_features_are_named_by_the_file),
          UNIT_TEST(test_the_backing_file_is_named),
          UNIT_TEST(test_extensions_may_fill_the_cluster),
          UNIT_TEST(test_a_short_file_is_refused_wherever_it_ends),
          UNIT_TEST(test_the_size_of_the_file_may_be_unknown))
