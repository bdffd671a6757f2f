/* SPDX-License-Identifier: Apache-2.0 */
/* An xz file, read by our stream in large pieces, in small ones and by one process after the other,
 * and by liblzma's own decoder of whole files. Ours all do the same; what liblzma takes they take,
 * and where both give bytes, these are the same. The first byte says how.
 *
 * A change of a byte hardly ever gets past the checksums. So if the second byte asks for it, the
 * rest is LZMA2 alone, and a file without checksums is made around that. It also says which filters
 * the file has in front of it. */
#include <lzma.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/xz.h"
#include "tests/format/memory_stream.h"
#include "tests/fuzz/fuzz.h"

/* A few bytes can make as much as they like. */
#define OUT_MAX ((size_t)256 << 10)
#define RESTARTS_MAX 8
#define DICT_SIZE ((uint32_t)4096)

struct outcome {
  uint8_t *out;
  size_t len;
  bool has_ended; /* without an error */
};

/* Goes on in a new stream. False when what lies ahead is damaged: reading tells that too. */
static bool
restart(const struct buffer *file, size_t piece, struct stream **stream)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  size_t used;
  if ((*stream)->ops->save(*stream, &state, &err) < 0) {
    CHECK(err->code != ERROR_INTERNAL);
    return err->code == ERROR_RESOURCE_EXHAUSTED; /* only no place to stop here */
  }
  size_t position = memory_stream_position((*stream)->below);
  stream_close(TAKE(*stream));
  CHECK(xz_stream_restore(memory_stream_new(file->data, file->len, position, piece), state.data,
                          state.len, &used, stream, NULL) == 0);
  CHECK(used == state.len);
  return true;
}

/* Reads in pieces, and every now and then goes on in a new stream. */
static void
read_xz(const struct buffer *file, size_t piece, size_t restart_every, struct outcome *outcome)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  outcome->out = xcalloc(1, OUT_MAX);
  CHECK(xz_stream_new(memory_stream_new(file->data, file->len, 0, piece), &stream, NULL) == 0);
  size_t restarts = 0;
  while (outcome->len < OUT_MAX) {
    CLEANUP(error_freep) struct error *err = NULL;
    size_t room = OUT_MAX - outcome->len;
    if (restart_every > 0 && room > restart_every)
      room = restart_every;
    ssize_t n = stream_read(stream, outcome->out + outcome->len, room, &err);
    CHECK(n >= 0 || err->code != ERROR_INTERNAL);
    outcome->has_ended = n == 0;
    if (n <= 0)
      return;
    CHECK((size_t)n <= room);
    outcome->len += (size_t)n;
    if (restart_every > 0 && restarts++ < RESTARTS_MAX && !restart(file, piece, &stream))
      return;
  }
}

