/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/quantity.h"

#include "tests/unit/unit.h"

static void
test_amounts_are_read_as_kubernetes_means_them(void)
{
  static const struct {
    const char *text;
    uint64_t bytes;
  } rows[] = {
      {"0", 0},
      {"1", 1},
      {"10Gi", 10ULL << 30},
      {"1.5Gi", 3ULL << 29},
      {"0.5", 1}, /* up */
      {"1500m", 2},
      {"1000m", 1},
      {"1k", 1000},
      {"2M", 2000000},
      {"3G", 3000000000},
      {"1Ti", 1ULL << 40},
      {"1Pi", 1ULL << 50},
      {"1E", 1000000000000000000},
      {"12e6", 12000000},
      {"12E6", 12000000},
      {"1e-3", 1},
      {"1.000000001k", 1001},
      {"5.", 5},
      {".5Ki", 512},
      {"7Ei", 7ULL << 60},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint64_t bytes = 0;
    CHECK_ROW(quantity_parse(rows[i].text, &bytes, NULL) == 0, rows[i].text);
    CHECK_ROW(bytes == rows[i].bytes, rows[i].text);
  }
}

static void
test_everything_else_is_refused(void)
{
  static const char *const bad[] = {"",    "Gi",   "-1",    "1 Gi",  "1gi",  "1KB",
                                    "0x1", "1e",   "1e999", "1.2.3", "1Gi ", "1234567890123456789",
                                    "8Ei", "16Ei", "10E",   "."};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    uint64_t bytes = 0;
    CHECK_ROW(quantity_parse(bad[i], &bytes, NULL) < 0, bad[i]);
  }
}

static void
test_amounts_are_written_in_the_largest_exact_unit(void)
{
  char text[QUANTITY_TEXT_BYTES];
  CHECK_STRING(quantity_text(10ULL << 30, text), "10Gi");
  CHECK_STRING(quantity_text(1536ULL << 20, text), "1536Mi");
  CHECK_STRING(quantity_text(1000, text), "1000");
  CHECK_STRING(quantity_text(0, text), "0");
}

UNIT_MAIN("populator/objects/quantity", UNIT_TEST(test_amounts_are_read_as_kubernetes_means_them),
          UNIT_TEST(test_everything_else_is_refused),
          UNIT_TEST(test_amounts_are_written_in_the_largest_exact_unit))
