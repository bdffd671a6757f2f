/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_header.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/populator/tar_builder.h"
#include "tests/unit/unit.h"

static int
decode(const struct tar_fields *fields, struct tar_header *ret_header, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer block = {0};
  tar_build_header(&block, fields);
  return tar_header_decode((const unsigned char *)block.data, ret_header, err);
}

static void
test_fields_are_read(void)
{
  struct tar_header header;
  const struct tar_fields fields = {.type = '2', .name = "disk/a", .link = "b", .size = 01234567};
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CU_ASSERT_EQUAL(header.type, '2');
  CHECK_STRING(header.name, "disk/a");
  CHECK_STRING(header.link, "b");
  CHECK_NUMBER(header.size, 01234567);
  CU_ASSERT_FALSE(header.is_extended);
}

static void
test_the_oldest_type_of_a_file_is_nul(void)
{
  struct tar_header header;
  REQUIRE(decode(&(struct tar_fields){.name = "a", .is_old = true}, &header, NULL) == 0);
  CU_ASSERT_EQUAL(header.type, '0');
}

static void
test_names_may_fill_their_fields(void)
{
  char name[101], prefix[156];
  memset(name, 'n', 100);
  memset(prefix, 'p', 155);
  name[100] = prefix[155] = '\0';
  CLEANUP(freep) char *expected = xasprintf("%s/%s", prefix, name);
  struct tar_header header;
  const struct tar_fields fields = {.type = '1', .name = name, .link = name, .prefix = prefix};
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CHECK_STRING(header.name, expected);
  CHECK_STRING(header.link, name);
  CHECK_NUMBER(strlen(header.name) + 1, TAR_HEADER_NAME_MAX);
}

static void
test_only_ustar_has_a_prefix(void)
{
  struct tar_header header;
  struct tar_fields fields = {.type = '0', .name = "n", .prefix = "p"};
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CHECK_STRING(header.name, "p/n");
  fields.is_gnu = true;
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CHECK_STRING(header.name, "n");
  fields.is_gnu = false;
  fields.is_old = true;
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CHECK_STRING(header.name, "n");
}

