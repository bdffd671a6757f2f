/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_stream.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_cluster.h"
#include "populator/format/qcow2_map.h"
#include "populator/format/qcow2_spool.h"
#include "tests/format/memory_stream.h"
#include "tests/format/pack.h"
#include "tests/format/qcow2_image.h"
#include "tests/unit/unit.h"

#define CLUSTER ((size_t)512)
#define CLUSTERS 200 /* of the disk: four tables, the last in part */
#define DISK (CLUSTERS * CLUSTER)
#define WINDOW ((size_t)1 << 20)

static char disk[DISK], made[DISK], buf[QCOW2_STREAM_BUFFER_MIN];

/* In which order an image is written: each letter adds something.
 *   0-3  the L2 table of that index
 *   a-d  plain clusters of that table's part of the disk, whatever is left of them
 *   A-D  compressed clusters, likewise
 *   g    garbage that belongs to nobody
 *   G    so much of it that its state is not worth saving
 *   s    the next cluster alone of part a
 *   L    the L1 table moves here
 *   R    the refcount table moves here, and names a block of its own */
struct making {
  struct qcow2_image image;
  uint64_t entries[CLUSTERS];
  bool is_placed[CLUSTERS];
  uint64_t tables[4];
};

static void
place_plain(struct making *making, uint64_t cluster)
{
  making->entries[cluster] =
      qcow2_image_append(&making->image, disk + cluster * CLUSTER, CLUSTER) | QCOW2_IMAGE_COPIED;
  making->is_placed[cluster] = true;
}

static void
place_part(struct making *making, unsigned part, bool is_compressed, uint64_t most)
{
  CLEANUP(buffer_clear) struct buffer packed = {0};
  size_t offsets[64], lens[64], count = 0;
  uint64_t first = (uint64_t)part * 64;
  for (uint64_t i = first; i < first + 64 && i < CLUSTERS && most > 0; i++) {
    if (making->is_placed[i])
      continue;
    most--;
    if (!is_compressed) {
      place_plain(making, i);
      continue;
    }
    offsets[count] = packed.len;
    memset(disk + i * CLUSTER + 100, (int)i, CLUSTER - 100); /* so that it gets smaller */
    pack_deflate(&packed, disk + i * CLUSTER, CLUSTER, PACK_DYNAMIC);
    lens[count] = packed.len - offsets[count];
    count++;
  }
  if (!is_compressed)
    return;
  uint64_t start = qcow2_image_append(&making->image, packed.data, packed.len);
  size_t at = 0;
  for (uint64_t i = first; i < first + 64 && i < CLUSTERS && at < count; i++) {
    if (making->is_placed[i])
      continue;
    making->entries[i] =
        qcow2_image_compressed_entry(&making->image, start + offsets[at], lens[at]);
    making->is_placed[i] = true;
    at++;
  }
}

static void
move_l1(struct making *making)
{
  char table[CLUSTER] = {0};
  struct qcow2_image *image = &making->image;
  memcpy(table, image->bytes.data + image->l1_offset, 32);
  image->l1_offset = qcow2_image_append(image, table, 32);
  qcow2_image_put64(image, QCOW2_AT_L1_OFFSET, image->l1_offset);
}

static void
move_refcounts(struct making *making)
{
  char empty[CLUSTER] = {0};
  uint64_t table = qcow2_image_append(&making->image, empty, CLUSTER);
  uint64_t block = qcow2_image_append(&making->image, empty, CLUSTER);
  qcow2_image_put64(&making->image, table, block);
  qcow2_image_put64(&making->image, QCOW2_AT_REFCOUNT_TABLE, table);
}

static void
add_much_garbage(struct making *making)
{
  CLEANUP(freep) char *garbage = xcalloc(1, QCOW2_STREAM_SAVED_MAX + CLUSTER);
  memset(garbage, 'G', QCOW2_STREAM_SAVED_MAX + CLUSTER);
  (void)qcow2_image_append(&making->image, garbage, QCOW2_STREAM_SAVED_MAX + CLUSTER);
}

