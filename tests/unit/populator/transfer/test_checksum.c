/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/checksum.h"

#include <string.h>

#include "tests/unit/unit.h"

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void
test_digits_of_either_case_are_read(void)
{
  char text[CHECKSUM_TEXT_MAX];
  CHECK_NUMBER(
      checksum_from_text("sha256:BA7816BF8F01CFEA414140DE5DAE2223b00361a396177a9cb410ff61f20015ad",
                         text, NULL),
      0);
  CHECK_STRING(text, "sha256:" ABC);
}

static void
test_what_is_no_checksum_is_refused(void)
{
  static const char *const texts[] = {
      "", "sha256", "sha256:", "md5:00", "sha256:xy", ("sha256:" ABC "00"), ("sha512:" ABC)};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    char text[CHECKSUM_TEXT_MAX];
    CHECK_NUMBER(checksum_from_text(texts[i], text, &err), -1);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "checksum");
  }
}

static void
test_one_that_is_asked_for_is_compared_with_nothing(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct checksum checksum;
  checksum_init(&checksum, checksum_kind_of(CHECKSUM_ASKED));
  checksum_update(&checksum, "abc", 3);
  CHECK_NUMBER(checksum_check(&checksum, CHECKSUM_ASKED, NULL), 0);
  CHECK_NUMBER(checksum_check(&checksum, "sha256:" ABC, NULL), 0);
  checksum_update(&checksum, "d", 1);
  CHECK_NUMBER(checksum_check(&checksum, "sha256:" ABC, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "not sha256:" ABC);
}

UNIT_MAIN("populator/transfer/checksum", UNIT_TEST(test_digits_of_either_case_are_read),
          UNIT_TEST(test_what_is_no_checksum_is_refused),
          UNIT_TEST(test_one_that_is_asked_for_is_compared_with_nothing))
