/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_claims.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "tests/unit/unit.h"

static void
test_the_first_in_the_file_comes_first(void)
{
  CLEANUP(qcow2_claims_clear) struct qcow2_claims claims = {0};
  CU_ASSERT_PTR_NULL(qcow2_claims_first(&claims));
  srandom(1);
  for (unsigned round = 0; round < 2000; round++) {
    struct qcow2_run run = {.host_offset = (uint64_t)random() % 500,
                            .virtual_offset = (uint64_t)random() % 10,
                            .count = 1};
    qcow2_claims_push(&claims, &run);
    if (round == 1000)
      qcow2_claims_sort(&claims);
  }
  uint64_t last = 0;
  for (size_t left = 2000; left > 0; left--) {
    const struct qcow2_run *first = qcow2_claims_first(&claims);
    REQUIRE(first != NULL);
    uint64_t key = first->host_offset * 100 + first->virtual_offset;
    CU_ASSERT(key >= last);
    last = key;
    qcow2_claims_pop(&claims);
  }
  CU_ASSERT_PTR_NULL(qcow2_claims_first(&claims));
}

static void
test_a_run_is_small(void)
{
  CHECK_NUMBER(sizeof(struct qcow2_run), 24); /* there are millions of them */
  CU_ASSERT(QCOW2_CLAIM_KINDS <= 16);
}

UNIT_MAIN("populator/format/qcow2_claims", UNIT_TEST(test_the_first_in_the_file_comes_first),
          UNIT_TEST(test_a_run_is_small))