static void
test_sums_are_compared(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct tar_header header;
  struct tar_fields fields = {.type = '0', .name = "\xc3\xa9\xff", .wrong_sum = true};
  CU_ASSERT_EQUAL(decode(&fields, &header, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "sum of a header is wrong");
  fields.wrong_sum = false;
  CU_ASSERT_EQUAL(decode(&fields, &header, &err), 0);
  fields.signed_sum = true;
  CU_ASSERT_EQUAL(decode(&fields, &header, &err), 0);
}

static void
test_sizes_in_every_form(void)
{
  static const struct {
    const char raw[13];
    int64_t size; /* -1: refused */
  } rows[] = {
      {"00000000000\0", 0},
      {"77777777777\0", 077777777777},
      {"777777777777", 0777777777777},
      {"       17 \0\0", 017},
      {"17\0\0\0\0\0\0\0\0\0\0", 017},
      {"\0\0\0\0\0\0\0\0\0\0\0\0", 0},
      {"            ", 0},
      {"8          \0", -1},
      {"1 7        \0", -1},
      {"-1         \0", -1},
      {"1\0001        ", -1},
      {"0x17       \0", -1},
      {"\x80\0\0\0\0\0\0\0\0\0\0\x2a", 42},
      {"\x80\0\0\0\0\0\0\x10\0\0\0\0", 1LL << 36},
      {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", INT64_MAX},
      {"\x80\0\0\0\x80\0\0\0\0\0\0\0", -1},
      {"\x80\0\0\1\0\0\0\0\0\0\0\0", -1},
      {"\x81\0\0\0\0\0\0\0\0\0\0\0", -1},
      {"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1}, /* -1 itself */
      {"\xc0\0\0\0\0\0\0\0\0\0\0\1", -1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *row = xasprintf("size %zu", i);
    struct tar_header header = {.size = 1};
    const struct tar_fields fields = {.type = '0', .name = "a", .size_raw = rows[i].raw};
    CHECK_ROW(decode(&fields, &header, NULL) == (rows[i].size < 0 ? -1 : 0), row);
    CHECK_ROW(rows[i].size < 0 || header.size == (uint64_t)rows[i].size, row);
  }
}

static void
test_the_end_is_a_block_of_zeros(void)
{
  unsigned char block[TAR_BLOCK] = {0};
  CU_ASSERT(tar_header_is_end(block));
  block[TAR_BLOCK - 1] = 1;
  CU_ASSERT_FALSE(tar_header_is_end(block));
}

static void
test_a_map_of_holes_may_go_on(void)
{
  struct tar_header header;
  struct tar_fields fields = {.type = 'S', .name = "a", .is_gnu = true, .is_extended = true};
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CU_ASSERT(header.is_extended);
  fields.type = '0';
  REQUIRE(decode(&fields, &header, NULL) == 0);
  CU_ASSERT_FALSE(header.is_extended);
  unsigned char block[TAR_BLOCK] = "00000001000\00000000000012";
  struct tar_map map = {0};
  bool goes_on;
  CHECK_NUMBER(tar_header_map_more(block, &map, &goes_on, NULL), 0);
  CU_ASSERT_FALSE(goes_on);
  REQUIRE(map.count == 1);
  CHECK_NUMBER(map.pieces[0].offset, 01000);
  CHECK_NUMBER(map.pieces[0].len, 012);
  block[504] = 1;
  block[0] = '1'; /* behind the first */
  CHECK_NUMBER(tar_header_map_more(block, &map, &goes_on, NULL), 0);
  CU_ASSERT(goes_on);
  CHECK_NUMBER(map.count, 2);
  tar_map_clear(&map);
}

/* ---- pax ---------------------------------------------------------------------------------------
 */

static int
add(struct tar_overrides *overrides, const char *records, struct error **err)
{
  return tar_overrides_add_pax(overrides, records, strlen(records), err);
}

static void
test_pax_records_override(void)
{
  CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
  REQUIRE(add(&overrides, "14 path=a/b=c\n12 size=999\n18 linkpath=d/e f\n20 mtime=1.00000000\n",
              NULL) == 0);
  CHECK_STRING(overrides.path, "a/b=c");
  CHECK_STRING(overrides.link, "d/e f");
  CU_ASSERT(overrides.has_size);
  CHECK_NUMBER(overrides.size, 999);
  CU_ASSERT_FALSE(overrides.is_sparse);
}

static void
test_the_last_record_counts_and_an_empty_one_takes_back(void)
{
  CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
  REQUIRE(add(&overrides, "9 path=a\n9 path=b\n", NULL) == 0);
  CHECK_STRING(overrides.path, "b");
  REQUIRE(add(&overrides, "8 path=\n", NULL) == 0);
  CHECK_STRING(overrides.path, NULL);
  REQUIRE(add(&overrides, "9 size=7\n8 size=\n", NULL) == 0);
  CU_ASSERT_FALSE(overrides.has_size);
}

static void
test_pax_tells_sparse_files(void)
{
  CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
  REQUIRE(add(&overrides, "22 GNU.sparse.major=1\n", NULL) == 0);
  CU_ASSERT(overrides.is_sparse);
}

static void
test_bad_pax_records_are_refused(void)
{
  static const char *const rows[] = {
      "path=a\n",    /* no length */
      "9",           /* nothing but a length */
      "9 ",          /* … and a blank */
      "11 path=a\n", /* too long */
      "8 path=a\n",  /* too short: no line end there */
      "0 path=a\n",  /* nothing at all */
      "1 \n",        /* shorter than itself */
      "3 \n",        /* no name */
      "4 =\n",       /* an empty name */
      "7 path\n",    /* no value */
      "-9 path=a\n", /* negative */
      "99999999999 path=a\n",
      "9999999999999999999999999999 path=a\n",
      "9 path=a\n7", /* one too many */
      "9 path=a\n\n",
      "9 size=x\n",
      "10 size=-1\n",
      "28 size=9223372036854775808\n",
      "29 size=18446744073709551616\n",
      "39 size=000000000000000000000000000001\n",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
    CHECK_ROW(add(&overrides, rows[i], &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
  }
}

static void
test_pax_paths_are_bounded_and_hold_no_nul(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
  CU_ASSERT_EQUAL(tar_overrides_add_pax(&overrides, "12 path=a\0b\n", 12, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "NUL");
  char value[4990] = {0};
  memset(value, 'a', sizeof(value) - 1);
  CLEANUP(freep) char *record = xasprintf("5000 path=%s\n", value);
  CU_ASSERT_EQUAL(tar_overrides_add_pax(&overrides, record, 5000, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "too long");
}

UNIT_MAIN("populator/source/tar_header", UNIT_TEST(test_fields_are_read),
          UNIT_TEST(test_the_oldest_type_of_a_file_is_nul),
          UNIT_TEST(test_names_may_fill_their_fields), UNIT_TEST(test_only_ustar_has_a_prefix),
          UNIT_TEST(test_sums_are_compared), UNIT_TEST(test_sizes_in_every_form),
          UNIT_TEST(test_the_end_is_a_block_of_zeros), UNIT_TEST(test_a_map_of_holes_may_go_on),
          UNIT_TEST(test_pax_records_override),
          UNIT_TEST(test_the_last_record_counts_and_an_empty_one_takes_back),
          UNIT_TEST(test_pax_tells_sparse_files), UNIT_TEST(test_bad_pax_records_are_refused),
          UNIT_TEST(test_pax_paths_are_bounded_and_hold_no_nul))
