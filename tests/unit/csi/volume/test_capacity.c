/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/capacity.h"

#include <stdio.h>

#include "tests/unit/unit.h"

#define KI (1LL << 10)
#define MI (1LL << 20)
#define GI (1LL << 30)
#define TI (1LL << 40)

static Csi__V1__CapacityRange
range_of(int64_t required, int64_t limit)
{
  Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
  range.required_bytes = required;
  range.limit_bytes = limit;
  return range;
}

static void
test_without_a_range_the_default_or_the_source_decides(void)
{
  uint64_t bytes = 0;
  CU_ASSERT_EQUAL(capacity_choose(NULL, 0, &bytes, NULL), 0);
  CHECK_NUMBER(bytes, CAPACITY_DEFAULT_BYTES);
  CU_ASSERT_EQUAL(capacity_choose(NULL, 5 * MI, &bytes, NULL), 0);
  CHECK_NUMBER(bytes, 5 * MI);
  CU_ASSERT_EQUAL(capacity_choose(NULL, 5 * MI + 512, &bytes, NULL), 0);
  CHECK_NUMBER(bytes, 5 * MI + 512); /* as large as its source, to the byte */
}

static void
test_sizes_are_chosen_within_the_range(void)
{
  static const struct {
    int64_t required, limit;
    uint64_t source;
    uint64_t bytes;
  } rows[] = {
      {0, 0, 0, GI}, /* the default */
      {1, 0, 0, MI}, /* rounded up */
      {MI - 1, 0, 0, MI},
      {MI, 0, 0, MI},
      {MI + 1, 0, 0, 2 * MI},
      {5 * GI, 0, 0, 5 * GI},
      {5 * GI, 5 * GI, 0, 5 * GI},
      {5 * GI - 1, 5 * GI, 0, 5 * GI},
      {1, MI, 0, MI},
      {0, 100 * MI, 0, 100 * MI},     /* less than the default: what is allowed */
      {0, 100 * MI + 5, 0, 100 * MI}, /* … in whole MiB */
      {0, 2 * GI, 0, GI},
      {0, GI, 0, GI},
      {0, MI, 0, MI},
      {900 * TI, 0, 0, 900 * TI}, /* the most */
      {900 * TI - 1, 0, 0, 900 * TI},
      {0, INT64_MAX, 0, GI},
      {GI, INT64_MAX, 0, GI},
      {0, 0, 3 * GI, 3 * GI}, /* a source */
      {GI, 0, 3 * GI, 3 * GI},
      {3 * GI, 0, 3 * GI, 3 * GI},
      {4 * GI, 0, 3 * GI, 4 * GI},
      {3 * GI + 1, 0, 3 * GI, 3 * GI + MI},
      {0, 3 * GI, 3 * GI, 3 * GI},
      {1, 3 * GI + 1, 3 * GI + 1, 3 * GI + 1}, /* whose size is no whole MiB */
      {3 * GI + 2, 0, 3 * GI + 1, 3 * GI + MI},
      {0, 0, 900 * TI, 900 * TI},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char row[96];
    (void)snprintf(row, sizeof(row), "required %lld, limit %lld, source %llu",
                   (long long)rows[i].required, (long long)rows[i].limit,
                   (unsigned long long)rows[i].source);
    Csi__V1__CapacityRange range = range_of(rows[i].required, rows[i].limit);
    uint64_t bytes = 0;
    CHECK_ROW(capacity_choose(&range, rows[i].source, &bytes, NULL) == 0, row);
    CHECK_ROW(bytes == rows[i].bytes, row);
  }
}

