/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the file: header, refcount table, refcount blocks, L1, L2 tables, data. The tables
 * are made on demand from a list of the allocated clusters with their places, 8 bytes each: 13 MiB
 * for 100 GiB of data. */
#include "populator/format/qcow2_writer.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_header.h"

#define CLUSTER QCOW2_WRITER_CLUSTER
#define L2_ENTRIES (CLUSTER / 8)    /* disk clusters that an L2 table maps */
#define BLOCK_ENTRIES (CLUSTER / 2) /* file clusters that a refcount block counts */
#define TABLE_ENTRIES                                                                              \
  (CLUSTER / 8) /* refcount blocks, or L2 tables, that a cluster of table names */
#define SECTOR 512
#define HEADER_LENGTH 112
#define INCOMPATIBLE_COMPRESSION (1ULL << 3)
#define ENTRY_COPIED (1ULL << 63)
#define ENTRY_COMPRESSED (1ULL << 62)
/* In a compressed entry: where the number of further sectors begins. */
#define SECTORS_SHIFT (62 - (QCOW2_WRITER_CLUSTER_BITS - 8))

/* A run of allocated clusters on the disk. */
struct run {
  uint64_t first; /* cluster of the disk */
  uint64_t count;
  uint64_t index; /* of its first among all allocated */
};

struct qcow2_writer {
  uint64_t virtual_size;
  enum qcow2_compression compression;
  struct run *runs;
  size_t run_count, run_room;
  uint64_t cluster_count;

  uint64_t l1_entries;
  uint64_t *l2_of_l1; /* number of the L2 table, or UINT64_MAX */
  uint64_t l2_count;
  uint64_t refcount_table, refcount_table_clusters;
  uint64_t refcount_blocks, refcount_block_count;
  uint64_t l1_table, l2_tables, data;

  uint64_t *entries;   /* the L2 entry of each allocated cluster, host order; 0: nothing */
  uint64_t placed;     /* how many have one */
  uint64_t end;        /* of the last placed, in bytes of the file */
  uint16_t *refcounts; /* of the file's clusters behind `data` */
  uint64_t refcount_room;
};

