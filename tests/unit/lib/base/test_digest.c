/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/digest.h"

#include <string.h>

#include "tests/unit/unit.h"

/* The vectors of FIPS 180-4's examples. */
static void
test_sha256_of_known_texts(void)
{
  static const struct {
    const char *text;
    const char *hex;
  } rows[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char hex[DIGEST_SHA256_HEX];
    digest_sha256_hex(rows[i].text, strlen(rows[i].text), hex);
    CHECK_STRING(hex, rows[i].hex);
  }
}

static void
test_sha256_counts_bytes_behind_a_nul(void)
{
  char one[DIGEST_SHA256_HEX], other[DIGEST_SHA256_HEX];
  digest_sha256_hex("a\0b", 3, one);
  digest_sha256_hex("a\0c", 3, other);
  CHECK_NUMBER(strlen(one), DIGEST_SHA256_HEX - 1);
  CU_ASSERT_STRING_NOT_EQUAL(one, other);
}

UNIT_MAIN("lib/base/digest", UNIT_TEST(test_sha256_of_known_texts),
          UNIT_TEST(test_sha256_counts_bytes_behind_a_nul))