static void
make(struct making *making, const char *order)
{
  char garbage[CLUSTER];
  memset(garbage, 'g', sizeof(garbage));
  *making = (struct making){0};
  pack_fill(disk, sizeof(disk), 1);
  qcow2_image_init(&making->image, 3, 9, DISK - 100, false);
  for (const char *c = order; *c; c++) {
    if (*c >= '0' && *c <= '3')
      making->tables[*c - '0'] = qcow2_image_add_table(&making->image, (uint64_t)(*c - '0'));
    else if (*c >= 'a' && *c <= 'd')
      place_part(making, (unsigned)(*c - 'a'), false, UINT64_MAX);
    else if (*c >= 'A' && *c <= 'D')
      place_part(making, (unsigned)(*c - 'A'), true, UINT64_MAX);
    else if (*c == 'g')
      (void)qcow2_image_append(&making->image, garbage, sizeof(garbage));
    else if (*c == 'G')
      add_much_garbage(making);
    else if (*c == 's')
      place_part(making, 0, false, 1);
    else if (*c == 'L')
      move_l1(making);
    else
      move_refcounts(making);
  }
  for (uint64_t i = 0; i < CLUSTERS; i++) {
    if (making->is_placed[i])
      qcow2_image_map(&making->image, i, making->entries[i]);
    else
      memset(disk + i * CLUSTER, 0, CLUSTER);
  }
}

static void
making_clear(struct making *making)
{
  qcow2_image_clear(&making->image);
}

/* ---- reading it --------------------------------------------------------------------------------
 */

static int
put(const struct qcow2_header *header, const struct qcow2_extent *extent, struct error **err)
{
  if (extent->virtual_offset + extent->length > header->virtual_size)
    return error_set(err, ERROR_INTERNAL, "beyond the disk");
  if (!extent->is_compressed) {
    memcpy(made + extent->virtual_offset, buf, extent->length);
    return 0;
  }
  CLEANUP(qcow2_cluster_decoder_freep)
  struct qcow2_cluster_decoder *decoder =
      qcow2_cluster_decoder_new(header->compression, header->cluster_size);
  return qcow2_cluster_decode(decoder, buf, extent->host_length, made + extent->virtual_offset,
                              extent->length, err);
}

struct reading {
  const struct qcow2_image *image;
  size_t window, piece;
  size_t restart_every; /* extents; 0: never */
};

static int
restart(const struct reading *reading, struct qcow2_stream **stream, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  size_t used = 0;
  if (qcow2_stream_save(*stream, &state, err) < 0)
    return -1;
  size_t position = memory_stream_position(qcow2_stream_below(*stream));
  CHECK_NUMBER(qcow2_stream_position(*stream), position);
  qcow2_stream_close(TAKE(*stream));
  struct stream *below = memory_stream_new(reading->image->bytes.data, reading->image->bytes.len,
                                           position, reading->piece);
  int r = qcow2_stream_restore(below, reading->window, state.data, state.len, &used, stream, err);
  if (r == 0)
    CHECK_NUMBER(used, state.len);
  return r;
}

static int
read_stream(const struct reading *reading, struct qcow2_stream **stream, struct error **err)
{
  struct qcow2_extent extent;
  int r;
  memset(made, 0, sizeof(made));
  struct stream *below =
      memory_stream_new(reading->image->bytes.data, reading->image->bytes.len, 0, reading->piece);
  if (qcow2_stream_open(below, reading->window, stream, err) < 0)
    return -1;
  for (size_t count = 1;
       (r = qcow2_stream_next(*stream, buf, sizeof(buf), &extent, err)) == QCOW2_STREAM_EXTENT;
       count++) {
    if (put(qcow2_stream_header(*stream), &extent, err) < 0)
      return -1;
    if (reading->restart_every > 0 && count % reading->restart_every == 0 &&
        restart(reading, stream, err) < 0)
      return -1;
  }
  return r;
}

static void
check_disk(const char *what)
{
  CHECK_ROW(memcmp(made, disk, DISK - 100) == 0, what);
}

