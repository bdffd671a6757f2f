/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 1952 around inflater.h. Headers and trailers are read whole within one read(), so that at
 * rest the stream is before a member, inside its data, before its trailer, or at the end. */
#include "populator/format/gzip.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/inflater.h"
#include "populator/format/state.h"

/* Unread input goes into every saved state, so it is kept small. */
#define IN_BYTES ((size_t)256 << 10)
/* Names and comments are skipped; one that does not end is not one. */
#define TEXT_MAX ((size_t)64 << 10)
#define FORM 0x317a6769 /* "igz1" */

#define FLAG_HEADER_CRC 2
#define FLAG_EXTRA 4
#define FLAG_NAME 8
#define FLAG_COMMENT 16
#define FLAGS_RESERVED 0xe0
#define MAGIC_FIRST 0x1f
#define METHOD_DEFLATE 8
#define HEADER_BYTES 10
#define TRAILER_BYTES 8

enum phase { PHASE_HEADER, PHASE_DATA, PHASE_TRAILER, PHASE_END };

struct gzip_stream {
  struct stream stream;
  enum phase phase;
  struct inflater *inflater;
  uint64_t members; /* that were read to their ends */
  uint32_t crc;     /* of the member's data so far */
  uint32_t size;    /* likewise, modulo 2^32, as the trailer has it */
  /* Input not yet taken is in[in_at, in_end). What the inflater hands back is put in front. */
  unsigned char in[INFLATER_LEFTOVER_MAX + IN_BYTES];
  size_t in_at, in_end;
  bool is_below_at_end;
  /* Output that came out while a place to save was looked for. */
  struct buffer ahead;
  size_t ahead_at;
};

static struct gzip_stream *
gzip_of(struct stream *stream)
{
  return (struct gzip_stream *)stream;
}

static int
truncated(const char *where, struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "gzip: the file ends too early, %s", where);
}

/* ---- input -------------------------------------------------------------------------------------
 */

/* Reads more when there is nothing left; afterwards there is nothing only at the end. */
static int
fill(struct gzip_stream *gzip, struct error **err)
{
  if (gzip->in_at < gzip->in_end || gzip->is_below_at_end)
    return 0;
  unsigned char *start = gzip->in + INFLATER_LEFTOVER_MAX;
  ssize_t got = stream_read(gzip->stream.below, start, IN_BYTES, err);
  if (got < 0)
    return -1;
  gzip->in_at = INFLATER_LEFTOVER_MAX;
  gzip->in_end = INFLATER_LEFTOVER_MAX + (size_t)got;
  gzip->is_below_at_end = got == 0;
  return 0;
}

/* Exactly len bytes. */
static int
take(struct gzip_stream *gzip, void *buf, size_t len, const char *where, struct error **err)
{
  unsigned char *out = buf;
  for (size_t i = 0; i < len; i++) {
    if (fill(gzip, err) < 0)
      return -1;
    if (gzip->in_at == gzip->in_end)
      return truncated(where, err);
    out[i] = gzip->in[gzip->in_at++];
  }
  return 0;
}

/* ---- header and trailer ------------------------------------------------------------------------
 */

static int
take_header_bytes(struct gzip_stream *gzip, void *buf, size_t len, uint32_t *crc,
                  struct error **err)
{
  if (take(gzip, buf, len, "in a header", err) < 0)
    return -1;
  *crc = crc32_gzip_refl(*crc, buf, len);
  return 0;
}

/* A text that ends with a NUL. */
static int
skip_text(struct gzip_stream *gzip, uint32_t *crc, struct error **err)
{
  for (size_t i = 0; i < TEXT_MAX; i++) {
    unsigned char byte;
    if (take_header_bytes(gzip, &byte, 1, crc, err) < 0)
      return -1;
    if (byte == '\0')
      return 0;
  }
  return error_set(err, ERROR_DATA_LOSS, "gzip: a name in a header does not end");
}

