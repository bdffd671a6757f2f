/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_table.h"

#include <inttypes.h>

#include "populator/format/bytes.h"

#define OFFSET_MASK ((uint64_t)0x00fffffffffffe00)
#define COPIED ((uint64_t)1 << 63)
#define COMPRESSED ((uint64_t)1 << 62)
#define ALL_ZEROS ((uint64_t)1)
#define L1_RESERVED ((uint64_t)0x7f000000000001ff)
#define L2_RESERVED ((uint64_t)0x3f000000000001fe)
#define REFCOUNT_TABLE_RESERVED ((uint64_t)0x1ff)
#define COUNT_MAX ((1U << 28) - 1)

#define DAMAGED(err, ...) error_set(err, ERROR_DATA_LOSS, "qcow2: " __VA_ARGS__)

/* ---- the tables --------------------------------------------------------------------------------
 */

static int
table_entry(const struct qcow2_header *header, uint64_t entry, uint64_t reserved, const char *what,
            uint64_t *ret_offset, struct error **err)
{
  if (entry & reserved)
    return DAMAGED(err, "%s has reserved bits set (0x%016" PRIx64 ")", what, entry);
  uint64_t offset = entry & OFFSET_MASK;
  if (offset % header->cluster_size != 0)
    return DAMAGED(err, "%s names 0x%" PRIx64 ", which is not aligned to a cluster", what, offset);
  *ret_offset = offset;
  return 0;
}

int
qcow2_l1_entry(const struct qcow2_header *header, uint64_t entry, uint64_t *ret_offset,
               struct error **err)
{
  return table_entry(header, entry, L1_RESERVED, "an L1 entry", ret_offset, err);
}

int
qcow2_refcount_table_entry(const struct qcow2_header *header, uint64_t entry, uint64_t *ret_offset,
                           struct error **err)
{
  if (entry & ~(OFFSET_MASK | REFCOUNT_TABLE_RESERVED))
    return DAMAGED(err, "an entry of the refcount table is too large (0x%016" PRIx64 ")", entry);
  return table_entry(header, entry, REFCOUNT_TABLE_RESERVED, "an entry of the refcount table",
                     ret_offset, err);
}

static void
decode_compressed(const struct qcow2_header *header, uint64_t entry, struct qcow2_run *run)
{
  unsigned shift = 62 - (header->cluster_bits - 8);
  run->kind = QCOW2_COMPRESSED;
  run->host_offset = entry & (((uint64_t)1 << shift) - 1);
  run->count = ((entry & ~(COPIED | COMPRESSED)) >> shift) + 1;
}

/* Subclusters: the low half of the bitmap says which are allocated, the high half which are zeros.
 */
static int
decode_bitmap(uint64_t entry, uint64_t bitmap, struct qcow2_run *run, struct error **err)
{
  uint32_t allocated = (uint32_t)bitmap, zeros = (uint32_t)(bitmap >> 32);
  if (entry & COMPRESSED) {
    if (bitmap != 0)
      return DAMAGED(err, "a compressed cluster has subclusters");
    return 0;
  }
  if (entry & ALL_ZEROS)
    return DAMAGED(err, "an L2 entry has reserved bits set (0x%016" PRIx64 ")", entry);
  if (allocated & zeros)
    return DAMAGED(err, "subclusters are both allocated and zeros (0x%016" PRIx64 ")", bitmap);
  if (allocated && (entry & OFFSET_MASK) == 0)
    return DAMAGED(err, "subclusters are allocated, but there is no cluster");
  run->subclusters = allocated;
  return 0;
}

