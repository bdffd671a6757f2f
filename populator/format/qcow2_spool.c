/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_spool.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/qcow2_pass.h"

#define COPIED ((uint64_t)1 << 63)
#define COMPRESSED ((uint64_t)1 << 62)
#define WRITE_BYTES ((size_t)1 << 20)

static int
put(const struct qcow2_spool *spool, const void *buf, size_t len, uint64_t offset,
    struct error **err)
{
  if (len > 0 && spool->write_at(spool->context, buf, len, offset, err) < 0)
    return error_wrap(err, "write the spool");
  return 0;
}

/* The L1 table: as many bytes of it as the stream has read. */
static int
put_l1(const struct qcow2_pass *pass, const uint64_t *l1, const struct qcow2_spool *spool,
       struct error **err)
{
  uint64_t len = pass->header.l1_bytes - pass->l1_left;
  CLEANUP(freep) char *bytes = xcalloc(1, WRITE_BYTES);
  for (uint64_t at = 0; at < len;) {
    size_t part = len - at < WRITE_BYTES ? len - at : WRITE_BYTES;
    for (size_t i = 0; i < part; i += 8) {
      uint64_t index = (at + i) / 8;
      bytes_put_be64(bytes + i, index < pass->header.l1_entries ? l1[index] : 0);
    }
    if (put(spool, bytes, part, pass->header.l1_offset + at, err) < 0)
      return -1;
    at += part;
  }
  return 0;
}

/* ---- the tables --------------------------------------------------------------------------------
 */

static int
compare(const void *a, const void *b)
{
  uint64_t x = ((const struct qcow2_run *)a)->virtual_offset;
  uint64_t y = ((const struct qcow2_run *)b)->virtual_offset;
  return x < y ? -1 : x > y;
}

/* The clusters that were claimed and not given, in the order of the disk. */
static struct qcow2_run *
collect(const struct qcow2_pass *pass, size_t *ret_count)
{
  size_t count = 0;
  size_t most = pass->claims.count + pass->late.count - pass->late_at;
  struct qcow2_run *runs = xcalloc(most > 0 ? most : 1, sizeof(*runs));
  for (size_t i = 0; i < pass->claims.count; i++) {
    if (pass->claims.items[i].kind <= QCOW2_COMPRESSED)
      runs[count++] = pass->claims.items[i];
  }
  for (size_t i = pass->late_at; i < pass->late.count; i++) {
    if (pass->late.items[i].kind <= QCOW2_COMPRESSED)
      runs[count++] = pass->late.items[i];
  }
  if (count > 1)
    qsort(runs, count, sizeof(*runs), compare);
  *ret_count = count;
  return runs;
}

/* The entry of a run's first cluster, which is taken off. */
static void
put_entry(const struct qcow2_header *header, struct qcow2_run *run, char *table)
{
  size_t entry_bytes = header->cluster_size / header->l2_entries;
  uint64_t index = (run->virtual_offset >> header->cluster_bits) % header->l2_entries;
  unsigned shift = 62 - (header->cluster_bits - 8);
  char *at = table + index * entry_bytes;
  bool is_compressed = run->kind == QCOW2_COMPRESSED;
  bytes_put_be64(at, is_compressed
                         ? COMPRESSED | (uint64_t)(run->count - 1) << shift | run->host_offset
                         : COPIED | run->host_offset);
  if (header->has_subclusters)
    bytes_put_be64(at + 8, is_compressed ? 0 : run->subclusters);
  run->count = is_compressed ? 0 : run->count - 1;
  run->host_offset += header->cluster_size;
  run->virtual_offset += header->cluster_size;
}

/* Fills the table that the first run begins in; returns how many runs are done with. */
static size_t
fill_table(const struct qcow2_header *header, struct qcow2_run *runs, size_t count, char *table,
           uint64_t *ret_index)
{
  uint64_t table_maps = header->l2_entries * header->cluster_size;
  uint64_t index = runs[0].virtual_offset / table_maps;
  size_t done = 0;
  memset(table, 0, header->cluster_size);
  while (done < count && runs[done].virtual_offset / table_maps == index) {
    put_entry(header, &runs[done], table);
    done += runs[done].count == 0;
  }
  *ret_index = index;
  return done;
}

/* Tables that the stream has read, without the clusters that it has given, where they were. */
static int
put_tables(const struct qcow2_pass *pass, const struct qcow2_spool *spool, struct error **err)
{
  const struct qcow2_header *header = &pass->header;
  size_t count;
  CLEANUP(freep) uint64_t *l1 = xcalloc(header->l1_entries, sizeof(uint64_t));
  CLEANUP(freep) char *table = xcalloc(1, header->cluster_size);
  CLEANUP(freep) struct qcow2_run *runs = collect(pass, &count);
  for (uint64_t i = 0; i < header->l1_entries; i++)
    l1[i] = pass->l1[i] & QCOW2_PASS_READ ? 0 : pass->l1[i];
  for (size_t done = 0; done < count;) {
    uint64_t index;
    done += fill_table(header, runs + done, count - done, table, &index);
    l1[index] = pass->l1[index] & ~(uint64_t)QCOW2_PASS_READ;
    if (put(spool, table, header->cluster_size, l1[index], err) < 0)
      return -1;
  }
  return put_l1(pass, l1, spool, err);
}

int
qcow2_spool_write(struct qcow2_stream *stream, const struct qcow2_spool *spool,
                  uint64_t *ret_offset, struct error **err)
{
  const struct qcow2_pass *pass = qcow2_stream_pass(stream);
  if (put(spool, pass->head, pass->head_len, 0, err) < 0)
    return -1;
  for (size_t i = 0; i < pass->held.count; i++) {
    const struct qcow2_segment *segment = &pass->held.segments[i];
    if (segment->len > 0 &&
        put(spool, segment->memory + segment->start, segment->len, segment->offset, err) < 0)
      return -1;
  }
  if (put_tables(pass, spool, err) < 0 ||
      put(spool, pass->stage + pass->stage_at, pass->stage_len, pass->base, err) < 0)
    return -1;
  *ret_offset = pass->base + pass->stage_len;
  return 0;
}
