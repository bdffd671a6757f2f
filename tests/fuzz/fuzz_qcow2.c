/* SPDX-License-Identifier: Apache-2.0 */
/* A qcow2 file, read anywhere and read once, by one process after the other, and with a window so
 * small that it ends in a spool: the same disk comes out, or all refuse it.
 *
 * A disk is compared by a sum over its blocks, so it may be as large as it likes. Compressed
 * clusters are compared by their place, and by their content where all can decode them: one whose
 * last bytes are another's too may fail where these bytes have been given away. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_cluster.h"
#include "populator/format/qcow2_map.h"
#include "populator/format/qcow2_spool.h"
#include "tests/format/memory_stream.h"
#include "tests/fuzz/fuzz.h"

#define BLOCK 512
#define WINDOW ((size_t)16 << 20)
#define SPOOL_MAX ((size_t)16 << 20)
/* Clusters that are decoded for each way of reading; large ones take long. */
#define DECODED_MAX 32
#define DECODED_CLUSTER_MAX 65536

struct decoded {
  uint64_t virtual_offset, sum;
};

struct disk {
  bool is_sound;
  bool is_out_of_order; /* refused for its order, not for what it is */
  uint64_t virtual_size;
  uint64_t sum; /* of all blocks, in any order */
  struct decoded decoded[DECODED_MAX];
  size_t decoded_count;
};

static uint64_t
mix(uint64_t x)
{
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15;
  return x ^ x >> 29;
}

static uint64_t
sum_of(uint64_t offset, const unsigned char *bytes, size_t len)
{
  uint64_t sum = mix(offset + 1);
  for (size_t i = 0; i < len; i++)
    sum = mix(sum + bytes[i]);
  return sum;
}

static void
take_data(struct disk *disk, const struct qcow2_extent *extent, const unsigned char *bytes)
{
  CHECK(extent->host_length == extent->length);
  for (uint64_t at = 0; at < extent->length; at += BLOCK) {
    uint64_t len = extent->length - at < BLOCK ? extent->length - at : BLOCK;
    disk->sum += sum_of(extent->virtual_offset + at, bytes + at, len);
  }
}

static void
take_compressed(struct disk *disk, const struct qcow2_header *header,
                const struct qcow2_extent *extent, const unsigned char *bytes)
{
  disk->sum += mix(extent->virtual_offset ^ mix(extent->host_offset));
  if (disk->decoded_count == DECODED_MAX || header->cluster_size > DECODED_CLUSTER_MAX)
    return;
  CLEANUP(qcow2_cluster_decoder_freep)
  struct qcow2_cluster_decoder *decoder =
      qcow2_cluster_decoder_new(header->compression, header->cluster_size);
  CLEANUP(freep) unsigned char *content = xcalloc(1, extent->length);
  if (qcow2_cluster_decode(decoder, bytes, extent->host_length, content, extent->length, NULL) < 0)
    return;
  disk->decoded[disk->decoded_count++] = (struct decoded){
      .virtual_offset = extent->virtual_offset, .sum = sum_of(0, content, extent->length)};
}

static void
take_extent(struct disk *disk, const struct qcow2_header *header, const struct qcow2_extent *extent,
            const void *bytes)
{
  CHECK(extent->length > 0 && extent->host_length > 0);
  CHECK(extent->virtual_offset < header->virtual_size);
  CHECK(extent->length <= header->virtual_size - extent->virtual_offset);
  if (!extent->is_compressed)
    take_data(disk, extent, bytes);
  else
    take_compressed(disk, header, extent, bytes);
}

/* ---- read anywhere -----------------------------------------------------------------------------
 */

struct bytes {
  const uint8_t *data;
  size_t size;
};

static int
read_at(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  const struct bytes *bytes = context;
  (void)err;
  CHECK(offset <= bytes->size && len <= bytes->size - offset);
  memcpy(buf, bytes->data + offset, len);
  return 0;
}

static void
read_map(const uint8_t *data, size_t size, uint64_t chunk, struct disk *disk)
{
  struct bytes bytes = {.data = data, .size = size};
  struct qcow2_file file = {.read_at = read_at, .context = &bytes, .size = size};
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  if (qcow2_map_open(&file, 1, &map, &err) < 0) {
    CHECK(err->code == ERROR_DATA_LOSS || err->code == ERROR_INVALID_ARGUMENT);
    return;
  }
  struct qcow2_extents extents = {0};
  const struct qcow2_header *header = qcow2_map_header(map);
  for (uint64_t at = 0; at < size; at += chunk) {
    CHECK(qcow2_map_chunk(map, at, at + chunk, &extents, NULL) == 0);
    for (size_t i = 0; i < extents.count; i++) {
      const struct qcow2_extent *extent = &extents.items[i];
      CHECK(extent->host_offset >= at);
      CHECK(extent->host_offset - at < chunk || header->cluster_size > chunk);
      CHECK(i == 0 || extent->host_offset > extents.items[i - 1].host_offset);
      CHECK(extent->host_length <= size - extent->host_offset);
      take_extent(disk, header, extent, data + extent->host_offset);
    }
  }
  qcow2_extents_clear(&extents);
  disk->is_sound = true;
  disk->virtual_size = header->virtual_size;
}

