/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/content_writer.h"

#include <assert.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/zero.h"

/* Zeros are looked for in blocks of this size, and not written. */
#define BLOCK_BYTES ((size_t)64 << 10)
/* Pieces from this size on are written from where they lie; smaller ones are worth a copy, to make
 * one write of several. */
#define DIRECT_BYTES ((size_t)256 << 10)
/* More is written as several: an OSD takes memory for each message afresh, and that of large ones
 * from the kernel, page by page. */
#define WRITE_MAX_BYTES ((size_t)2 << 20)

/* A write under way: what it holds. */
struct held {
  struct pool_buffer *buffer;
  void (*release)(void *context);
  void *context;
};

void
content_writer_init(struct content_writer *writer, struct image_writer *image,
                    struct buffer_pool *pool, struct progress *progress)
{
  *writer = (struct content_writer){.image = image, .pool = pool, .progress = progress};
}

void
content_writer_clear(struct content_writer *writer)
{
  pool_buffer_unref(TAKE(writer->gathered));
  writer->len = 0;
}

static void
on_written(void *arg)
{
  struct held *held = arg;
  pool_buffer_unref(held->buffer);
  held->release(held->context);
  free(held);
}

static int
submit(struct content_writer *writer, struct pool_buffer *buffer, const char *data, size_t len,
       uint64_t offset, struct error **err)
{
  struct held *held = xcalloc(1, sizeof(*held));
  *held = (struct held){
      .buffer = pool_buffer_ref(buffer), .release = writer->release, .context = writer->context};
  atomic_fetch_add(writer->hold, 1);
  if (image_writer_submit(writer->image, data, len, offset, on_written, held) < 0) {
    atomic_fetch_sub(writer->hold, 1);
    pool_buffer_unref(buffer);
    free(held);
    return image_writer_check(writer->image, err) < 0 ? -1 : 0;
  }
  atomic_fetch_add(&writer->progress->written, len);
  return 0;
}

static int
submit_parts(struct content_writer *writer, struct pool_buffer *buffer, const char *data,
             size_t len, uint64_t offset, struct error **err)
{
  while (len > 0) {
    size_t to_end = WRITE_MAX_BYTES - (size_t)(offset % WRITE_MAX_BYTES);
    size_t n = len < to_end ? len : to_end;
    if (submit(writer, buffer, data, n, offset, err) < 0)
      return -1;
    data += n;
    offset += n;
    len -= n;
  }
  return 0;
}

/* The end of the block that `offset` lies in, relative to data at `base`. */
static size_t
block_len(uint64_t offset, size_t left)
{
  size_t to_end = BLOCK_BYTES - (size_t)(offset % BLOCK_BYTES);
  return to_end < left ? to_end : left;
}

/* Finds the next piece from *at on that is no zeros; false: there is none. */
static bool
next_piece(const char *data, size_t len, uint64_t offset, size_t *at, size_t *ret_end)
{
  size_t block;
  while (*at < len && zero_is_all(data + *at, (block = block_len(offset + *at, len - *at))))
    *at += block;
  if (*at >= len)
    return false;
  size_t end = *at + block;
  while (end < len && !zero_is_all(data + end, (block = block_len(offset + end, len - end))))
    end += block;
  *ret_end = end;
  return true;
}

int
content_writer_flush(struct content_writer *writer, struct error **err)
{
  struct pool_buffer *buffer = writer->gathered;
  size_t at = 0, end;
  int r = 0;
  for (; r == 0 && buffer && next_piece(buffer->data, writer->len, writer->offset, &at, &end);
       at = end)
    r = submit_parts(writer, buffer, buffer->data + at, end - at, writer->offset + at, err);
  content_writer_clear(writer);
  return r;
}

bool
content_writer_has_room(const struct content_writer *writer, uint64_t offset, size_t len)
{
  return !writer->gathered ||
         (offset == writer->offset + writer->len &&
          writer->len + len <= CONTENT_WRITER_BUFFER_BYTES &&
          offset / CONTENT_WRITER_BUFFER_BYTES == writer->offset / CONTENT_WRITER_BUFFER_BYTES);
}

char *
content_writer_place(struct content_writer *writer, uint64_t offset, size_t len)
{
  assert(len <= CONTENT_WRITER_BUFFER_BYTES);
  if (!content_writer_has_room(writer, offset, len))
    (void)content_writer_flush(writer, NULL);
  if (!writer->gathered) {
    writer->gathered = buffer_pool_take(writer->pool);
    writer->offset = offset;
  }
  char *room = writer->gathered->data + writer->len;
  writer->len += len;
  return room;
}

/* Writes one piece that begins and ends with something; buffer NULL: it must be copied. */
static int
write_piece(struct content_writer *writer, struct pool_buffer *buffer, const char *data, size_t len,
            uint64_t offset, struct error **err)
{
  if (buffer && len >= DIRECT_BYTES)
    return submit_parts(writer, buffer, data, len, offset, err);
  while (len > 0) { /* at most one buffer at a time, and never across two objects */
    size_t room = CONTENT_WRITER_BUFFER_BYTES - (size_t)(offset % CONTENT_WRITER_BUFFER_BYTES);
    size_t n = len < room ? len : room;
    memcpy(content_writer_place(writer, offset, n), data, n);
    data += n;
    offset += n;
    len -= n;
  }
  return image_writer_check(writer->image, err);
}

/* Finds the pieces that are not zeros and writes them. */
static int
write_pieces(struct content_writer *writer, struct pool_buffer *buffer, const char *data,
             size_t len, uint64_t offset, struct error **err)
{
  size_t at = 0, end;
  for (; next_piece(data, len, offset, &at, &end); at = end) {
    if (write_piece(writer, buffer, data + at, end - at, offset + at, err) < 0)
      return -1;
  }
  return 0;
}

int
content_writer_plain(struct content_writer *writer, struct pool_buffer *buffer, const char *data,
                     size_t len, uint64_t offset, struct error **err)
{
  return write_pieces(writer, buffer, data, len, offset, err);
}

int
content_writer_copy(struct content_writer *writer, const char *data, size_t len, uint64_t offset,
                    struct error **err)
{
  return write_pieces(writer, NULL, data, len, offset, err);
}
