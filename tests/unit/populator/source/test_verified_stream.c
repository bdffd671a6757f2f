/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/verified_stream.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

/* Of "hello". */
#define SHA256_HELLO "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define SHA512_HELLO                                                                               \
  "sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7"                        \
  "2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"
#define SHA256_NOTHING "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct oci_descriptor hello = {.digest = (char *)SHA256_HELLO, .size = 5};

/* Everything that comes, or the error; *ret_got counts what was handed out before. */
static int
read_all(const char *data, const struct oci_descriptor *blob, size_t piece, size_t *ret_got,
         struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  struct stream *below = byte_stream_new(data, strlen(data), 0, piece);
  if (verified_stream_new(below, blob, &stream, err) < 0)
    return -1;
  char buf[64];
  ssize_t got;
  *ret_got = 0;
  while ((got = stream_read(stream, buf, sizeof(buf), err)) > 0)
    *ret_got += (size_t)got;
  return got < 0 ? -1 : 0;
}

static void
test_right_bytes_pass(void)
{
  static const struct oci_descriptor blobs[] = {{.digest = (char *)SHA256_HELLO, .size = 5},
                                                {.digest = (char *)SHA512_HELLO, .size = 5}};
  for (size_t i = 0; i < 2; i++) {
    for (size_t piece = 0; piece <= 5; piece++) {
      size_t got;
      CHECK_NUMBER(read_all("hello", &blobs[i], piece, &got, NULL), 0);
      CHECK_NUMBER(got, 5);
    }
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_nothing_is_something_too(void)
{
  size_t got;
  const struct oci_descriptor right = {.digest = (char *)SHA256_NOTHING};
  const struct oci_descriptor wrong = {.digest = (char *)SHA256_HELLO};
  CHECK_NUMBER(read_all("", &right, 0, &got, NULL), 0);
  CHECK_NUMBER(read_all("", &wrong, 0, &got, NULL), -1);
  CHECK_NUMBER(read_all("x", &right, 0, &got, NULL), -1);
}

/* The last byte stays back, in whatever pieces they come. */
static void
test_other_bytes_are_never_complete(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  for (size_t piece = 0; piece <= 5; piece++) {
    size_t got = 0;
    CHECK_NUMBER(read_all("hallo", &hello, piece, &got, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "blob " SHA256_HELLO ": its data has the digest sha256:");
    CU_ASSERT(got < 5);
  }
}

static void
test_too_few_and_too_many(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  size_t got;
  CHECK_NUMBER(read_all("hell", &hello, 0, &got, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "ends after 4 of 5 bytes");
  CHECK_NUMBER(read_all("", &hello, 0, &got, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "ends after 0 of 5 bytes");
  CHECK_NUMBER(read_all("hello!", &hello, 0, &got, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "longer than the 5 bytes");
}

static void
test_a_digest_of_another_kind(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  const struct oci_descriptor blob = {.digest = (char *)"md5:5d41402abc4b2a76b9719d911017c592"};
  size_t got;
  CHECK_NUMBER(read_all("hello", &blob, 0, &got, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "sha256");
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_drain_reads_the_rest_and_compares(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  for (unsigned i = 0; i < 2; i++) {
    CLEANUP(stream_closep) struct stream *stream = NULL;
    const char *data = i == 0 ? "hello" : "hallo";
    REQUIRE(verified_stream_new(byte_stream_new(data, 5, 0, 1), &hello, &stream, NULL) == 0);
    char byte;
    CHECK_NUMBER(stream_read(stream, &byte, 1, NULL), 1);
    CHECK_NUMBER(verified_stream_drain(stream, &err), i == 0 ? 0 : -1);
  }
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "digest");
}

/* ---- going on ----------------------------------------------------------------------------------
 */

static void
test_another_process_goes_on(void)
{
  for (size_t read = 0; read <= 5; read++) {
    CLEANUP(stream_closep) struct stream *first = NULL;
    CLEANUP(stream_closep) struct stream *second = NULL;
    CLEANUP(buffer_clear) struct buffer state = {0};
    char content[6] = {0};
    REQUIRE(verified_stream_new(byte_stream_new("hello", 5, 0, 0), &hello, &first, NULL) == 0);
    CHECK_NUMBER(stream_read(first, content, read, NULL), read);
    REQUIRE(first->ops->save(first, &state, NULL) == 0);
    struct wire_reader reader = {.at = state.data, .left = state.len};
    REQUIRE(verified_stream_restore(byte_stream_new("hello", 5, read, 0), &hello, &reader, &second,
                                    NULL) == 0);
    CHECK_NUMBER(reader.left, 0);
    CHECK_NUMBER(stream_read(second, content + read, 6, NULL), 5 - read);
    CHECK_STRING(content, "hello");
    CHECK_NUMBER(stream_read(second, content, 6, NULL), 0);
  }
}

static void
test_bytes_of_both_processes_count(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(stream_closep) struct stream *first = NULL;
  CLEANUP(stream_closep) struct stream *second = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  char content[8];
  REQUIRE(verified_stream_new(byte_stream_new("hallo", 5, 0, 0), &hello, &first, NULL) == 0);
  CHECK_NUMBER(stream_read(first, content, 3, NULL), 3);
  REQUIRE(first->ops->save(first, &state, NULL) == 0);
  struct wire_reader reader = {.at = state.data, .left = state.len};
  REQUIRE(verified_stream_restore(byte_stream_new("hello", 5, 3, 0), &hello, &reader, &second,
                                  NULL) == 0);
  CHECK_NUMBER(stream_read(second, content, 8, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "digest");
}

static void
test_a_state_that_is_none(void)
{
  CLEANUP(stream_closep) struct stream *first = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  REQUIRE(verified_stream_new(byte_stream_new("hello", 5, 0, 0), &hello, &first, NULL) == 0);
  REQUIRE(first->ops->save(first, &state, NULL) == 0);
  for (size_t len = 0; len <= state.len; len++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *damaged = xcalloc(state.len, 1);
    struct stream *second = NULL;
    memcpy(damaged, state.data, state.len);
    damaged[7] = (char)(len == state.len ? 0x7f : 0); /* more has passed than there is */
    struct wire_reader reader = {.at = damaged, .left = len};
    CHECK_NUMBER(
        verified_stream_restore(byte_stream_new("", 0, 0, 0), &hello, &reader, &second, &err), -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
  stream_close(TAKE(first));
  CHECK_NUMBER(byte_streams_open(), 0);
}

UNIT_MAIN("populator/source/verified_stream", UNIT_TEST(test_right_bytes_pass),
          UNIT_TEST(test_nothing_is_something_too), UNIT_TEST(test_other_bytes_are_never_complete),
          UNIT_TEST(test_too_few_and_too_many), UNIT_TEST(test_a_digest_of_another_kind),
          UNIT_TEST(test_drain_reads_the_rest_and_compares),
          UNIT_TEST(test_another_process_goes_on), UNIT_TEST(test_bytes_of_both_processes_count),
          UNIT_TEST(test_a_state_that_is_none))