/* ---- read once ---------------------------------------------------------------------------------
 */

static struct qcow2_stream *
restart(struct qcow2_stream *stream, const uint8_t *data, size_t size, size_t window)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  size_t used;
  CHECK(qcow2_stream_save(stream, &state, NULL) == 0);
  size_t position = memory_stream_position(qcow2_stream_below(stream));
  CHECK(position == qcow2_stream_position(stream));
  qcow2_stream_close(stream);
  CHECK(qcow2_stream_restore(memory_stream_new(data, size, position, 1000), window, state.data,
                             state.len, &used, &stream, NULL) == 0);
  CHECK(used == state.len);
  return stream;
}

static int
write_spool(void *context, const void *data, size_t len, uint64_t offset, struct error **err)
{
  struct buffer *spool = context;
  if (offset > SPOOL_MAX || len > SPOOL_MAX - offset)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "too large");
  if (spool->len < offset + len) {
    size_t more = offset + len - spool->len;
    CLEANUP(freep) char *zeros = xcalloc(1, more);
    (void)buffer_append(spool, zeros, more);
  }
  memcpy(spool->data + offset, data, len);
  return 0;
}

static void
read_spool(struct qcow2_stream *stream, struct disk *disk)
{
  CLEANUP(buffer_clear) struct buffer bytes = {0};
  struct qcow2_spool spool = {.write_at = write_spool, .context = &bytes};
  uint64_t offset;
  char part[4096];
  ssize_t n;
  CHECK(qcow2_spool_write(stream, &spool, &offset, NULL) == 0);
  while ((n = stream_read(qcow2_stream_below(stream), part, sizeof(part), NULL)) > 0) {
    CHECK(write_spool(&bytes, part, (size_t)n, offset, NULL) == 0);
    offset += (uint64_t)n;
  }
  CHECK(bytes.len == offset);
  read_map((const uint8_t *)bytes.data, bytes.len, UINT64_MAX, disk);
}

static void
read_stream(const uint8_t *data, size_t size, size_t window, size_t restart_every,
            struct disk *disk)
{
  static char buf[QCOW2_STREAM_BUFFER_MIN];
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_extent extent;
  if (qcow2_stream_open(memory_stream_new(data, size, 0, 1000), window, &stream, &err) < 0)
    return;
  int r;
  size_t count = 0;
  while ((r = qcow2_stream_next(stream, buf, sizeof(buf), &extent, &err)) == QCOW2_STREAM_EXTENT) {
    take_extent(disk, qcow2_stream_header(stream), &extent, buf);
    if (restart_every > 0 && ++count % restart_every == 0)
      stream = restart(TAKE(stream), data, size, window);
  }
  if (r < 0) {
    CHECK(err->code == ERROR_DATA_LOSS);
    disk->is_out_of_order = strstr(err->message, "too far behind") != NULL;
    return;
  }
  if (r == QCOW2_STREAM_FULL) {
    read_spool(stream, disk);
    return;
  }
  CHECK(qcow2_stream_position(stream) == size);
  disk->is_sound = true;
  disk->virtual_size = qcow2_stream_header(stream)->virtual_size;
}

static void
check_same(const struct disk *a, const struct disk *b)
{
  if (b->is_out_of_order)
    return;
  CHECK(a->is_sound == b->is_sound);
  if (!a->is_sound)
    return;
  CHECK(a->virtual_size == b->virtual_size);
  CHECK(a->sum == b->sum);
  for (size_t i = 0; i < a->decoded_count; i++) {
    for (size_t j = 0; j < b->decoded_count; j++)
      CHECK(a->decoded[i].virtual_offset != b->decoded[j].virtual_offset ||
            a->decoded[i].sum == b->decoded[j].sum);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct disk mapped = {0}, chunked = {0}, streamed = {0}, restarted = {0}, spooled = {0};
  read_map(data, size, UINT64_MAX, &mapped);
  read_map(data, size, 4096, &chunked);
  read_stream(data, size, WINDOW, 0, &streamed);
  check_same(&mapped, &chunked);
  check_same(&mapped, &streamed);
  if (!mapped.is_sound)
    return 0;
  read_stream(data, size, WINDOW, 3, &restarted);
  read_stream(data, size, 600, 5, &spooled);
  check_same(&mapped, &restarted);
  check_same(&mapped, &spooled);
  return 0;
}
