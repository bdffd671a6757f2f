/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/raw_content.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/transfer/content_writer.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/unit.h"

#define PIECE CONTENT_WRITER_BUFFER_BYTES
#define FOOTER 512

static char room[CONTENT_ROOM_BYTES];

/* A disk with bytes that follow from their offsets, and behind it the footer of a fixed VHD. */
static char *
make_vhd(size_t disk_len)
{
  char *bytes = xcalloc(1, disk_len + FOOTER);
  for (size_t i = 0; i < disk_len; i++)
    bytes[i] = (char)(i * 2654435761U >> 13);
  char *footer = bytes + disk_len;
  static const char cookie[8] = {'c', 'o', 'n', 'e', 'c', 't', 'i', 'x'};
  memcpy(footer, cookie, sizeof(cookie));
  footer[63] = 2; /* fixed */
  uint32_t sum = 0;
  for (size_t i = 0; i < FOOTER; i++)
    sum += (unsigned char)footer[i];
  sum = ~sum;
  for (size_t i = 0; i < 4; i++)
    footer[64 + i] = (char)(sum >> (24 - 8 * i));
  return bytes;
}

/* All pieces, compared with the bytes. Where it ends; UINT64_MAX when it fails. */
static uint64_t
read_all(struct content_stream *content, const char *bytes, struct error **err)
{
  struct content_piece piece;
  do {
    if (content->ops->next(content, room, &piece, err) < 0)
      return UINT64_MAX;
    CU_ASSERT_FATAL(memcmp(piece.data, bytes + piece.offset, piece.len) == 0);
    CU_ASSERT_FATAL(piece.offset / PIECE ==
                    (piece.offset + (piece.len ? piece.len - 1 : 0)) / PIECE);
  } while (piece.len > 0);
  return raw_content_offset(content);
}

/* Zeros in front, amid and behind: known as such wherever a piece begins with many. */
static void
test_zeros_are_told(void)
{
  CLEANUP(freep) char *bytes = make_vhd(5 * PIECE);
  memset(bytes, 0, PIECE + 4096);
  memset(bytes + 3 * PIECE, 0, 2 * PIECE);
  struct stream *below = byte_stream_new(bytes, 5 * PIECE + FOOTER, 0, 100000);
  CLEANUP(content_stream_closep)
  struct content_stream *content = raw_content_new(below, 5 * PIECE + FOOTER);
  struct content_piece piece;
  size_t zeros = 0;
  do {
    REQUIRE(content->ops->next(content, room, &piece, NULL) == 0);
    REQUIRE(memcmp(piece.data, bytes + piece.offset, piece.len) == 0);
    REQUIRE(!piece.is_zero || piece.len == 0 ||
            (piece.data[0] == 0 && piece.data[piece.len - 1] == 0));
    zeros += piece.is_zero ? piece.len : 0;
  } while (piece.len > 0);
  CHECK_NUMBER(zeros, 3 * PIECE);
  CU_ASSERT(raw_content_is_vhd(content));
  CHECK_NUMBER(raw_content_offset(content), 5 * PIECE);
}

/* Sizes around the border of two pieces, which a footer may lie across. */
static const size_t sizes[] = {0,           1,           511,      512,       513,
                               PIECE - 513, PIECE - 1,   PIECE,    PIECE + 1, PIECE + 511,
                               PIECE + 512, PIECE + 513, 2 * PIECE};

static void
test_footer_of_a_vhd_is_left_off(void)
{
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    CLEANUP(freep) char *bytes = make_vhd(sizes[i]);
    struct stream *below = byte_stream_new(bytes, sizes[i] + FOOTER, 0, 100000);
    CLEANUP(content_stream_closep)
    struct content_stream *content = raw_content_new(below, sizes[i] + FOOTER);
    CHECK_NUMBER(read_all(content, bytes, NULL), sizes[i]);
    CU_ASSERT(raw_content_is_vhd(content));
  }
}

static void
test_disk_is_given_whole(void)
{
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    CLEANUP(freep) char *bytes = make_vhd(sizes[i]);
    struct stream *below = byte_stream_new(bytes, sizes[i], 0, 0);
    CLEANUP(content_stream_closep)
    struct content_stream *content = raw_content_new(below, CONTENT_SIZE_UNKNOWN);
    CHECK_NUMBER(read_all(content, bytes, NULL), sizes[i]);
    CU_ASSERT(!raw_content_is_vhd(content));
  }
}

static void
test_file_is_given_whole(void)
{
  CLEANUP(freep) char *bytes = make_vhd(PIECE);
  struct stream *below = byte_stream_new(bytes, PIECE + FOOTER, 100, 0);
  CLEANUP(content_stream_closep) struct content_stream *content = raw_content_new_file(below, 100);
  CHECK_NUMBER(read_all(content, bytes, NULL), PIECE + FOOTER);
  CU_ASSERT(!raw_content_is_vhd(content));
}

static void
test_disk_of_another_size(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *bytes = make_vhd(2000);
  struct stream *below = byte_stream_new(bytes, 2000, 0, 0);
  CLEANUP(content_stream_closep) struct content_stream *content = raw_content_new(below, 2001);
  CU_ASSERT(read_all(content, bytes, &err) == UINT64_MAX);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "the disk ends at byte 2000, it should have 2001");
}

/* Behind each piece, the last one included. */
static void
test_goes_on_from_a_state(void)
{
  size_t size = 2 * PIECE + 100;
  CLEANUP(freep) char *bytes = make_vhd(size);
  for (unsigned pieces = 1; pieces <= 3; pieces++) {
    CLEANUP(buffer_clear) struct buffer state = {0};
    struct content_piece piece;
    size_t used, kept = pieces < 3 ? FOOTER : 0;
    uint64_t offset;
    {
      struct stream *below = byte_stream_new(bytes, size + FOOTER, 0, 0);
      CLEANUP(content_stream_closep)
      struct content_stream *content = raw_content_new(below, size + FOOTER);
      for (unsigned i = 0; i < pieces; i++)
        REQUIRE(content->ops->next(content, room, &piece, NULL) == 0);
      REQUIRE(content->ops->save(content, &state, NULL) == 0);
      offset = raw_content_offset(content);
    }
    struct stream *below = byte_stream_new(bytes, size + FOOTER, offset + kept, 0);
    if (pieces == 3) {
      stream_close(below);
      below = byte_stream_new(bytes, size + FOOTER, size + FOOTER, 0);
    }
    CLEANUP(content_stream_closep) struct content_stream *content = NULL;
    REQUIRE(raw_content_restore(below, size + FOOTER, state.data, state.len, &used, &content,
                                NULL) == 0);
    CHECK_NUMBER(used, state.len);
    CHECK_NUMBER(raw_content_offset(content), offset);
    CHECK_NUMBER(read_all(content, bytes, NULL), size);
    CU_ASSERT(raw_content_is_vhd(content));
  }
}

static void
test_broken_states(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct content_stream *content = NULL;
  size_t used;
  struct stream *below = byte_stream_new("", 0, 0, 0);
  CU_ASSERT(raw_content_restore(below, 0, "nonsense", 8, &used, &content, &err) < 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "");
  CHECK_NUMBER(byte_streams_open(), 0);
}

UNIT_MAIN("populator/transfer/raw_content", UNIT_TEST(test_footer_of_a_vhd_is_left_off),
          UNIT_TEST(test_disk_is_given_whole), UNIT_TEST(test_zeros_are_told),
          UNIT_TEST(test_file_is_given_whole), UNIT_TEST(test_disk_of_another_size),
          UNIT_TEST(test_goes_on_from_a_state), UNIT_TEST(test_broken_states))
