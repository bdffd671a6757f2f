/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/format/qcow2_image.h"
#include "tests/unit/unit.h"

#define CLUSTER ((size_t)512)
#define TABLE_CLUSTERS ((uint64_t)64) /* that a table of such clusters maps */

static int
open_map(const struct qcow2_image *image, unsigned threads, struct qcow2_map **map,
         struct error **err)
{
  struct qcow2_file file = qcow2_image_file(image);
  return qcow2_map_open(&file, threads, map, err);
}

/* A small image: one table, data at clusters 0, 1 and 5 of the disk, zeros at 7. */
static void
make_small(struct qcow2_image *image)
{
  char data[3 * CLUSTER];
  memset(data, 'x', sizeof(data));
  qcow2_image_init(image, 3, 9, 100 * CLUSTER, false);
  (void)qcow2_image_add_table(image, 0);
  uint64_t offset = qcow2_image_append(image, data, sizeof(data));
  qcow2_image_map(image, 0, offset | QCOW2_IMAGE_COPIED);
  qcow2_image_map(image, 1, (offset + CLUSTER) | QCOW2_IMAGE_COPIED);
  qcow2_image_map(image, 5, (offset + 2 * CLUSTER) | QCOW2_IMAGE_COPIED);
  qcow2_image_map(image, 7, 1);
}

static void
test_a_small_image_is_mapped(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  struct qcow2_extents extents = {0};
  make_small(&image);
  REQUIRE(open_map(&image, 1, &map, NULL) == 0);
  CHECK_NUMBER(qcow2_map_header(map)->virtual_size, 100 * CLUSTER);
  CHECK_NUMBER(qcow2_map_allocated(map), 3 * CLUSTER);
  REQUIRE(qcow2_map_chunk(map, 0, image.bytes.len, &extents, NULL) == 0);
  REQUIRE(extents.count == 2);
  CHECK_NUMBER(extents.items[0].virtual_offset, 0);
  CHECK_NUMBER(extents.items[0].length, 2 * CLUSTER);
  CHECK_NUMBER(extents.items[1].virtual_offset, 5 * CLUSTER);
  REQUIRE(qcow2_map_chunk(map, 0, CLUSTER, &extents, NULL) == 0);
  CHECK_NUMBER(extents.count, 0);
  qcow2_extents_clear(&extents);
}