static uint64_t
div_up(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

struct qcow2_writer *
qcow2_writer_new(uint64_t virtual_size, enum qcow2_compression compression)
{
  struct qcow2_writer *writer = xcalloc(1, sizeof(*writer));
  /* Readers count in sectors, and round down. */
  writer->virtual_size = div_up(virtual_size, SECTOR) * SECTOR;
  writer->compression = compression;
  return writer;
}

void
qcow2_writer_free(struct qcow2_writer *writer)
{
  if (!writer)
    return;
  free(writer->runs);
  free(writer->l2_of_l1);
  free(writer->entries);
  free(writer->refcounts);
  free(writer);
}

static struct run *
new_run(struct qcow2_writer *writer)
{
  if (!writer->runs || writer->run_count == writer->run_room) {
    writer->run_room = writer->run_room ? 2 * writer->run_room : 64;
    writer->runs = xrealloc(writer->runs, writer->run_room, sizeof(writer->runs[0]));
  }
  return &writer->runs[writer->run_count++];
}

int
qcow2_writer_allocate(struct qcow2_writer *writer, uint64_t offset, uint64_t len,
                      struct error **err)
{
  if (len == 0)
    return 0;
  if (offset > writer->virtual_size || len > writer->virtual_size - offset)
    return error_set(err, ERROR_INVALID_ARGUMENT, "data lies beyond the end of the disk");
  uint64_t first = offset / CLUSTER;
  uint64_t end = div_up(offset + len, CLUSTER);
  struct run *last = writer->run_count > 0 ? writer->runs + writer->run_count - 1 : NULL;
  if (last && first < last->first + last->count)
    first = last->first + last->count; /* shares its first cluster with the one before */
  if (first >= end)
    return 0;
  if (last && first == last->first + last->count) {
    last->count += end - first;
  } else {
    *new_run(writer) =
        (struct run){.first = first, .count = end - first, .index = writer->cluster_count};
  }
  writer->cluster_count += end - first;
  return 0;
}

static void
number_l2_tables(struct qcow2_writer *writer)
{
  writer->l1_entries = div_up(writer->virtual_size, CLUSTER * L2_ENTRIES);
  writer->l2_of_l1 = xcalloc(writer->l1_entries + 1, sizeof(uint64_t));
  memset(writer->l2_of_l1, 0xff, (writer->l1_entries + 1) * sizeof(uint64_t));
  for (size_t i = 0; i < writer->run_count; i++) {
    uint64_t first = writer->runs[i].first / L2_ENTRIES;
    uint64_t last = (writer->runs[i].first + writer->runs[i].count - 1) / L2_ENTRIES;
    for (uint64_t l1 = first; l1 <= last; l1++) {
      if (writer->l2_of_l1[l1] == UINT64_MAX)
        writer->l2_of_l1[l1] = writer->l2_count++;
    }
  }
}

/* The refcounts count themselves, so their number is found by trying. */
static void
size_refcounts(struct qcow2_writer *writer, uint64_t other_clusters)
{
  uint64_t blocks = 1;
  uint64_t table = 1;
  for (;;) {
    uint64_t total = other_clusters + blocks + table;
    uint64_t need_blocks = div_up(total, BLOCK_ENTRIES);
    uint64_t need_table = div_up(need_blocks, TABLE_ENTRIES);
    if (need_blocks <= blocks && need_table <= table)
      break;
    blocks = need_blocks;
    table = need_table;
  }
  writer->refcount_block_count = blocks;
  writer->refcount_table_clusters = table;
}

void
qcow2_writer_seal(struct qcow2_writer *writer, uint64_t data_align)
{
  number_l2_tables(writer);
  uint64_t l1_clusters = div_up(writer->l1_entries * 8, CLUSTER);
  if (l1_clusters == 0)
    l1_clusters = 1;
  /* A compressed cluster behind a plain one, or before it, wastes less than a cluster. */
  uint64_t data_clusters = 2 * writer->cluster_count + 1;
  uint64_t align_clusters = div_up(data_align, CLUSTER);
  size_refcounts(writer, 1 + l1_clusters + writer->l2_count + align_clusters + data_clusters);
  writer->refcount_table = CLUSTER;
  writer->refcount_blocks = writer->refcount_table + writer->refcount_table_clusters * CLUSTER;
  writer->l1_table = writer->refcount_blocks + writer->refcount_block_count * CLUSTER;
  writer->l2_tables = writer->l1_table + l1_clusters * CLUSTER;
  writer->data = writer->l2_tables + writer->l2_count * CLUSTER;
  if (data_align)
    writer->data = div_up(writer->data, data_align) * data_align;
  writer->end = writer->data;
  writer->entries = xcalloc(writer->cluster_count + 1, sizeof(uint64_t));
}

uint64_t
qcow2_writer_data_offset(const struct qcow2_writer *writer)
{
  return writer->data;
}

uint64_t
qcow2_writer_cluster_count(const struct qcow2_writer *writer)
{
  return writer->cluster_count;
}

/* The last run whose member `key` is not above value. */
static const struct run *
find_run(const struct qcow2_writer *writer, uint64_t value, bool by_index)
{
  size_t low = 0;
  size_t high = writer->run_count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    uint64_t key = by_index ? writer->runs[middle].index : writer->runs[middle].first;
    if (key <= value)
      low = middle;
    else
      high = middle;
  }
  return &writer->runs[low];
}

uint64_t
qcow2_writer_cluster_offset(const struct qcow2_writer *writer, uint64_t index)
{
  assert(index < writer->cluster_count);
  const struct run *run = find_run(writer, index, true);
  return (run->first + (index - run->index)) * CLUSTER;
}