static const char *const orders[] = {
    "0a1b2c3d",                            /* as qemu-img writes it */
    "0123abcd",                            /* tables first */
    "0A1B2C3D",                            /* compressed */
    "0123ABCD",   "3210dcba",  "A0B1C2D3", /* tables behind what they map */
    "abcd0123",                            /* tables last */
    "ABCD3210",   "0sgsgsa1b", "ggsgs0gga",
    "0a3d",       "L0a1b2c3d", "0a1b2c3dL", /* the L1 table last: everything waits */
    "A0b1C2d3LR", "R0a1b2c3d", "0A1B2C3DR",
    "0a1bR2C3d",  "0123",      "",
};

static void
test_files_in_any_order_are_read(void)
{
  for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
    static const struct reading ways[] = {
        {.window = WINDOW},
        {.window = WINDOW, .piece = 100},
        {.window = WINDOW, .restart_every = 1},
        {.window = WINDOW, .restart_every = 7, .piece = 333},
    };
    for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++) {
      CLEANUP(making_clear) struct making making;
      CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
      CLEANUP(error_freep) struct error *err = NULL;
      make(&making, orders[i]);
      struct reading reading = ways[j];
      reading.image = &making.image;
      CHECK_ROW(read_stream(&reading, &stream, &err) == QCOW2_STREAM_END, orders[i]);
      CHECK_ROW(!err, err ? err->message : "");
      check_disk(orders[i]);
      CHECK_NUMBER(qcow2_stream_position(stream), making.image.bytes.len);
    }
  }
}

static void
test_the_map_finds_the_same(void)
{
  for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
    CLEANUP(making_clear) struct making making;
    CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
    struct qcow2_extents extents = {0};
    make(&making, orders[i]);
    struct qcow2_file file = qcow2_image_file(&making.image);
    REQUIRE(qcow2_map_open(&file, 1, &map, NULL) == 0);
    REQUIRE(qcow2_map_chunk(map, 0, UINT64_MAX, &extents, NULL) == 0);
    memset(made, 0, sizeof(made));
    for (size_t j = 0; j < extents.count; j++) {
      memcpy(buf, making.image.bytes.data + extents.items[j].host_offset,
             extents.items[j].host_length);
      CHECK_NUMBER(put(qcow2_map_header(map), &extents.items[j], NULL), 0);
    }
    qcow2_extents_clear(&extents);
    check_disk(orders[i]);
  }
}

/* ---- the spool ---------------------------------------------------------------------------------
 */

static int
write_spool(void *context, const void *data, size_t len, uint64_t offset, struct error **err)
{
  struct buffer *spool = context;
  (void)err;
  while (spool->len < offset + len)
    (void)buffer_append(spool, "", 1);
  memcpy(spool->data + offset, data, len);
  return 0;
}

/* What the stream has not given comes from the spool. */
static void
read_rest(struct qcow2_stream *stream, const char *what)
{
  CLEANUP(buffer_clear) struct buffer bytes = {0};
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_spool spool = {.write_at = write_spool, .context = &bytes};
  uint64_t offset = 0, again = 0;
  char part[1000];
  CHECK_ROW(qcow2_spool_write(stream, &spool, &offset, &err) == 0, what);
  CHECK_ROW(qcow2_spool_write(stream, &spool, &again, &err) == 0, what); /* may be repeated */
  CHECK_NUMBER(again, offset);
  ssize_t n;
  while ((n = stream_read(qcow2_stream_below(stream), part, sizeof(part), &err)) > 0) {
    REQUIRE(write_spool(&bytes, part, (size_t)n, offset, &err) == 0);
    offset += (uint64_t)n;
  }
  struct qcow2_image image = {.bytes = bytes};
  struct qcow2_file file = qcow2_image_file(&image);
  CHECK_ROW(qcow2_map_open(&file, 1, &map, &err) == 0, what);
  CHECK_ROW(!err, err ? err->message : "");
  REQUIRE(map != NULL);
  struct qcow2_extents extents = {0};
  REQUIRE(qcow2_map_chunk(map, 0, UINT64_MAX, &extents, NULL) == 0);
  for (size_t i = 0; i < extents.count; i++) {
    memcpy(buf, bytes.data + extents.items[i].host_offset, extents.items[i].host_length);
    CHECK_NUMBER(put(qcow2_map_header(map), &extents.items[i], &err), 0);
  }
  qcow2_extents_clear(&extents);
}