/* *run has no subclusters and count 0 where there is nothing. */
static int
decode_entry(const struct qcow2_header *header, const void *at, struct qcow2_run *run,
             struct error **err)
{
  uint64_t entry = bytes_be64(at);
  uint64_t offset = entry & OFFSET_MASK;
  run->count = 0;
  run->kind = QCOW2_DATA;
  run->subclusters = QCOW2_ALL_SUBCLUSTERS;
  if (header->has_subclusters &&
      decode_bitmap(entry, bytes_be64((const char *)at + 8), run, err) < 0)
    return -1;
  if (entry & COMPRESSED) {
    decode_compressed(header, entry, run);
    return 0;
  }
  if (entry & L2_RESERVED)
    return DAMAGED(err, "an L2 entry has reserved bits set (0x%016" PRIx64 ")", entry);
  if (offset % header->cluster_size != 0)
    return DAMAGED(err, "an L2 entry names 0x%" PRIx64 ", which is not aligned to a cluster",
                   offset);
  if (entry & ALL_ZEROS && header->version < 3)
    return DAMAGED(err, "an L2 entry says zeros, which version 2 does not know");
  if (offset != 0 && !(entry & ALL_ZEROS) && run->subclusters != 0) {
    run->host_offset = offset;
    run->count = 1;
  }
  return 0;
}

/* Whether `next` could be part of `run`. */
static bool
continues(const struct qcow2_header *header, const struct qcow2_run *run,
          const struct qcow2_run *next)
{
  uint64_t len = run->count * header->cluster_size;
  return run->kind == QCOW2_DATA && next->kind == QCOW2_DATA && run->count < COUNT_MAX &&
         run->subclusters == QCOW2_ALL_SUBCLUSTERS && next->subclusters == QCOW2_ALL_SUBCLUSTERS &&
         next->host_offset == run->host_offset + len &&
         next->virtual_offset == run->virtual_offset + len;
}

int
qcow2_l2_decode(const struct qcow2_header *header, uint64_t l1_index, const void *table,
                qcow2_run_visitor *visit, void *context, struct error **err)
{
  size_t entry_bytes = header->cluster_size / header->l2_entries;
  uint64_t virtual_offset = l1_index * header->l2_entries * header->cluster_size;
  const char *at = table;
  struct qcow2_run run = {0}; /* gathered so far */
  for (uint64_t i = 0; i < header->l2_entries && virtual_offset < header->virtual_size; i++) {
    struct qcow2_run next = {.virtual_offset = virtual_offset};
    virtual_offset += header->cluster_size;
    if (decode_entry(header, at + i * entry_bytes, &next, err) < 0)
      return error_wrap(err, "disk offset %" PRIu64, next.virtual_offset);
    if (next.count == 0)
      continue;
    if (run.count > 0 && continues(header, &run, &next)) {
      run.count++;
      continue;
    }
    if (run.count > 0 && visit(context, &run, err) < 0)
      return -1;
    run = next;
  }
  return run.count > 0 ? visit(context, &run, err) : 0;
}

/* ---- runs --------------------------------------------------------------------------------------
 */

uint64_t
qcow2_run_span(const struct qcow2_header *header, const struct qcow2_run *run)
{
  if (run->kind == QCOW2_COMPRESSED)
    return (uint64_t)run->count * QCOW2_SECTOR - run->host_offset % QCOW2_SECTOR;
  return run->count * header->cluster_size;
}

uint64_t
qcow2_run_need(const struct qcow2_header *header, const struct qcow2_run *run)
{
  if (run->kind == QCOW2_COMPRESSED)
    return 1; /* how many it takes is seen when it is decoded */
  uint64_t need = run->count * header->cluster_size;
  if (run->subclusters != QCOW2_ALL_SUBCLUSTERS) {
    unsigned last = QCOW2_SUBCLUSTERS - (unsigned)__builtin_clz(run->subclusters | 1);
    need = last * (header->cluster_size / QCOW2_SUBCLUSTERS);
  }
  uint64_t disk = header->virtual_size - run->virtual_offset;
  return need < disk ? need : disk;
}