static int
skip_extra(struct gzip_stream *gzip, uint32_t *crc, struct error **err)
{
  unsigned char bytes[256];
  if (take_header_bytes(gzip, bytes, 2, crc, err) < 0)
    return -1;
  for (size_t left = bytes_le16(bytes); left > 0;) {
    size_t part = left < sizeof(bytes) ? left : sizeof(bytes);
    if (take_header_bytes(gzip, bytes, part, crc, err) < 0)
      return -1;
    left -= part;
  }
  return 0;
}

static int
read_header(struct gzip_stream *gzip, struct error **err)
{
  unsigned char header[HEADER_BYTES];
  uint32_t crc = 0;
  if (take_header_bytes(gzip, header, sizeof(header), &crc, err) < 0)
    return -1;
  if (header[0] != MAGIC_FIRST || header[1] != 0x8b)
    return error_set(err, ERROR_DATA_LOSS, "gzip: what is there is no gzip header");
  if (header[2] != METHOD_DEFLATE)
    return error_set(err, ERROR_INVALID_ARGUMENT, "gzip: compression method %u is not known",
                     header[2]);
  unsigned flags = header[3];
  if (flags & FLAGS_RESERVED)
    return error_set(err, ERROR_INVALID_ARGUMENT, "gzip: a header has unknown flags (0x%02x)",
                     flags);
  if ((flags & FLAG_EXTRA && skip_extra(gzip, &crc, err) < 0) ||
      (flags & FLAG_NAME && skip_text(gzip, &crc, err) < 0) ||
      (flags & FLAG_COMMENT && skip_text(gzip, &crc, err) < 0))
    return -1;
  uint32_t computed = crc & 0xffff;
  unsigned char stored[2];
  if (flags & FLAG_HEADER_CRC && take_header_bytes(gzip, stored, sizeof(stored), &crc, err) < 0)
    return -1;
  if (flags & FLAG_HEADER_CRC && bytes_le16(stored) != computed)
    return error_set(err, ERROR_DATA_LOSS, "gzip: the checksum of a header is wrong");
  inflater_reset(gzip->inflater);
  gzip->crc = 0;
  gzip->size = 0;
  gzip->phase = PHASE_DATA;
  return 0;
}

/* Zeros up to the end of the file. Anything else is refused, although gzip itself passes over it
 * with a warning: a file that has more than it should may be the wrong one. */
static int
skip_padding(struct gzip_stream *gzip, struct error **err)
{
  for (;;) {
    if (fill(gzip, err) < 0)
      return -1;
    if (gzip->in_at == gzip->in_end)
      return 0;
    if (gzip->in[gzip->in_at++] != 0)
      return error_set(err, ERROR_DATA_LOSS,
                       "gzip: there is something behind the end that is no gzip: 'gzip -dc' "
                       "passes over it");
  }
}

static int
read_trailer(struct gzip_stream *gzip, struct error **err)
{
  unsigned char trailer[TRAILER_BYTES];
  if (take(gzip, trailer, sizeof(trailer), "in a trailer", err) < 0)
    return -1;
  if (bytes_le32(trailer) != gzip->crc)
    return error_set(err, ERROR_DATA_LOSS, "gzip: the checksum is wrong: the file is damaged");
  if (bytes_le32(trailer + 4) != gzip->size)
    return error_set(err, ERROR_DATA_LOSS, "gzip: the length is wrong: the file is damaged");
  gzip->members++;
  if (fill(gzip, err) < 0)
    return -1;
  bool is_end = gzip->in_at == gzip->in_end;
  if (!is_end && gzip->in[gzip->in_at] == MAGIC_FIRST) {
    gzip->phase = PHASE_HEADER;
    return 0;
  }
  if (!is_end && skip_padding(gzip, err) < 0)
    return -1;
  gzip->phase = PHASE_END;
  return 0;
}

/* ---- data --------------------------------------------------------------------------------------
 */