static void
test_what_is_damaged_is_refused(void)
{
  enum { AT_L1 = 0x600, AT_REFCOUNT_TABLE = 0x200, AT_L2 = 0x800 };
  static const struct {
    size_t at;
    uint64_t value;
    const char *text;
  } rows[] = {
      {AT_L1, 0x100000, "an L2 table at 0x100000 lies outside"},
      {AT_L1, 0x1000, "lies outside"}, /* only just */
      {AT_L1, 0xa01, "reserved bits"},
      {AT_L1, 512, "an L2 table at 0x200 overlaps the refcount table"},
      {AT_L1, 0x400, "overlaps"}, /* a refcount block */
      {AT_L1, 0x600, "overlaps the L1 table"},
      {AT_L1 + 8, 0x800, "an L2 table at 0x800 overlaps an L2 table"},
      {AT_REFCOUNT_TABLE, 0x100000, "a refcount block at 0x100000 lies outside"},
      {AT_REFCOUNT_TABLE, 0x401, "reserved bits"},
      {AT_REFCOUNT_TABLE, 0x800, "overlaps"},
      {AT_REFCOUNT_TABLE, 0, NULL}, /* there need not be one */
      {AT_REFCOUNT_TABLE, 0xa00, "a data cluster at 0xa00 overlaps a refcount block"},
      {AT_L2, 0x100000, "a data cluster at 0x100000 lies outside"},
      {AT_L2, 0xc02, "reserved bits"},
      {AT_L2, 0, NULL},
      {AT_L2, 0x800, "overlaps an L2 table"},
      {AT_L2 + 16, 512, "overlaps the refcount table"},
      {AT_L2 + 16, 0xc00, "share"},
      {AT_L2 + 16, QCOW2_IMAGE_COMPRESSED | 0x100000, "a compressed cluster at 0x100000 lies"},
      {AT_L2 + 16, QCOW2_IMAGE_COMPRESSED | 0x810, "a compressed cluster at 0x810 overlaps"},
      {AT_L2 + 16, QCOW2_IMAGE_COMPRESSED | 0xc10, "share"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(qcow2_image_clear) struct qcow2_image image;
    CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    make_small(&image);
    REQUIRE(qcow2_image_entry(&image, 0) == AT_L2);
    qcow2_image_put64(&image, rows[i].at, rows[i].value);
    int r = open_map(&image, 1 + i % 2, &map, &err);
    CHECK_NUMBER(r, rows[i].text ? -1 : 0);
    if (rows[i].text)
      CHECK_ERROR(&err, ERROR_DATA_LOSS, rows[i].text);
  }
}

static void
test_a_dirty_image_is_read_whatever_its_refcounts_say(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  make_small(&image);
  qcow2_image_put64(&image, 512, 0x123456789);
  CU_ASSERT(open_map(&image, 1, &map, NULL) == -1);
  qcow2_image_put64(&image, QCOW2_AT_INCOMPATIBLE, 1);
  CHECK_NUMBER(open_map(&image, 1, &map, NULL), 0);
}

static void
test_a_truncated_file_is_refused(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  make_small(&image);
  for (size_t len = image.bytes.len; len-- > 0;) {
    CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    image.bytes.len = len;
    CHECK_NUMBER(open_map(&image, 1, &map, &err), -1);
    CU_ASSERT(err && err->code == ERROR_DATA_LOSS);
  }
}

/* ---- many runs ---------------------------------------------------------------------------------
 */

/* Every cluster of the disk is compressed, one byte behind the one before: more runs than a window
 * takes, in a file of some MiB. Nobody decodes them. */
static void
make_crowded(struct qcow2_image *image, uint64_t clusters, uint64_t *ret_data)
{
  uint64_t tables = (clusters + TABLE_CLUSTERS - 1) / TABLE_CLUSTERS;
  qcow2_image_init(image, 3, 9, clusters * CLUSTER, false);
  for (uint64_t i = 0; i < tables; i++)
    (void)qcow2_image_add_table(image, i);
  CLEANUP(freep) char *zeros = xcalloc(1, clusters);
  uint64_t data = qcow2_image_append(image, zeros, clusters);
  for (uint64_t i = 0; i < clusters; i++) {
    /* neighbours on the disk lie far apart in the file */
    uint64_t place = (i % TABLE_CLUSTERS) * tables + i / TABLE_CLUSTERS;
    qcow2_image_map(image, i, qcow2_image_compressed_entry(image, data + place, 1));
  }
  *ret_data = data;
}

struct asking {
  struct qcow2_map *map;
  uint64_t first, end;
  uint64_t clusters, tables, data;
  size_t found, wrong;
};

static void *
ask(void *arg)
{
  struct asking *asking = arg;
  struct qcow2_extents extents = {0};
  for (uint64_t at = asking->first; at < asking->end; at += 8192) {
    if (qcow2_map_chunk(asking->map, at, at + 8192, &extents, NULL) < 0)
      asking->wrong++;
    for (size_t i = 0; i < extents.count; i++) {
      const struct qcow2_extent *extent = &extents.items[i];
      uint64_t cluster = extent->virtual_offset / CLUSTER;
      uint64_t place = (cluster % TABLE_CLUSTERS) * asking->tables + cluster / TABLE_CLUSTERS;
      asking->wrong += extent->host_offset != asking->data + place || extent->host_offset < at ||
                       extent->host_offset >= at + 8192 ||
                       (i > 0 && extents.items[i - 1].host_offset + 1 != extent->host_offset);
    }
    asking->found += extents.count;
  }
  qcow2_extents_clear(&extents);
  return NULL;
}

static void
test_more_runs_than_fit_are_mapped_by_windows(void)
{
  const uint64_t tables = 3 * QCOW2_MAP_RUNS / TABLE_CLUSTERS + 10;
  const uint64_t clusters = tables * TABLE_CLUSTERS;
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  uint64_t data;
  make_crowded(&image, clusters, &data);
  REQUIRE(open_map(&image, 3, &map, NULL) == 0);
  CHECK_NUMBER(qcow2_map_allocated(map), clusters * CLUSTER);
  struct asking all = {
      .map = map, .end = image.bytes.len, .clusters = clusters, .tables = tables, .data = data};
  (void)ask(&all);
  CHECK_NUMBER(all.found, clusters);
  CHECK_NUMBER(all.wrong, 0);
  struct asking halves[2] = {all, all};
  pthread_t threads[2];
  halves[0].found = halves[1].found = 0;
  halves[0].end = halves[1].first = image.bytes.len / 2 / 8192 * 8192;
  /* both at once, from the same windows to different ones */
  for (size_t i = 0; i < 2; i++)
    REQUIRE(pthread_create(&threads[i], NULL, ask, &halves[i]) == 0);
  for (size_t i = 0; i < 2; i++)
    (void)pthread_join(threads[i], NULL);
  CHECK_NUMBER(halves[0].found + halves[1].found, clusters);
  CHECK_NUMBER(halves[0].wrong + halves[1].wrong, 0);
}

/* All of them are the same byte: whatever the windows, one would have them all. */
static void
test_too_many_runs_in_one_place_are_refused(void)
{
  const uint64_t tables = 2 * QCOW2_MAP_RUNS / TABLE_CLUSTERS + 1;
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  qcow2_image_init(&image, 3, 9, tables * TABLE_CLUSTERS * CLUSTER, false);
  for (uint64_t i = 0; i < tables; i++)
    (void)qcow2_image_add_table(&image, i);
  uint64_t data = qcow2_image_append(&image, "x", 1);
  for (uint64_t i = 0; i < tables * TABLE_CLUSTERS; i++)
    qcow2_image_map(&image, i, qcow2_image_compressed_entry(&image, data, 1));
  CHECK_NUMBER(open_map(&image, 2, &map, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "too many clusters begin in one place");
}

/* ---- cost --------------------------------------------------------------------------------------
 */

struct counted {
  const struct qcow2_image *image;
  size_t reads, bytes;
};

static int
read_counted(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct counted *counted = context;
  counted->reads++;
  counted->bytes += len;
  struct qcow2_file file = qcow2_image_file(counted->image);
  return file.read_at(file.context, buf, len, offset, err);
}

static void
test_neighbouring_tables_are_read_together(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  qcow2_image_init(&image, 3, 9, 4096 * TABLE_CLUSTERS * CLUSTER, false);
  for (uint64_t i = 0; i < 4096; i++)
    (void)qcow2_image_add_table(&image, i);
  struct counted counted = {.image = &image};
  struct qcow2_file file = {.read_at = read_counted, .context = &counted, .size = image.bytes.len};
  REQUIRE(qcow2_map_open(&file, 1, &map, NULL) == 0);
  /* header, L1 table, refcount table, and 2 MiB of tables */
  CHECK_NUMBER(counted.reads, 3 + 2);
}

static void
test_a_huge_disk_costs_what_it_holds(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  qcow2_image_init(&image, 3, 16, (uint64_t)10 << 40, false);
  char data[100] = "data";
  for (uint64_t i = 0; i < 5; i++) {
    uint64_t l1_index = i * 4000;
    (void)qcow2_image_add_table(&image, l1_index);
    qcow2_image_map(&image, l1_index * 8192, qcow2_image_append(&image, data, sizeof(data)));
  }
  struct counted counted = {.image = &image};
  struct qcow2_file file = {.read_at = read_counted, .context = &counted, .size = image.bytes.len};
  REQUIRE(qcow2_map_open(&file, 1, &map, NULL) == 0);
  CHECK_NUMBER(counted.reads, 3 + 5);
  CU_ASSERT(counted.bytes < (1 << 20));
  CHECK_NUMBER(qcow2_map_allocated(map), 5 * 65536);
}

static int
read_nothing(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct counted *counted = context;
  if (counted->reads-- == 0)
    return error_set(err, ERROR_UNAVAILABLE, "connection lost");
  struct qcow2_file file = qcow2_image_file(counted->image);
  return file.read_at(file.context, buf, len, offset, err);
}

static void
test_errors_of_reading_are_passed_on(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  make_small(&image);
  for (size_t reads = 0; reads < 4; reads++) {
    CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
    CLEANUP(error_freep) struct error *err = NULL;
    struct counted counted = {.image = &image, .reads = reads};
    struct qcow2_file file = {
        .read_at = read_nothing, .context = &counted, .size = image.bytes.len};
    CHECK_NUMBER(qcow2_map_open(&file, 1, &map, &err), -1);
    CHECK_ERROR(&err, ERROR_UNAVAILABLE, "connection lost");
  }
}

static void
test_compressed_clusters_are_decoded(void)
{
  CLEANUP(qcow2_image_clear) struct qcow2_image image;
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  CLEANUP(buffer_clear) struct buffer packed = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  struct qcow2_extents extents = {0};
  char data[4096] = {0}, content[4096];
  memset(data, 'y', 2000);
  pack_deflate(&packed, data, sizeof(data), PACK_DYNAMIC);
  qcow2_image_init(&image, 2, 12, 6000, false);
  (void)qcow2_image_add_table(&image, 0);
  uint64_t offset = qcow2_image_append(&image, packed.data, packed.len);
  qcow2_image_map(&image, 1, qcow2_image_compressed_entry(&image, offset, packed.len));
  image.bytes.len = offset + packed.len; /* the last sector is not full */
  REQUIRE(open_map(&image, 1, &map, &err) == 0);
  REQUIRE(qcow2_map_chunk(map, 0, UINT64_MAX, &extents, &err) == 0);
  REQUIRE(extents.count == 1);
  CU_ASSERT(extents.items[0].is_compressed);
  CHECK_NUMBER(extents.items[0].length, 6000 - 4096);
  CHECK_NUMBER(extents.items[0].host_length, packed.len);
  size_t failed = 9;
  const struct qcow2_piece piece = {.bytes = image.bytes.data + offset,
                                    .bytes_len = extents.items[0].host_length,
                                    .content = content,
                                    .len = extents.items[0].length};
  CHECK_NUMBER(qcow2_map_decode(map, &piece, 1, &failed, &err), 0);
  CU_ASSERT(memcmp(content, data, 6000 - 4096) == 0);
  memset(image.bytes.data + offset, 0xff, packed.len);
  CHECK_NUMBER(qcow2_map_decode(map, &piece, 1, &failed, &err), -1);
  CHECK_NUMBER(failed, 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "a compressed cluster");
  qcow2_extents_clear(&extents);
}

UNIT_MAIN("populator/format/qcow2_map", UNIT_TEST(test_a_small_image_is_mapped),
          UNIT_TEST(test_what_is_damaged_is_refused),
          UNIT_TEST(test_a_dirty_image_is_read_whatever_its_refcounts_say),
          UNIT_TEST(test_a_truncated_file_is_refused),
          UNIT_TEST(test_more_runs_than_fit_are_mapped_by_windows),
          UNIT_TEST(test_too_many_runs_in_one_place_are_refused),
          UNIT_TEST(test_neighbouring_tables_are_read_together),
          UNIT_TEST(test_a_huge_disk_costs_what_it_holds),
          UNIT_TEST(test_errors_of_reading_are_passed_on),
          UNIT_TEST(test_compressed_clusters_are_decoded))
