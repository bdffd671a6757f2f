/* SPDX-License-Identifier: Apache-2.0 */
/* Sending itself is tested against a store, tests/transfer. */
#include "populator/sink/part_sender.h"

#include "tests/unit/unit.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

static void
test_parts_are_as_large_as_they_must_be(void)
{
  CHECK_NUMBER(part_sender_part_bytes(0), 5 * MIB);
  CHECK_NUMBER(part_sender_part_bytes(GIB - 1), 5 * MIB);
  CHECK_NUMBER(part_sender_part_bytes(GIB), 16 * MIB);
  CHECK_NUMBER(part_sender_part_bytes(100 * GIB), 16 * MIB);
  CU_ASSERT(part_sender_part_bytes(TIB) > 100 * MIB);
  CU_ASSERT(part_sender_part_bytes(TIB) < 110 * MIB);
}

static void
test_ten_thousand_parts_are_enough_for_any_object(void)
{
  for (uint64_t size = 1; size <= 40 * TIB; size = size * 5 / 4 + 1) {
    size_t part = part_sender_part_bytes(size);
    CU_ASSERT(part >= S3_PART_MIN_BYTES && part <= S3_PART_MAX_BYTES);
    CU_ASSERT((size + part - 1) / part <= S3_PARTS_MAX - 100);
    CU_ASSERT(part % 65536 == 0); /* data of a qcow2 file begins with a cluster */
  }
  CHECK_NUMBER(part_sender_part_bytes(UINT64_MAX), S3_PART_MAX_BYTES);
}

static void
test_a_tebibyte_takes_no_more_memory_than_a_gibibyte(void)
{
  for (uint64_t size = 1; size <= TIB; size = size * 5 / 4 + 1) {
    size_t part = part_sender_part_bytes(size);
    CU_ASSERT(part_sender_rooms(part) >= 1);
    CU_ASSERT(part_sender_rooms(part) * part <= 128 * MIB);
  }
  CHECK_NUMBER(part_sender_rooms(5 * MIB), 5); /* four on their way, one that is filled */
  CHECK_NUMBER(part_sender_rooms(16 * MIB), 5);
  CHECK_NUMBER(part_sender_rooms(64 * MIB), 2);
}

UNIT_MAIN("populator/sink/part_sender", UNIT_TEST(test_parts_are_as_large_as_they_must_be),
          UNIT_TEST(test_ten_thousand_parts_are_enough_for_any_object),
          UNIT_TEST(test_a_tebibyte_takes_no_more_memory_than_a_gibibyte))
