/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/stream.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* Gives a text in pieces of a size, or fails at its end. */
struct text_stream {
  struct stream stream;
  const char *text;
  size_t piece;
  bool fails;
};

static unsigned closed;

static ssize_t
text_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct text_stream *text = (struct text_stream *)stream;
  size_t left = strlen(text->text);
  if (left == 0 && text->fails)
    return error_set(err, ERROR_UNAVAILABLE, "broken");
  size_t n = len < text->piece ? len : text->piece;
  n = n < left ? n : left;
  memcpy(buf, text->text, n);
  text->text += n;
  return (ssize_t)n;
}

static int
text_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u32(state, (uint32_t)strlen(((struct text_stream *)stream)->text));
  return 0;
}

static void
text_close(struct stream *stream)
{
  closed++;
  stream_close(stream->below);
  free(stream);
}

static const struct stream_ops saving_ops = {
    .name = "text", .read = text_read, .save = text_save, .close = text_close};
static const struct stream_ops plain_ops = {.name = "text", .read = text_read, .close = text_close};

static struct stream *
text_open(const struct stream_ops *ops, const char *text, struct stream *below)
{
  struct text_stream *stream = xcalloc(1, sizeof(*stream));
  *stream = (struct text_stream){{.ops = ops, .below = below}, text, 3, false};
  return &stream->stream;
}

static void
test_reading_in_full_takes_as_many_reads_as_it_needs(void)
{
  CLEANUP(stream_closep) struct stream *stream = text_open(&plain_ops, "0123456789", NULL);
  char buf[16] = "";
  CHECK_NUMBER(stream_read(stream, buf, sizeof(buf), NULL), 3);
  CHECK_NUMBER(stream_read_full(stream, buf, 6, NULL), 0);
  CHECK_STRING(buf, "345678");
  CHECK_NUMBER(stream_read_most(stream, buf, sizeof(buf), NULL), 1);
  CHECK_NUMBER(stream_read_most(stream, buf, sizeof(buf), NULL), 0);
}

static void
test_an_early_end_is_data_loss(void)
{
  CLEANUP(stream_closep) struct stream *stream = text_open(&plain_ops, "0123", NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  char buf[16];
  CHECK_NUMBER(stream_read_full(stream, buf, 10, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "text: ends 6 bytes too early");
}

static void
test_an_error_is_an_error(void)
{
  CLEANUP(stream_closep) struct stream *stream = text_open(&plain_ops, "0123", NULL);
  ((struct text_stream *)stream)->fails = true;
  CLEANUP(error_freep) struct error *err = NULL;
  char buf[16];
  CHECK_NUMBER(stream_read_full(stream, buf, 10, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "broken");
  CHECK_NUMBER(stream_read_most(stream, buf, 10, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "broken");
}

static void
test_a_stack_is_saved_from_below(void)
{
  CLEANUP(stream_closep)
  struct stream *stream = text_open(&saving_ops, "01234", text_open(&saving_ops, "0123456", NULL));
  CU_ASSERT(stream_can_save(stream));
  struct buffer state = {0};
  CHECK_NUMBER(stream_save(stream, &state, NULL), 0);
  CHECK_NUMBER(state.len, 18);
  CU_ASSERT(memcmp(state.data, "text\0\7\0\0\0text\0\5\0\0\0", 18) == 0);
  buffer_clear(&state);
}

static void
test_a_stack_is_saved_only_as_a_whole(void)
{
  CLEANUP(stream_closep)
  struct stream *below = text_open(&saving_ops, "", text_open(&plain_ops, "", NULL));
  CU_ASSERT_FALSE(stream_can_save(below));
  CLEANUP(stream_closep)
  struct stream *above = text_open(&plain_ops, "", text_open(&saving_ops, "", NULL));
  CU_ASSERT_FALSE(stream_can_save(above));
}

static void
test_a_stack_is_closed_as_a_whole(void)
{
  closed = 0;
  stream_close(text_open(&plain_ops, "", text_open(&plain_ops, "", NULL)));
  CHECK_NUMBER(closed, 2);
  stream_close(NULL);
}

UNIT_MAIN("populator/source/stream",
          UNIT_TEST(test_reading_in_full_takes_as_many_reads_as_it_needs),
          UNIT_TEST(test_an_early_end_is_data_loss), UNIT_TEST(test_an_error_is_an_error),
          UNIT_TEST(test_a_stack_is_saved_from_below),
          UNIT_TEST(test_a_stack_is_saved_only_as_a_whole),
          UNIT_TEST(test_a_stack_is_closed_as_a_whole))