/* What the inflater took too much goes back in front of the rest. */
static void
end_of_data(struct gzip_stream *gzip)
{
  unsigned char bytes[INFLATER_LEFTOVER_MAX];
  size_t count = inflater_leftover(gzip->inflater, bytes);
  if (gzip->in_at == gzip->in_end)
    gzip->in_at = gzip->in_end = INFLATER_LEFTOVER_MAX;
  assert(count <= gzip->in_at);
  gzip->in_at -= count;
  memcpy(gzip->in + gzip->in_at, bytes, count);
  gzip->phase = PHASE_TRAILER;
}

static void
count_data(struct gzip_stream *gzip, const void *data, size_t len)
{
  if (len == 0)
    return;
  gzip->crc = crc32_gzip_refl(gzip->crc, data, len);
  gzip->size += (uint32_t)len;
}

/* Fills buf, less only at the end of the member. */
static ssize_t
read_data(struct gzip_stream *gzip, unsigned char *buf, size_t len, struct error **err)
{
  struct inflater_io io = {.out = buf, .out_len = len};
  while (io.out_len > 0 && !inflater_is_done(gzip->inflater)) {
    if (fill(gzip, err) < 0)
      return -1;
    io.in = gzip->in + gzip->in_at;
    io.in_len = gzip->in_end - gzip->in_at;
    size_t before = io.in_len + io.out_len;
    if (inflater_run(gzip->inflater, &io, err) < 0)
      return error_wrap(err, "gzip");
    gzip->in_at = gzip->in_end - io.in_len;
    bool is_stuck = io.in_len + io.out_len == before;
    if (is_stuck && !inflater_is_done(gzip->inflater) && gzip->is_below_at_end)
      return truncated("in the data", err);
  }
  count_data(gzip, buf, len - io.out_len);
  if (inflater_is_done(gzip->inflater))
    end_of_data(gzip);
  return (ssize_t)(len - io.out_len);
}

static ssize_t
read_ahead(struct gzip_stream *gzip, char *buf, size_t len)
{
  size_t left = gzip->ahead.len - gzip->ahead_at;
  size_t got = left < len ? left : len;
  memcpy(buf, gzip->ahead.data + gzip->ahead_at, got);
  gzip->ahead_at += got;
  if (gzip->ahead_at == gzip->ahead.len) {
    buffer_clear(&gzip->ahead);
    gzip->ahead_at = 0;
  }
  return (ssize_t)got;
}

static ssize_t
gzip_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct gzip_stream *gzip = gzip_of(stream);
  if (gzip->ahead_at < gzip->ahead.len)
    return read_ahead(gzip, buf, len);
  while (gzip->phase != PHASE_END && len > 0) {
    if (gzip->phase == PHASE_HEADER && read_header(gzip, err) < 0)
      return -1;
    ssize_t got = gzip->phase == PHASE_DATA ? read_data(gzip, buf, len, err) : 0;
    if (got != 0)
      return got;
    if (gzip->phase == PHASE_TRAILER && read_trailer(gzip, err) < 0)
      return -1;
  }
  return 0;
}

/* ---- saving and restoring ----------------------------------------------------------------------
 */

/* Decodes ahead to where the inflater can be saved. */
static int
settle(struct gzip_stream *gzip, struct error **err)
{
  bool is_settled = false;
  while (!is_settled) {
    size_t before = gzip->ahead.len, taken;
    if (gzip->ahead.len - gzip->ahead_at > INFLATER_SETTLE_MAX)
      return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                       "gzip: cannot be saved here, in the middle of a very long block");
    if (inflater_settle(gzip->inflater, gzip->in + gzip->in_at, gzip->in_end - gzip->in_at,
                        &gzip->ahead, &taken, &is_settled, err) < 0)
      return error_wrap(err, "gzip");
    gzip->in_at += taken;
    if (gzip->ahead.len > before)
      count_data(gzip, gzip->ahead.data + before, gzip->ahead.len - before);
    if (is_settled)
      break;
    if (fill(gzip, err) < 0)
      return -1;
    if (gzip->in_at == gzip->in_end && gzip->is_below_at_end)
      return truncated("in the data", err);
  }
  if (inflater_is_done(gzip->inflater))
    end_of_data(gzip);
  return 0;
}

