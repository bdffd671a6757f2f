/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/look_stream.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/wire.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

static char bytes[2000];

static void
fill(void)
{
  for (size_t i = 0; i < sizeof(bytes); i++)
    bytes[i] = (char)(i * 7);
}

/* Nothing is missing, however short the stream is and in however small pieces it comes. */
static void
test_all_is_given(void)
{
  static const size_t lens[] = {0, 1, LOOK_STREAM_BYTES - 1, LOOK_STREAM_BYTES, sizeof(bytes)};
  fill();
  for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
    struct look look;
    CLEANUP(stream_closep) struct stream *stream = NULL;
    CLEANUP(buffer_clear) struct buffer content = {0};
    REQUIRE(look_stream_new(byte_stream_new(bytes, lens[i], 0, 100), "blob", &look, &stream,
                            NULL) == 0);
    CHECK_NUMBER(look.len, lens[i] < LOOK_STREAM_BYTES ? lens[i] : LOOK_STREAM_BYTES);
    CU_ASSERT_EQUAL(memcmp(look.bytes, bytes, look.len), 0);
    REQUIRE(byte_stream_drain(stream, &content, NULL) == 0);
    CHECK_NUMBER(content.len, lens[i]);
    CU_ASSERT(content.len == 0 || memcmp(content.data, bytes, content.len) == 0);
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

/* As the stream below would have been, at every position. */
static void
test_it_is_saved_as_the_stream_below(void)
{
  static const size_t positions[] = {0, 1, LOOK_STREAM_BYTES, sizeof(bytes)};
  fill();
  for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
    struct look look;
    char passed[sizeof(bytes)];
    CLEANUP(stream_closep) struct stream *stream = NULL;
    CLEANUP(buffer_clear) struct buffer state = {0};
    REQUIRE(look_stream_new(byte_stream_new(bytes, sizeof(bytes), 0, 0), "blob", &look, &stream,
                            NULL) == 0);
    REQUIRE(stream_read_full(stream, passed, positions[i], NULL) == 0);
    REQUIRE(stream_can_save(stream) && stream_save(stream, &state, NULL) == 0);
    REQUIRE(state.len == sizeof("blob") + sizeof(uint64_t));
    CHECK_STRING(state.data, "blob");
    struct wire_reader reader = {.at = state.data + sizeof("blob"), .left = sizeof(uint64_t)};
    CHECK_NUMBER(wire_get_u64(&reader), positions[i]);
  }
}

UNIT_MAIN("populator/source/look_stream", UNIT_TEST(test_all_is_given),
          UNIT_TEST(test_it_is_saved_as_the_stream_below))
