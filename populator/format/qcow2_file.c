/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"

/* Read at once, at most; a table that is larger alone. */
#define READ_BYTES ((uint64_t)1 << 20)
/* What lies between two tables is read along if it is no more: a request costs as much. */
#define GAP_BYTES ((uint64_t)64 << 10)

int
qcow2_file_header(const struct qcow2_file *file, struct qcow2_header *ret_header,
                  struct error **err)
{
  size_t len = file->size < QCOW2_HEADER_BYTES ? file->size : QCOW2_HEADER_BYTES;
  CLEANUP(freep) char *bytes = xcalloc(1, QCOW2_HEADER_BYTES);
  if (file->read_at(file->context, bytes, len, 0, err) < 0)
    return error_wrap(err, "qcow2: read the header");
  return qcow2_header_parse(bytes, len, file->size, ret_header, err);
}

/* Calls take() with each of the numbers of a table that is one piece. */
static int
read_numbers(const struct qcow2_file *file, uint64_t offset, uint64_t count, const char *what,
             int (*take)(void *context, uint64_t index, uint64_t number, struct error **err),
             void *context, struct error **err)
{
  uint64_t room = count * 8 < READ_BYTES ? count * 8 : READ_BYTES;
  CLEANUP(freep) char *bytes = xcalloc(1, room);
  for (uint64_t index = 0; index < count;) {
    uint64_t left = (count - index) * 8;
    size_t len = left < room ? left : room;
    if (file->read_at(file->context, bytes, len, offset + index * 8, err) < 0)
      return error_wrap(err, "qcow2: read %s", what);
    for (size_t at = 0; at < len; at += 8, index++) {
      if (take(context, index, bytes_be64(bytes + at), err) < 0)
        return -1;
    }
  }
  return 0;
}

static int
check_inside(const struct qcow2_file *file, const struct qcow2_header *header, uint64_t offset,
             const char *what, struct error **err)
{
  if (offset > file->size || header->cluster_size > file->size - offset)
    return error_set(err, ERROR_DATA_LOSS,
                     "qcow2: %s at 0x%" PRIx64 " lies outside the file of %" PRIu64
                     " bytes: the file is truncated or damaged",
                     what, offset, file->size);
  return 0;
}

/* ---- L1 and refcounts --------------------------------------------------------------------------
 */

struct table_reading {
  const struct qcow2_file *file;
  const struct qcow2_header *header;
  uint64_t *l1;
  struct qcow2_metadata *metadata;
};

static int
take_l1_entry(void *context, uint64_t index, uint64_t entry, struct error **err)
{
  struct table_reading *reading = context;
  uint64_t *offset = &reading->l1[index];
  if (qcow2_l1_entry(reading->header, entry, offset, err) < 0)
    return -1;
  return *offset == 0 ? 0
                      : check_inside(reading->file, reading->header, *offset, "an L2 table", err);
}

int
qcow2_file_l1(const struct qcow2_file *file, const struct qcow2_header *header, uint64_t **ret_l1,
              struct error **err)
{
  CLEANUP(freep) uint64_t *l1 = xcalloc(header->l1_entries, sizeof(uint64_t));
  struct table_reading reading = {.file = file, .header = header, .l1 = l1};
  if (read_numbers(file, header->l1_offset, header->l1_entries, "the L1 table", take_l1_entry,
                   &reading, err) < 0)
    return -1;
  *ret_l1 = TAKE(l1);
  return 0;
}

static int
take_refcount_entry(void *context, uint64_t index, uint64_t entry, struct error **err)
{
  struct table_reading *reading = context;
  (void)index;
  uint64_t offset;
  if (qcow2_refcount_table_entry(reading->header, entry, &offset, err) < 0)
    return -1;
  if (offset == 0)
    return 0;
  if (check_inside(reading->file, reading->header, offset, "a refcount block", err) < 0)
    return -1;
  qcow2_metadata_add(reading->metadata, offset, QCOW2_PART_REFCOUNT_BLOCK);
  return 0;
}

int
qcow2_file_metadata(const struct qcow2_file *file, const struct qcow2_header *header,
                    const uint64_t *l1, struct qcow2_metadata *ret_metadata, struct error **err)
{
  CLEANUP(qcow2_metadata_clear) struct qcow2_metadata metadata;
  qcow2_metadata_init(&metadata, header);
  for (uint64_t i = 0; i < header->l1_entries; i++) {
    if (l1[i] != 0)
      qcow2_metadata_add(&metadata, l1[i], QCOW2_PART_L2);
  }
  struct table_reading reading = {.file = file, .header = header, .metadata = &metadata};
  if (!header->is_dirty &&
      read_numbers(file, header->refcount_table_offset, header->refcount_table_bytes / 8,
                   "the refcount table", take_refcount_entry, &reading, err) < 0)
    return -1;
  if (qcow2_metadata_seal(&metadata, err) < 0)
    return -1;
  *ret_metadata = metadata;
  metadata = (struct qcow2_metadata){0};
  return 0;
}

/* ---- L2 ----------------------------------------------------------------------------------------
 */

struct table_place {
  uint64_t offset;
  uint64_t index; /* in the L1 table */
};

static int
compare_places(const void *a, const void *b)
{
  uint64_t x = ((const struct table_place *)a)->offset, y = ((const struct table_place *)b)->offset;
  return x < y ? -1 : x > y;
}

/* How many of the tables, from the first on, are read at once. */
static size_t
count_neighbours(const struct table_place *places, size_t count, uint64_t cluster_size)
{
  size_t i = 1;
  while (i < count && places[i].offset <= places[i - 1].offset + cluster_size + GAP_BYTES &&
         places[i].offset + cluster_size - places[0].offset <= READ_BYTES)
    i++;
  return i;
}

int
qcow2_file_l2(const struct qcow2_file *file, const struct qcow2_header *header, const uint64_t *l1,
              uint64_t first, uint64_t end, qcow2_run_visitor *visit, void *context,
              struct error **err)
{
  uint64_t cluster_size = header->cluster_size;
  CLEANUP(freep)
  struct table_place *places = xcalloc(end > first ? end - first : 1, sizeof(*places));
  size_t count = 0;
  for (uint64_t i = first; i < end; i++) {
    if (l1[i] != 0)
      places[count++] = (struct table_place){.offset = l1[i], .index = i};
  }
  if (count == 0)
    return 0;
  qsort(places, count, sizeof(*places), compare_places);
  CLEANUP(freep)
  char *tables = xcalloc(1, cluster_size > READ_BYTES ? cluster_size : READ_BYTES);
  for (size_t i = 0; i < count;) {
    size_t neighbours = count_neighbours(places + i, count - i, cluster_size);
    uint64_t start = places[i].offset;
    size_t len = places[i + neighbours - 1].offset + cluster_size - start;
    if (file->read_at(file->context, tables, len, start, err) < 0)
      return error_wrap(err, "qcow2: read L2 tables");
    for (size_t stop = i + neighbours; i < stop; i++) {
      if (qcow2_l2_decode(header, places[i].index, tables + (places[i].offset - start), visit,
                          context, err) < 0)
        return -1;
    }
  }
  return 0;
}