int
qcow2_run_check(const struct qcow2_header *header, const struct qcow2_run *run,
                const struct qcow2_metadata *metadata, uint64_t file_size, struct error **err)
{
  const char *what = run->kind == QCOW2_COMPRESSED ? "a compressed cluster" : "a data cluster";
  if (file_size != QCOW2_FILE_SIZE_UNKNOWN &&
      (run->host_offset > file_size || qcow2_run_need(header, run) > file_size - run->host_offset))
    return DAMAGED(err,
                   "%s at 0x%" PRIx64 " lies outside the file of %" PRIu64
                   " bytes: the file is truncated or damaged",
                   what, run->host_offset, file_size);
  return qcow2_metadata_check(metadata, run->host_offset, qcow2_run_span(header, run), what, err);
}

int
qcow2_run_check_order(const struct qcow2_header *header, const struct qcow2_run *first,
                      const struct qcow2_run *second, struct error **err)
{
  uint64_t end = first->host_offset + qcow2_run_span(header, first);
  uint64_t slack =
      first->kind == QCOW2_COMPRESSED && second->kind == QCOW2_COMPRESSED ? QCOW2_SECTOR - 1 : 0;
  if (second->host_offset > first->host_offset && second->host_offset + slack >= end)
    return 0;
  return DAMAGED(err,
                 "two clusters of the disk (offsets %" PRIu64 " and %" PRIu64 ") share 0x%" PRIx64
                 " of the file",
                 first->virtual_offset, second->virtual_offset, second->host_offset);
}

static bool
next_subclusters(const struct qcow2_header *header, struct qcow2_run *run,
                 struct qcow2_extent *ret_extent)
{
  uint64_t size = header->cluster_size / QCOW2_SUBCLUSTERS;
  while (run->subclusters != 0) {
    unsigned first = (unsigned)__builtin_ctz(run->subclusters);
    uint32_t behind = ~(run->subclusters >> first);
    unsigned count = behind ? (unsigned)__builtin_ctz(behind) : QCOW2_SUBCLUSTERS;
    if (count > QCOW2_SUBCLUSTERS - first)
      count = QCOW2_SUBCLUSTERS - first;
    uint32_t bits = count == QCOW2_SUBCLUSTERS ? UINT32_MAX : ((1U << count) - 1) << first;
    run->subclusters &= ~bits;
    uint64_t offset = run->virtual_offset + first * size;
    if (offset >= header->virtual_size)
      continue; /* behind the end of the disk */
    uint64_t left = header->virtual_size - offset;
    uint64_t length = count * size < left ? count * size : left;
    *ret_extent = (struct qcow2_extent){.virtual_offset = offset,
                                        .host_offset = run->host_offset + first * size,
                                        .length = length,
                                        .host_length = length};
    return true;
  }
  run->count = 0;
  return false;
}

bool
qcow2_run_next_extent(const struct qcow2_header *header, struct qcow2_run *run, uint64_t max_bytes,
                      struct qcow2_extent *ret_extent)
{
  if (run->count == 0)
    return false;
  if (run->kind == QCOW2_DATA && run->subclusters != QCOW2_ALL_SUBCLUSTERS)
    return next_subclusters(header, run, ret_extent);
  uint64_t left = header->virtual_size - run->virtual_offset;
  if (run->kind == QCOW2_COMPRESSED) {
    uint64_t length = left < header->cluster_size ? left : header->cluster_size;
    uint64_t host_length = qcow2_run_span(header, run);
    uint64_t host_max = header->cluster_size + QCOW2_COMPRESSED_OVERHEAD;
    *ret_extent =
        (struct qcow2_extent){.virtual_offset = run->virtual_offset,
                              .host_offset = run->host_offset,
                              .length = length,
                              .host_length = host_length < host_max ? host_length : host_max,
                              .is_compressed = true};
    run->count = 0;
    return true;
  }
  uint64_t clusters = max_bytes >> header->cluster_bits;
  if (clusters > run->count)
    clusters = run->count;
  uint64_t bytes = clusters * header->cluster_size;
  uint64_t length = bytes < left ? bytes : left;
  *ret_extent = (struct qcow2_extent){.virtual_offset = run->virtual_offset,
                                      .host_offset = run->host_offset,
                                      .length = length,
                                      .host_length = length};
  run->virtual_offset += bytes;
  run->host_offset += bytes;
  run->count -= clusters;
  return true;
}