static void
count_reference(struct qcow2_writer *writer, uint64_t file_cluster)
{
  uint64_t at = file_cluster - writer->data / CLUSTER;
  if (at >= writer->refcount_room) {
    uint64_t room = writer->refcount_room ? 2 * writer->refcount_room : 1024;
    while (room <= at)
      room *= 2;
    writer->refcounts = xrealloc(writer->refcounts, room, sizeof(uint16_t));
    memset(writer->refcounts + writer->refcount_room, 0,
           (room - writer->refcount_room) * sizeof(uint16_t));
    writer->refcount_room = room;
  }
  writer->refcounts[at]++;
}

void
qcow2_writer_place_plain(struct qcow2_writer *writer, uint64_t *ret_offset)
{
  assert(writer->placed < writer->cluster_count);
  uint64_t offset = div_up(writer->end, CLUSTER) * CLUSTER;
  writer->entries[writer->placed++] = offset | ENTRY_COPIED;
  writer->end = offset + CLUSTER;
  count_reference(writer, offset / CLUSTER);
  *ret_offset = offset;
}

void
qcow2_writer_place_compressed(struct qcow2_writer *writer, size_t len, uint64_t *ret_offset)
{
  assert(writer->placed < writer->cluster_count && len > 0 && len < CLUSTER);
  uint64_t offset = writer->end;
  uint64_t further = (offset + len - 1) / SECTOR - offset / SECTOR;
  writer->entries[writer->placed++] = ENTRY_COMPRESSED | further << SECTORS_SHIFT | offset;
  writer->end = offset + len;
  /* Readers count by whole sectors, so do we. */
  uint64_t first = offset / SECTOR * SECTOR / CLUSTER;
  uint64_t last = (offset / SECTOR * SECTOR + (further + 1) * SECTOR - 1) / CLUSTER;
  for (uint64_t c = first; c <= last; c++)
    count_reference(writer, c);
  *ret_offset = offset;
}

void
qcow2_writer_place_nothing(struct qcow2_writer *writer)
{
  assert(writer->placed < writer->cluster_count);
  writer->entries[writer->placed++] = 0;
}

uint64_t
qcow2_writer_place_of(const struct qcow2_writer *writer, uint64_t index)
{
  assert(index < writer->placed);
  uint64_t entry = writer->entries[index];
  uint64_t mask = entry & ENTRY_COMPRESSED ? (1ULL << SECTORS_SHIFT) - 1 : ~ENTRY_COPIED;
  return entry & mask;
}

uint64_t
qcow2_writer_file_size(const struct qcow2_writer *writer)
{
  return div_up(writer->end, CLUSTER) * CLUSTER;
}

/* ---- bytes -------------------------------------------------------------------------------------
 */

static void
put32(unsigned char *at, uint32_t value)
{
  value = htobe32(value);
  memcpy(at, &value, sizeof(value));
}

static void
put64(unsigned char *at, uint64_t value)
{
  value = htobe64(value);
  memcpy(at, &value, sizeof(value));
}

static void
fill_header(const struct qcow2_writer *writer, unsigned char *cluster)
{
  bool is_zstd = writer->compression == QCOW2_COMPRESSION_ZSTD;
  put32(cluster, QCOW2_MAGIC);
  put32(cluster + 4, 3);
  put32(cluster + 20, QCOW2_WRITER_CLUSTER_BITS);
  put64(cluster + 24, writer->virtual_size);
  put32(cluster + 36, (uint32_t)writer->l1_entries);
  put64(cluster + 40, writer->l1_table);
  put64(cluster + 48, writer->refcount_table);
  put32(cluster + 56, (uint32_t)writer->refcount_table_clusters);
  put64(cluster + 72, is_zstd ? INCOMPATIBLE_COMPRESSION : 0);
  put32(cluster + 96, 4); /* refcounts of 1 << 4 bits */
  put32(cluster + 100, HEADER_LENGTH);
  cluster[104] = (unsigned char)writer->compression;
}

static void
fill_refcount_table(const struct qcow2_writer *writer, uint64_t number, unsigned char *cluster)
{
  for (uint64_t i = 0; i < TABLE_ENTRIES; i++) {
    uint64_t block = number * TABLE_ENTRIES + i;
    if (block < writer->refcount_block_count)
      put64(cluster + 8 * i, writer->refcount_blocks + block * CLUSTER);
  }
}