static void
test_what_does_not_fit_is_refused_with_the_reason(void)
{
  static const struct {
    int64_t required, limit;
    uint64_t source;
    enum error_code code;
    const char *message;
  } rows[] = {
      {-1, 0, 0, ERROR_INVALID_ARGUMENT, "capacity_range.required_bytes is negative"},
      {INT64_MIN, 0, 0, ERROR_INVALID_ARGUMENT, "capacity_range.required_bytes is negative"},
      {0, -1, 0, ERROR_INVALID_ARGUMENT, "capacity_range.limit_bytes is negative"},
      {2, 1, 0, ERROR_INVALID_ARGUMENT, "limit_bytes 1 is below required_bytes 2"},
      {INT64_MAX, INT64_MAX - 1, 0, ERROR_INVALID_ARGUMENT, "is below required_bytes"},
      {900 * TI + 1, 0, 0, ERROR_OUT_OF_RANGE, "capacity_range.required_bytes: "},
      {INT64_MAX, 0, 0, ERROR_OUT_OF_RANGE, "is above the 900 TiB that an RBD image can have"},
      {INT64_MAX, INT64_MAX, 0, ERROR_OUT_OF_RANGE, "is above the 900 TiB"},
      {1, 1, 0, ERROR_OUT_OF_RANGE, "no whole number of MiB lies between required_bytes 1 and"},
      {0, 1, 0, ERROR_OUT_OF_RANGE, "no whole number of MiB"},
      {0, MI - 1, 0, ERROR_OUT_OF_RANGE, "no whole number of MiB"},
      {MI + 1, 2 * MI - 1, 0, ERROR_OUT_OF_RANGE, "no whole number of MiB"},
      {0, GI, 3 * GI, ERROR_OUT_OF_RANGE,
       "capacity_range.limit_bytes: 1 GiB is less than the source has, which is 3 GiB"},
      {GI, 2 * GI, 3 * GI, ERROR_OUT_OF_RANGE, "limit_bytes: 2 GiB is less than the source has"},
      {0, 0, UINT64_MAX, ERROR_OUT_OF_RANGE, "is less than the source has"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    Csi__V1__CapacityRange range = range_of(rows[i].required, rows[i].limit);
    uint64_t bytes = 42;
    CHECK_ROW(capacity_choose(&range, rows[i].source, &bytes, &err) == -1, rows[i].message);
    CHECK_NUMBER(bytes, 42);
    CHECK_ERROR(&err, rows[i].code, rows[i].message);
  }
}

/* Whatever is asked for, the answer lies within it. */
static void
test_no_answer_leaves_the_range(void)
{
  static const int64_t sizes[] = {
      0,        1,      KI,           MI - 1,   MI,           MI + 1,
      GI,       GI + 1, 900 * TI - 1, 900 * TI, 900 * TI + 1, INT64_MAX - MI,
      INT64_MAX};
  enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
  unsigned wrong = 0;
  for (size_t r = 0; r < SIZES; r++) {
    for (size_t l = 0; l < SIZES; l++) {
      for (size_t s = 0; s < SIZES; s++) {
        Csi__V1__CapacityRange range = range_of(sizes[r], sizes[l]);
        uint64_t bytes;
        if (capacity_choose(&range, (uint64_t)sizes[s], &bytes, NULL) < 0)
          continue;
        wrong += bytes < (uint64_t)sizes[r] || bytes < (uint64_t)sizes[s] || bytes == 0 ||
                 bytes > CAPACITY_MAX_BYTES || (sizes[l] && bytes > (uint64_t)sizes[l]);
        wrong += capacity_check_existing(&range, bytes, NULL) < 0; /* asked again, it is the same */
      }
    }
  }
  CHECK_NUMBER(wrong, 0);
}

static void
test_an_existing_volume_is_compared_with_the_range(void)
{
  static const struct {
    int64_t required, limit;
    uint64_t bytes;
    const char *message; /* NULL: it fits */
  } rows[] = {
      {0, 0, GI, NULL},
      {GI, 0, GI, NULL},
      {GI - 1, 0, GI, NULL},
      {0, GI, GI, NULL},
      {GI, GI, GI, NULL},
      {1, GI, MI, NULL},
      {GI + 1, 0, GI, "it has 1 GiB, capacity_range.required_bytes asks for 1073741825 bytes"},
      {2 * GI, 4 * GI, GI, "it has 1 GiB, capacity_range.required_bytes asks for 2 GiB"},
      {0, GI, 2 * GI, "it has 2 GiB, capacity_range.limit_bytes allows 1 GiB"},
      {MI, GI, GI + 1, "it has 1073741825 bytes, capacity_range.limit_bytes allows 1 GiB"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    Csi__V1__CapacityRange range = range_of(rows[i].required, rows[i].limit);
    int r = capacity_check_existing(&range, rows[i].bytes, &err);
    CHECK_NUMBER(r, rows[i].message ? -1 : 0);
    if (rows[i].message)
      CHECK_ERROR(&err, ERROR_ALREADY_EXISTS, rows[i].message);
  }
  CU_ASSERT_EQUAL(capacity_check_existing(NULL, GI, NULL), 0);
}

static void
test_a_bad_range_is_bad_for_an_existing_volume_too(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  Csi__V1__CapacityRange range = range_of(-1, 0);
  CU_ASSERT_EQUAL(capacity_check_existing(&range, GI, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "capacity_range.required_bytes");
  range = range_of(2 * GI, GI);
  CU_ASSERT_EQUAL(capacity_check_existing(&range, GI, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "limit_bytes");
}

UNIT_MAIN("csi/volume/capacity", UNIT_TEST(test_without_a_range_the_default_or_the_source_decides),
          UNIT_TEST(test_sizes_are_chosen_within_the_range),
          UNIT_TEST(test_what_does_not_fit_is_refused_with_the_reason),
          UNIT_TEST(test_no_answer_leaves_the_range),
          UNIT_TEST(test_an_existing_volume_is_compared_with_the_range),
          UNIT_TEST(test_a_bad_range_is_bad_for_an_existing_volume_too))
