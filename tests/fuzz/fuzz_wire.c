/* SPDX-License-Identifier: Apache-2.0 */
/* What a cluster answers about an image and its snapshots. An even first byte: the five answers of
 * a header, the first four with a byte of length in front, the last one the rest. An odd one: the
 * answer for a snapshot. What is decoded is no larger than what came. */
#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/header_decode.h"
#include "tests/fuzz/fuzz.h"

/* A copy of exactly this length, so that AddressSanitizer sees a read behind it. */
static struct wire_reader
reader_of(const uint8_t *data, size_t len, void **ret_copy)
{
  *ret_copy = xcalloc(1, len ? len : 1);
  memcpy(*ret_copy, data, len);
  return (struct wire_reader){.at = *ret_copy, .left = len};
}

static void
try_header(const uint8_t *data, size_t size)
{
  struct wire_reader answers[HEADER_ANSWERS];
  void *copies[HEADER_ANSWERS];
  size_t at = 0;
  for (int i = 0; i < HEADER_ANSWERS; i++) {
    size_t left = size - at;
    size_t len = left;
    if (i < HEADER_ANSWERS - 1 && left > 0) {
      len = data[at++];
      left--;
      len = len < left ? len : left;
    }
    answers[i] = reader_of(data + at, len, &copies[i]);
    at += len;
  }
  struct header header;
  int r = header_decode(answers, &header);
  CHECK(r == 0 || r == -EBADMSG);
  if (r == 0) {
    CHECK(header.snap_count <= size / sizeof(uint64_t));
    CHECK(header.metadata.count <= size / (2 * sizeof(uint32_t)));
    CHECK(header.parent.name_space && header.parent.image_id);
    CHECK(strlen(header.parent.name_space) + strlen(header.parent.image_id) <= size);
    header_clear(&header);
  }
  for (int i = 0; i < HEADER_ANSWERS; i++)
    free(copies[i]);
}

static void
try_snap(const uint8_t *data, size_t size)
{
  void *copy;
  struct snap snap;
  int r = header_decode_snap(reader_of(data, size, &copy), &snap);
  CHECK(r == 0 || r == -EBADMSG);
  if (r == 0) {
    CHECK(snap.name && strlen(snap.name) <= size && snap.kind <= SNAP_KIND_OTHER);
    free(snap.name);
  }
  free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  if (data[0] % 2 == 0)
    try_header(data + 1, size - 1);
  else
    try_snap(data + 1, size - 1);
  return 0;
}