static void
test_a_full_window_leads_to_the_spool(void)
{
  unsigned full = 0;
  for (size_t window = 0; window < 30000; window = 2 * window + 300) {
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
      CLEANUP(making_clear) struct making making;
      CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
      CLEANUP(error_freep) struct error *err = NULL;
      make(&making, orders[i]);
      struct reading reading = {.image = &making.image, .window = window, .restart_every = i % 3};
      int r = read_stream(&reading, &stream, &err);
      CHECK_ROW(!err, err ? err->message : "");
      if (r == QCOW2_STREAM_FULL) {
        full++;
        struct qcow2_extent extent; /* and it stays full */
        CHECK_NUMBER(qcow2_stream_next(stream, buf, sizeof(buf), &extent, &err), QCOW2_STREAM_FULL);
        if (i % 2)
          CHECK_NUMBER(restart(&reading, &stream, &err), 0);
        read_rest(stream, orders[i]);
      } else {
        CHECK_NUMBER(r, QCOW2_STREAM_END);
      }
      check_disk(orders[i]);
    }
  }
  CU_ASSERT(full > 50);
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void
test_a_truncated_file_is_refused(void)
{
  static const char *const cut[] = {"0a1b2c3d", "0A1B2C3D", "abcd0123", "0a1b2c3dL"};
  for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
    CLEANUP(making_clear) struct making making;
    make(&making, cut[i]);
    size_t whole = making.image.bytes.len;
    for (size_t len = 0; len + CLUSTER <= whole; len += len < 4096 ? 61 : 397) {
      CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
      CLEANUP(error_freep) struct error *err = NULL;
      making.image.bytes.len = len;
      struct reading reading = {.image = &making.image, .window = WINDOW};
      CHECK_ROW(read_stream(&reading, &stream, &err) == -1, cut[i]);
      CU_ASSERT(err && err->code == ERROR_DATA_LOSS);
    }
    making.image.bytes.len = whole;
  }
}

static void
test_overlaps_are_refused(void)
{
  static const struct {
    const char *order;
    uint64_t cluster, other; /* the entry of one becomes that of the other */
  } rows[] = {
      {"0a1b2c3d", 5, 6},  {"0123abcd", 5, 100}, {"0A1B2C3D", 5, 6},  {"0A1B2C3D", 70, 3},
      {"0A1B2C3D", 3, 70}, {"abcd0123", 5, 6},   {"ABCD0123", 5, 70}, {"0a1b2c3d", 190, 2},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(making_clear) struct making making;
    CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
    CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    make(&making, rows[i].order);
    qcow2_image_map(&making.image, rows[i].cluster, making.entries[rows[i].other]);
    struct reading reading = {.image = &making.image, .window = WINDOW};
    CHECK_ROW(read_stream(&reading, &stream, &err) == -1, rows[i].order);
    CU_ASSERT(err && err->code == ERROR_DATA_LOSS);
    struct qcow2_file file = qcow2_image_file(&making.image);
    CHECK_ROW(qcow2_map_open(&file, 1, &map, NULL) == -1, rows[i].order);
  }
}

static void
test_clusters_on_tables_are_refused(void)
{
  static const char *const all[] = {"0a1b2c3d", "abcd0123", "0a1b2c3dL", "0A1B2C3DR"};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    CLEANUP(making_clear) struct making making;
    make(&making, all[i]);
    uint64_t refcount_table = qcow2_image_get64(&making.image, QCOW2_AT_REFCOUNT_TABLE);
    const uint64_t places[] = {0,
                               refcount_table,
                               qcow2_image_get64(&making.image, refcount_table),
                               making.image.l1_offset,
                               making.tables[0],
                               making.tables[3]};
    for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
      CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
      CLEANUP(error_freep) struct error *err = NULL;
      if (places[j] == 0)
        continue; /* as an entry that is no place at all */
      qcow2_image_map(&making.image, 9, places[j]);
      struct reading reading = {.image = &making.image, .window = WINDOW};
      CHECK_ROW(read_stream(&reading, &stream, &err) == -1, all[i]);
      CHECK_ERROR(&err, ERROR_DATA_LOSS, "overlaps");
    }
  }
}