static void
read_by_liblzma(const struct buffer *file, struct outcome *outcome)
{
  lzma_stream lzma = LZMA_STREAM_INIT;
  outcome->out = xcalloc(1, OUT_MAX);
  CHECK(lzma_stream_decoder(&lzma, XZ_MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK);
  lzma.next_in = (const uint8_t *)file->data;
  lzma.avail_in = file->len;
  lzma.next_out = outcome->out;
  lzma.avail_out = OUT_MAX;
  lzma_ret r = LZMA_OK;
  while (r == LZMA_OK && lzma.avail_out > 0)
    r = lzma_code(&lzma, LZMA_FINISH);
  outcome->has_ended = r == LZMA_STREAM_END;
  outcome->len = OUT_MAX - lzma.avail_out;
  lzma_end(&lzma);
}

static void
compare(const struct outcome *a, const struct outcome *b)
{
  size_t common = a->len < b->len ? a->len : b->len;
  CHECK(memcmp(a->out, b->out, common) == 0);
  CHECK(!a->has_ended || !b->has_ended || a->len == b->len);
}

/* Padding, the index and the footer behind a block that liblzma can decode. */
static void
append_end(const lzma_stream_flags *flags, lzma_vli unpadded, lzma_vli uncompressed,
           struct buffer *file)
{
  lzma_index *index = lzma_index_init(NULL);
  lzma_stream_flags footer = *flags;
  uint8_t bytes[64];
  size_t len = 0;
  CHECK(index && lzma_index_append(index, NULL, unpadded, uncompressed) == LZMA_OK);
  CHECK(lzma_index_buffer_encode(index, bytes, &len, sizeof(bytes)) == LZMA_OK);
  footer.backward_size = lzma_index_size(index);
  lzma_index_end(index, NULL);
  (void)buffer_append(file, "\0\0\0", (size_t)(0 - unpadded) % 4);
  (void)buffer_append(file, bytes, len);
  CHECK(lzma_stream_footer_encode(&footer, bytes) == LZMA_OK);
  (void)buffer_append(file, bytes, LZMA_STREAM_HEADER_SIZE);
}

/* None, one or two filters, and LZMA2. */
static void
choose_filters(uint8_t choice, lzma_options_lzma *lzma2, lzma_options_delta *delta,
               lzma_filter *ret_filters)
{
  static const lzma_vli ids[] = {LZMA_VLI_UNKNOWN,    LZMA_FILTER_X86,   LZMA_FILTER_DELTA,
                                 LZMA_FILTER_IA64,    LZMA_FILTER_ARM,   LZMA_FILTER_ARMTHUMB,
                                 LZMA_FILTER_POWERPC, LZMA_FILTER_SPARC, LZMA_FILTER_ARM64};
  const unsigned chosen[] = {(choice >> 1 & 15) % (sizeof(ids) / sizeof(ids[0])), choice >> 5};
  for (size_t i = 0; i < 2; i++) {
    lzma_vli id = ids[chosen[i]];
    if (id != LZMA_VLI_UNKNOWN)
      *ret_filters++ = (lzma_filter){id, id == LZMA_FILTER_DELTA ? delta : NULL};
  }
  *ret_filters++ = (lzma_filter){LZMA_FILTER_LZMA2, lzma2};
  *ret_filters = (lzma_filter){LZMA_VLI_UNKNOWN, NULL};
}

/* A file with one block that holds the bytes as LZMA2, and no checksum. Where they are LZMA2, up to
 * an end, it is whole. */
static void
wrap(uint8_t choice, const uint8_t *data, size_t size, struct buffer *file)
{
  lzma_stream_flags flags = {.version = 0, .check = LZMA_CHECK_NONE};
  lzma_options_lzma options = {.dict_size = DICT_SIZE};
  lzma_options_delta delta = {.type = LZMA_DELTA_TYPE_BYTE, .dist = 4};
  lzma_filter filters[LZMA_FILTERS_MAX + 1];
  choose_filters(choice, &options, &delta, filters);
  lzma_block block = {.version = 1,
                      .check = LZMA_CHECK_NONE,
                      .filters = filters,
                      .compressed_size = LZMA_VLI_UNKNOWN,
                      .uncompressed_size = LZMA_VLI_UNKNOWN};
  uint8_t header[LZMA_STREAM_HEADER_SIZE + LZMA_BLOCK_HEADER_SIZE_MAX];
  CLEANUP(freep) uint8_t *out = xcalloc(1, OUT_MAX);
  size_t in_at = 0, out_at = 0;
  CHECK(lzma_stream_header_encode(&flags, header) == LZMA_OK);
  CHECK(lzma_block_header_size(&block) == LZMA_OK);
  CHECK(lzma_block_header_encode(&block, header + LZMA_STREAM_HEADER_SIZE) == LZMA_OK);
  (void)buffer_append(file, header, LZMA_STREAM_HEADER_SIZE + block.header_size);
  lzma_ret r = lzma_raw_buffer_decode(filters, NULL, data, &in_at, size, out, &out_at, OUT_MAX);
  (void)buffer_append(file, data, r == LZMA_OK ? in_at : size);
  if (r == LZMA_OK)
    append_end(&flags, block.header_size + in_at, out_at, file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 2)
    return 0;
  CLEANUP(buffer_clear) struct buffer file = {0};
  struct outcome outcomes[4] = {0};
  size_t piece = 1 + data[0] % 64;
  bool is_lzma2 = data[1] & 1;
  if (is_lzma2)
    wrap(data[1], data + 2, size - 2, &file);
  else
    (void)buffer_append(&file, data + 2, size - 2);
  read_by_liblzma(&file, &outcomes[0]);
  read_xz(&file, 0, 0, &outcomes[1]);
  read_xz(&file, piece, 0, &outcomes[2]);
  read_xz(&file, 100 * piece, 97 * piece, &outcomes[3]);
  for (size_t i = 1; i < 4; i++) {
    compare(&outcomes[0], &outcomes[i]);
    compare(&outcomes[1], &outcomes[i]);
    CHECK(!outcomes[0].has_ended || outcomes[i].has_ended);
    CHECK(outcomes[1].has_ended == outcomes[i].has_ended);
  }
  for (size_t i = 0; i < 4; i++)
    free(outcomes[i].out);
  return 0;
}
