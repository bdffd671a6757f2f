/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/state.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define FORM 0x12345678

static void
test_what_is_sealed_comes_back(void)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(buffer_clear) struct buffer opened = {0};
  size_t used = 0;
  state_put_bytes(&body, "some bytes", 10);
  REQUIRE(state_seal(FORM, &body, &state, NULL) == 0);
  size_t len = state.len;
  (void)buffer_append_text(&state, "what follows"); /* is left alone */
  REQUIRE(state_unseal(FORM, state.data, state.len, 100, &opened, &used, NULL) == 0);
  CHECK_NUMBER(used, len);
  CHECK_NUMBER(opened.len, body.len);
  CU_ASSERT(memcmp(opened.data, body.data, body.len) == 0);
}

static void
test_an_empty_body_is_one(void)
{
  struct buffer body = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(buffer_clear) struct buffer opened = {0};
  size_t used;
  REQUIRE(state_seal(FORM, &body, &state, NULL) == 0);
  REQUIRE(state_unseal(FORM, state.data, state.len, 0, &opened, &used, NULL) == 0);
  CHECK_NUMBER(opened.len, 0);
}

static void
test_anything_but_the_seal_is_refused(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer body = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  struct buffer opened = {0};
  size_t used;
  for (unsigned i = 0; i < 1000; i++)
    state_put_number(&body, (uint64_t)i * i);
  REQUIRE(state_seal(FORM, &body, &state, NULL) == 0);
  CHECK_NUMBER(state_unseal(FORM + 1, state.data, state.len, body.len, &opened, &used, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "another form");
  CHECK_NUMBER(state_unseal(FORM, state.data, state.len, body.len - 1, &opened, &used, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "length");
  for (size_t len = 0; len < state.len; len++) {
    CHECK_NUMBER(state_unseal(FORM, state.data, len, body.len, &opened, &used, &err), -1);
    error_free(TAKE(err));
  }
  for (size_t i = 0; i < state.len; i++) {
    state.data[i] ^= 0x08;
    int r = state_unseal(FORM, state.data, state.len, body.len, &opened, &used, NULL);
    CU_ASSERT(r == -1);
    if (r == 0)
      buffer_clear(&opened);
    state.data[i] ^= 0x08;
  }
}

/* Longer than what the compressor gives at a time, in pieces of many lengths, behind something. */
static void
test_pieces_are_sealed_as_one(void)
{
  enum { LEN = 3 << 20 };
  CLEANUP(freep) char *bytes = xcalloc(1, LEN);
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(buffer_clear) struct buffer opened = {0};
  uint32_t random = 7;
  for (size_t i = 0; i < LEN; i++) {
    random = random * 1664525 + 1013904223;
    bytes[i] = (char)(random >> 24);
  }
  (void)buffer_append_text(&state, "before");
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, &state);
  for (size_t at = 0, n = 0; at < LEN; at += n, n = 2 * n + 1) {
    n = n < LEN - at ? n : LEN - at;
    state_sealer_add(sealer, bytes + at, n);
  }
  REQUIRE(state_sealer_finish(sealer, NULL) == 0);
  size_t used = 0, sealed = state.len - 6;
  (void)buffer_append_text(&state, "behind");
  REQUIRE(state_unseal(FORM, state.data + 6, state.len - 6, LEN, &opened, &used, NULL) == 0);
  CHECK_NUMBER(used, sealed);
  CHECK_NUMBER(opened.len, LEN);
  CU_ASSERT(memcmp(opened.data, bytes, LEN) == 0);
}

static void
test_what_is_too_long_is_not_sealed(void)
{
  enum { LEN = 1 << 20 };
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *bytes = xcalloc(1, LEN);
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(state_sealer_freep) struct state_sealer *sealer = state_sealer_new(FORM, &state);
  uint32_t random = 8;
  for (size_t i = 0; i < LEN; i++) {
    random = random * 1664525 + 1013904223;
    bytes[i] = (char)(random >> 24);
  }
  for (size_t sum = 0; sum <= STATE_MAX_BYTES; sum += LEN)
    state_sealer_add(sealer, bytes, LEN);
  CHECK_NUMBER(state_sealer_finish(sealer, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "too long");
  CU_ASSERT(state.len <= STATE_MAX_BYTES);
}

static void
test_numbers_take_as_few_bytes_as_they_need(void)
{
  static const struct {
    uint64_t value;
    size_t len;
  } rows[] = {
      {0, 1},     {1, 1},          {127, 1},        {128, 2},         {16383, 2},
      {16384, 3}, {1ULL << 32, 5}, {1ULL << 62, 9}, {1ULL << 63, 10}, {UINT64_MAX, 10},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(buffer_clear) struct buffer body = {0};
    state_put_number(&body, rows[i].value);
    CHECK_NUMBER(body.len, rows[i].len);
    struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
    CU_ASSERT(state_get_number(&reader) == rows[i].value);
    CHECK_NUMBER(reader.left, 0);
    CU_ASSERT_FALSE(reader.failed);
    for (size_t len = 0; len < body.len; len++) {
      reader = (struct state_reader){.at = (unsigned char *)body.data, .left = len};
      CHECK_NUMBER(state_get_number(&reader), 0);
      CU_ASSERT(reader.failed);
    }
  }
}

static void
test_a_number_that_does_not_fit_fails_the_reader(void)
{
  static const unsigned char too_large[] = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02";
  static const unsigned char endless[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
  struct state_reader reader = {.at = too_large, .left = sizeof(too_large) - 1};
  CHECK_NUMBER(state_get_number(&reader), 0);
  CU_ASSERT(reader.failed);
  reader = (struct state_reader){.at = endless, .left = sizeof(endless) - 1};
  CHECK_NUMBER(state_get_number(&reader), 0);
  CU_ASSERT(reader.failed);
  static const unsigned char numbers[] = "\x05\x06";
  reader = (struct state_reader){.at = numbers, .left = 2};
  CHECK_NUMBER(state_get_number_up_to(&reader, 5), 5);
  CU_ASSERT_FALSE(reader.failed);
  CHECK_NUMBER(state_get_number_up_to(&reader, 5), 0);
  CU_ASSERT(reader.failed);
}

static void
test_bytes_are_bounded_twice(void)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t len = 42;
  state_put_bytes(&body, "abc", 3);
  struct state_reader reader = {.at = (unsigned char *)body.data, .left = body.len};
  const char *bytes = state_get_bytes(&reader, 3, &len);
  REQUIRE(bytes != NULL);
  CHECK_NUMBER(len, 3);
  CU_ASSERT(memcmp(bytes, "abc", 3) == 0);
  reader = (struct state_reader){.at = (unsigned char *)body.data, .left = body.len};
  CU_ASSERT_PTR_NULL(state_get_bytes(&reader, 2, &len));
  CU_ASSERT(reader.failed);
  reader = (struct state_reader){.at = (unsigned char *)body.data, .left = body.len - 1};
  CU_ASSERT_PTR_NULL(state_get_bytes(&reader, 3, &len));
  CU_ASSERT(reader.failed);
}

UNIT_MAIN("populator/format/state", UNIT_TEST(test_what_is_sealed_comes_back),
          UNIT_TEST(test_an_empty_body_is_one), UNIT_TEST(test_anything_but_the_seal_is_refused),
          UNIT_TEST(test_pieces_are_sealed_as_one), UNIT_TEST(test_what_is_too_long_is_not_sealed),
          UNIT_TEST(test_numbers_take_as_few_bytes_as_they_need),
          UNIT_TEST(test_a_number_that_does_not_fit_fails_the_reader),
          UNIT_TEST(test_bytes_are_bounded_twice))
