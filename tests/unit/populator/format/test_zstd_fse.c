/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_fse.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

/* RFC 8878, section 3.1.1.3.2.2. */
static const struct {
  unsigned log, symbols;
  int counts[ZSTD_FSE_SYMBOLS_MAX];
} predefined[ZSTD_FSE_KINDS] = {
    [ZSTD_FSE_LITERALS] = {6, 36, {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                   2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}},
    [ZSTD_FSE_OFFSETS] = {5, 29, {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}},
    [ZSTD_FSE_MATCHES] = {6, 53, {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}},
};

static void
test_predefined_descriptions_say_what_the_rfc_says(void)
{
  for (unsigned kind = 0; kind < ZSTD_FSE_KINDS; kind++) {
    struct zstd_fse_counts counts;
    size_t len;
    const unsigned char *bytes = zstd_fse_predefined(kind, &len);
    CHECK_NUMBER(zstd_fse_read(kind, bytes, len, &counts), len);
    CHECK_NUMBER(counts.log, predefined[kind].log);
    CHECK_NUMBER(counts.symbols, predefined[kind].symbols);
    for (unsigned s = 0; s < predefined[kind].symbols; s++)
      CHECK_NUMBER(counts.of[s], predefined[kind].counts[s]);
    for (size_t less = 0; less + 1 < len; less++)
      CHECK_NUMBER(zstd_fse_read(kind, bytes, less, &counts), 0);
  }
}

/* Each state is reached from those of its symbol, whatever bits follow. */
static void
check_table(const struct zstd_fse_counts *counts)
{
  static struct zstd_fse table;
  unsigned seen[ZSTD_FSE_SYMBOLS_MAX] = {0};
  zstd_fse_build(counts, &table);
  for (unsigned i = 0; i < 1U << table.log; i++) {
    const struct zstd_fse_state *state = &table.states[i];
    REQUIRE(state->symbol < counts->symbols);
    seen[state->symbol]++;
    CU_ASSERT(state->base + (1U << state->bits) <= 1U << table.log);
  }
  for (unsigned s = 0; s < counts->symbols; s++)
    CHECK_NUMBER(seen[s], abs(counts->of[s]));
}

static void
test_whatever_is_read_makes_a_sound_table(void)
{
  unsigned state = 1, read = 0;
  for (unsigned i = 0; i < 20000; i++) {
    unsigned char bytes[ZSTD_FSE_DESCRIPTION_MAX];
    struct zstd_fse_counts counts;
    for (size_t at = 0; at < sizeof(bytes); at++) {
      state = state * 1664525 + 1013904223;
      bytes[at] = (unsigned char)(state >> 24);
    }
    bytes[0] &= 0xf1; /* a log that may be */
    size_t len = zstd_fse_read(i % ZSTD_FSE_KINDS, bytes, sizeof(bytes), &counts);
    CU_ASSERT(len <= sizeof(bytes));
    if (len == 0)
      continue;
    read++;
    check_table(&counts);
  }
  CU_ASSERT(read > 1000);
}

static void
test_what_is_no_description_is_refused(void)
{
  static const unsigned char rows[][4] = {
      {0x05}, /* a table of 1024 states */
      {0xff, 0xff, 0xff, 0xff},
      {0x10, 0xfe, 0xff, 0xff}, /* more symbols that do not occur than there are */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct zstd_fse_counts counts;
    CHECK_NUMBER(zstd_fse_read(ZSTD_FSE_OFFSETS, rows[i], sizeof(rows[i]), &counts), 0);
  }
}

UNIT_MAIN("populator/format/zstd_fse",
          UNIT_TEST(test_predefined_descriptions_say_what_the_rfc_says),
          UNIT_TEST(test_whatever_is_read_makes_a_sound_table),
          UNIT_TEST(test_what_is_no_description_is_refused))