static int
gzip_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct gzip_stream *gzip = gzip_of(stream);
  if (gzip->phase == PHASE_DATA && settle(gzip, err) < 0)
    return -1;
  CLEANUP(buffer_clear) struct buffer body = {0};
  state_put_number(&body, gzip->phase);
  state_put_number(&body, gzip->crc);
  state_put_number(&body, gzip->size);
  state_put_number(&body, gzip->is_below_at_end);
  state_put_bytes(&body, gzip->in + gzip->in_at, gzip->in_end - gzip->in_at);
  state_put_bytes(&body, gzip->ahead.data ? gzip->ahead.data + gzip->ahead_at : "",
                  gzip->ahead.len - gzip->ahead_at);
  if (gzip->phase == PHASE_DATA)
    inflater_save(gzip->inflater, &body);
  return state_seal(FORM, &body, state, err);
}

static void
gzip_close(struct stream *stream)
{
  struct gzip_stream *gzip = gzip_of(stream);
  stream_close(gzip->stream.below);
  inflater_free(gzip->inflater);
  buffer_clear(&gzip->ahead);
  free(gzip);
}

static uint64_t
gzip_count(struct stream *stream)
{
  return gzip_of(stream)->members;
}

static const struct stream_ops gzip_ops = {
    .name = "gzip",
    .read = gzip_read,
    .save = gzip_save,
    .close = gzip_close,
    .count = gzip_count,
};

int
gzip_stream_new(struct stream *below, struct stream **ret_stream, struct error **err)
{
  (void)err;
  struct gzip_stream *gzip = xcalloc(1, sizeof(*gzip));
  gzip->stream = (struct stream){.ops = &gzip_ops, .below = below};
  gzip->inflater = inflater_new();
  *ret_stream = &gzip->stream;
  return 0;
}

static int
restore(struct gzip_stream *gzip, struct state_reader *reader, struct error **err)
{
  gzip->phase = (enum phase)state_get_number_up_to(reader, PHASE_END);
  gzip->crc = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  gzip->size = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  gzip->is_below_at_end = state_get_number_up_to(reader, 1) != 0;
  size_t in_len = 0, ahead_len = 0;
  /* inside the data there is always room for what the inflater hands back */
  size_t in_max = gzip->phase == PHASE_DATA ? IN_BYTES : sizeof(gzip->in);
  const void *in = state_get_bytes(reader, in_max, &in_len);
  const void *ahead = state_get_bytes(reader, SIZE_MAX, &ahead_len);
  if (reader->failed)
    return error_set(err, ERROR_DATA_LOSS, "saved state: damaged");
  gzip->in_end = sizeof(gzip->in);
  gzip->in_at = gzip->in_end - in_len;
  memcpy(gzip->in + gzip->in_at, in, in_len);
  (void)buffer_append(&gzip->ahead, ahead, ahead_len);
  if (gzip->phase == PHASE_DATA && inflater_restore(gzip->inflater, reader, err) < 0)
    return -1;
  if (reader->failed || reader->left > 0)
    return error_set(err, ERROR_DATA_LOSS, "saved state: damaged");
  return 0;
}

int
gzip_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                    struct stream **ret_stream, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (gzip_stream_new(below, &stream, err) < 0)
    return -1;
  CLEANUP(buffer_clear) struct buffer body = {0};
  size_t used;
  size_t max_len = 2 * INFLATER_SETTLE_MAX;
  if (state_unseal(FORM, state, len, max_len, &body, &used, err) < 0)
    return error_wrap(err, "gzip");
  struct state_reader reader = {.at = (const unsigned char *)body.data, .left = body.len};
  if (restore(gzip_of(stream), &reader, err) < 0)
    return error_wrap(err, "gzip");
  *ret_used = used;
  *ret_stream = TAKE(stream);
  return 0;
}