/* The tables' clusters are each used once; what lies between them and the data, by nobody. */
static uint16_t
refcount_of(const struct qcow2_writer *writer, uint64_t file_cluster)
{
  uint64_t tables_end = (writer->l2_tables + writer->l2_count * CLUSTER) / CLUSTER;
  uint64_t data = writer->data / CLUSTER;
  if (file_cluster < tables_end)
    return 1;
  if (file_cluster < data || file_cluster - data >= writer->refcount_room)
    return 0;
  return writer->refcounts[file_cluster - data];
}

static void
fill_refcount_block(const struct qcow2_writer *writer, uint64_t number, unsigned char *cluster)
{
  for (uint64_t i = 0; i < BLOCK_ENTRIES; i++) {
    uint16_t count = htobe16(refcount_of(writer, number * BLOCK_ENTRIES + i));
    memcpy(cluster + 2 * i, &count, sizeof(count));
  }
}

static void
fill_l1(const struct qcow2_writer *writer, uint64_t number, unsigned char *cluster)
{
  for (uint64_t i = 0; i < TABLE_ENTRIES; i++) {
    uint64_t l1 = number * TABLE_ENTRIES + i;
    if (l1 < writer->l1_entries && writer->l2_of_l1[l1] != UINT64_MAX)
      put64(cluster + 8 * i, (writer->l2_tables + writer->l2_of_l1[l1] * CLUSTER) | ENTRY_COPIED);
  }
}

/* Which L1 entry names the number-th L2 table. They are numbered in ascending order. */
static uint64_t
l1_of_l2(const struct qcow2_writer *writer, uint64_t number)
{
  uint64_t l1 = number; /* never before its own number */
  while (writer->l2_of_l1[l1] != number)
    l1++;
  return l1;
}

static void
fill_l2(const struct qcow2_writer *writer, uint64_t number, unsigned char *cluster)
{
  uint64_t first = l1_of_l2(writer, number) * L2_ENTRIES;
  uint64_t end = first + L2_ENTRIES;
  for (const struct run *run = find_run(writer, first, false);
       run < writer->runs + writer->run_count && run->first < end; run++) {
    uint64_t from = run->first > first ? run->first : first;
    uint64_t to = run->first + run->count < end ? run->first + run->count : end;
    for (uint64_t c = from; c < to; c++)
      put64(cluster + 8 * (c - first), writer->entries[run->index + (c - run->first)]);
  }
}

/* One whole cluster of the tables. */
static void
fill_cluster(const struct qcow2_writer *writer, uint64_t offset, unsigned char *cluster)
{
  memset(cluster, 0, CLUSTER);
  if (offset < writer->refcount_table)
    fill_header(writer, cluster);
  else if (offset < writer->refcount_blocks)
    fill_refcount_table(writer, (offset - writer->refcount_table) / CLUSTER, cluster);
  else if (offset < writer->l1_table)
    fill_refcount_block(writer, (offset - writer->refcount_blocks) / CLUSTER, cluster);
  else if (offset < writer->l2_tables)
    fill_l1(writer, (offset - writer->l1_table) / CLUSTER, cluster);
  else if (offset < writer->l2_tables + writer->l2_count * CLUSTER)
    fill_l2(writer, (offset - writer->l2_tables) / CLUSTER, cluster);
}

void
qcow2_writer_tables(const struct qcow2_writer *writer, uint64_t offset, size_t len, void *buf)
{
  assert(writer->placed == writer->cluster_count && offset + len <= writer->data);
  CLEANUP(freep) unsigned char *cluster = xcalloc(CLUSTER, 1);
  unsigned char *out = buf;
  while (len > 0) {
    uint64_t inside = offset % CLUSTER;
    size_t n = CLUSTER - inside < len ? (size_t)(CLUSTER - inside) : len;
    fill_cluster(writer, offset - inside, cluster);
    memcpy(out, cluster + inside, n);
    out += n;
    offset += n;
    len -= n;
  }
}