static void
test_errors_below_are_passed_on(void)
{
  CLEANUP(making_clear) struct making making;
  make(&making, "0a1b2C3D");
  for (size_t at = 0; at < making.image.bytes.len; at += 5000) {
    CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *below =
        memory_stream_new(making.image.bytes.data, making.image.bytes.len, 0, 1000);
    struct qcow2_extent extent;
    memory_stream_fail_at(below, at);
    int r = qcow2_stream_open(below, WINDOW, &stream, &err);
    while (r == 0 && (r = qcow2_stream_next(stream, buf, sizeof(buf), &extent, &err)) > 0)
      r = 0;
    CHECK_NUMBER(r, -1);
    CHECK_ERROR(&err, ERROR_UNAVAILABLE, "connection lost");
  }
}

static void
test_a_damaged_state_is_refused(void)
{
  CLEANUP(making_clear) struct making making;
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  struct qcow2_extent extent;
  make(&making, "0A1b");
  REQUIRE(
      qcow2_stream_open(memory_stream_new(making.image.bytes.data, making.image.bytes.len, 0, 0),
                        WINDOW, &stream, NULL) == 0);
  for (unsigned i = 0; i < 5; i++)
    REQUIRE(qcow2_stream_next(stream, buf, sizeof(buf), &extent, NULL) == QCOW2_STREAM_EXTENT);
  REQUIRE(qcow2_stream_save(stream, &state, NULL) == 0);
  for (size_t len = 0; len < state.len; len += 1 + len / 10) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct qcow2_stream *restored = NULL;
    size_t used;
    CHECK_NUMBER(qcow2_stream_restore(memory_stream_new("", 0, 0, 0), WINDOW, state.data, len,
                                      &used, &restored, &err),
                 -1);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "saved state");
  }
}

static void
test_a_state_with_much_in_it_is_not_saved(void)
{
  CLEANUP(making_clear) struct making making;
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_extent extent;
  make(&making, "0Gs1b");
  memset(made, 0, sizeof(made));
  REQUIRE(
      qcow2_stream_open(memory_stream_new(making.image.bytes.data, making.image.bytes.len, 0, 0),
                        QCOW2_STREAM_WINDOW, &stream, NULL) == 0);
  int r = qcow2_stream_next(stream, buf, sizeof(buf), &extent, NULL);
  CHECK_NUMBER(qcow2_stream_save(stream, &state, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "held");
  CHECK_NUMBER(state.len, 0);
  /* It goes on as if nobody had asked, and can be saved once it holds less. */
  while (r == QCOW2_STREAM_EXTENT && put(qcow2_stream_header(stream), &extent, NULL) == 0)
    r = qcow2_stream_next(stream, buf, sizeof(buf), &extent, NULL);
  CHECK_NUMBER(r, QCOW2_STREAM_END);
  check_disk("0Gs1b");
  CHECK_NUMBER(qcow2_stream_save(stream, &state, NULL), 0);
}

UNIT_MAIN("populator/format/qcow2_stream", UNIT_TEST(test_files_in_any_order_are_read),
          UNIT_TEST(test_the_map_finds_the_same), UNIT_TEST(test_a_full_window_leads_to_the_spool),
          UNIT_TEST(test_a_truncated_file_is_refused), UNIT_TEST(test_overlaps_are_refused),
          UNIT_TEST(test_clusters_on_tables_are_refused),
          UNIT_TEST(test_errors_below_are_passed_on), UNIT_TEST(test_a_damaged_state_is_refused),
          UNIT_TEST(test_a_state_with_much_in_it_is_not_saved))
