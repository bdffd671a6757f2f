/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_cluster.h"

#include <string.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define CLUSTER ((size_t)65536)

static char data[2 * CLUSTER];

static void
pack(struct buffer *out, enum qcow2_compression compression, size_t len)
{
  if (compression == QCOW2_COMPRESSION_ZLIB) {
    pack_deflate(out, data, len, PACK_DYNAMIC);
    return;
  }
  CLEANUP(freep) char *packed = xcalloc(1, ZSTD_compressBound(len));
  (void)buffer_append(out, packed, ZSTD_compress(packed, ZSTD_compressBound(len), data, len, 3));
}

/* The content ends where its memory ends, so that a byte too many is seen by AddressSanitizer. */
static int
decode(const struct buffer *packed, enum qcow2_compression compression, size_t len,
       struct error **err)
{
  CLEANUP(qcow2_cluster_decoder_freep)
  struct qcow2_cluster_decoder *decoder = qcow2_cluster_decoder_new(compression, CLUSTER);
  CLEANUP(freep) char *bytes = xcalloc(1, packed->len + 1);
  CLEANUP(freep) char *exact = xcalloc(1, len);
  char *end = bytes + 1;
  memcpy(end, packed->data, packed->len); /* not aligned */
  int r = qcow2_cluster_decode(decoder, end, packed->len, exact, len, err);
  if (r == 0)
    CU_ASSERT(memcmp(exact, data, len) == 0);
  return r;
}

static void
test_clusters_are_decoded(void)
{
  pack_fill(data, sizeof(data), 1);
  for (int kind = QCOW2_COMPRESSION_ZLIB; kind <= QCOW2_COMPRESSION_ZSTD; kind++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    enum qcow2_compression compression = (enum qcow2_compression)kind;
    pack(&packed, compression, CLUSTER);
    CHECK_NUMBER(decode(&packed, compression, CLUSTER, NULL), 0);
    CHECK_NUMBER(decode(&packed, compression, 1, NULL), 0); /* the last of a disk */
    CHECK_NUMBER(decode(&packed, compression, CLUSTER - 512, NULL), 0);
    (void)buffer_append_text(&packed, "what belongs to the next cluster");
    CHECK_NUMBER(decode(&packed, compression, CLUSTER, NULL), 0);
  }
}

static void
test_a_decoder_can_be_used_again_after_damage(void)
{
  for (int kind = QCOW2_COMPRESSION_ZLIB; kind <= QCOW2_COMPRESSION_ZSTD; kind++) {
    CLEANUP(qcow2_cluster_decoder_freep)
    struct qcow2_cluster_decoder *decoder =
        qcow2_cluster_decoder_new((enum qcow2_compression)kind, CLUSTER);
    CLEANUP(buffer_clear) struct buffer packed = {0};
    CLEANUP(freep) char *content = xcalloc(1, CLUSTER);
    pack(&packed, (enum qcow2_compression)kind, CLUSTER);
    CHECK_NUMBER(qcow2_cluster_decode(decoder, packed.data, 100, content, CLUSTER, NULL), -1);
    CHECK_NUMBER(qcow2_cluster_decode(decoder, packed.data, packed.len, content, CLUSTER, NULL), 0);
    CU_ASSERT(memcmp(content, data, CLUSTER) == 0);
  }
}

static void
test_it_must_be_a_whole_cluster_and_no_more(void)
{
  for (int kind = QCOW2_COMPRESSION_ZLIB; kind <= QCOW2_COMPRESSION_ZSTD; kind++) {
    static const size_t lengths[] = {0, 1, CLUSTER - 1, CLUSTER + 1, 2 * CLUSTER};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
      CLEANUP(buffer_clear) struct buffer packed = {0};
      CLEANUP(error_freep) struct error *err = NULL;
      pack(&packed, (enum qcow2_compression)kind, lengths[i]);
      CHECK_NUMBER(decode(&packed, (enum qcow2_compression)kind, CLUSTER, &err), -1);
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "a compressed cluster");
    }
  }
}

static void
test_an_early_end_is_an_error_wherever(void)
{
  for (int kind = QCOW2_COMPRESSION_ZLIB; kind <= QCOW2_COMPRESSION_ZSTD; kind++) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    pack(&packed, (enum qcow2_compression)kind, CLUSTER);
    size_t len = packed.len;
    for (packed.len = 0; packed.len < len; packed.len += 1 + packed.len / 8)
      CHECK_NUMBER(decode(&packed, (enum qcow2_compression)kind, CLUSTER, NULL), -1);
    packed.len = len - 1;
    CHECK_NUMBER(decode(&packed, (enum qcow2_compression)kind, CLUSTER, NULL), -1);
  }
}

/* More than lanes have at once; one of them has a shorter end, one is of a kind that is left to
 * others. */
static void
test_many_are_decoded_at_once(void)
{
  CLEANUP(qcow2_cluster_decoder_freep)
  struct qcow2_cluster_decoder *decoder =
      qcow2_cluster_decoder_new(QCOW2_COMPRESSION_ZLIB, CLUSTER);
  CLEANUP(freep) char *content = xcalloc(QCOW2_PIECES_MAX, CLUSTER);
  struct buffer packed[QCOW2_PIECES_MAX] = {0};
  struct qcow2_piece pieces[QCOW2_PIECES_MAX];
  size_t failed = 99;
  for (unsigned i = 0; i < QCOW2_PIECES_MAX; i++) {
    pack_fill(data, sizeof(data), i);
    pack_deflate(&packed[i], data, CLUSTER, i == 7 ? PACK_STORED : PACK_DYNAMIC);
    pieces[i] = (struct qcow2_piece){.bytes = packed[i].data,
                                     .bytes_len = packed[i].len,
                                     .content = content + i * CLUSTER,
                                     .len = i == 9 ? 512 : CLUSTER};
  }
  for (int batch = 0; batch < 4; batch++) { /* one of them is used to find the faster way */
    memset(content, 0, QCOW2_PIECES_MAX * CLUSTER);
    CHECK_NUMBER(qcow2_cluster_decode_all(decoder, pieces, QCOW2_PIECES_MAX, &failed, NULL), 0);
    for (unsigned i = 0; i < QCOW2_PIECES_MAX; i++) {
      pack_fill(data, sizeof(data), i);
      CU_ASSERT(memcmp(pieces[i].content, data, pieces[i].len) == 0);
    }
    CU_ASSERT(content[9 * CLUSTER + 512] == 0);
  }

  CLEANUP(error_freep) struct error *err = NULL;
  pieces[41].bytes_len = 100;
  pieces[50].bytes_len = 0;
  CHECK_NUMBER(qcow2_cluster_decode_all(decoder, pieces, QCOW2_PIECES_MAX, &failed, &err), -1);
  CHECK_NUMBER(failed, 41);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "a compressed cluster");
  for (unsigned i = 0; i < QCOW2_PIECES_MAX; i++)
    buffer_clear(&packed[i]);
}

UNIT_MAIN("populator/format/qcow2_cluster", UNIT_TEST(test_clusters_are_decoded),
          UNIT_TEST(test_a_decoder_can_be_used_again_after_damage),
          UNIT_TEST(test_it_must_be_a_whole_cluster_and_no_more),
          UNIT_TEST(test_an_early_end_is_an_error_wherever),
          UNIT_TEST(test_many_are_decoded_at_once))
