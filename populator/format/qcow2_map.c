/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_map.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "populator/format/qcow2_cluster.h"

/* L2 tables are read in groups, whose reach in the file is remembered; so many groups at most. */
#define GROUPS_MAX 65536
#define GROUP_BYTES ((uint64_t)1 << 20)
/* The file is cut into bins, and how many runs begin in each is counted; so many bins at most. */
#define BINS_MAX ((uint64_t)1 << 20)
/* A bin with more is a trick: in a file of 16 TiB it would have clusters of 16 bytes each. Two
 * windows of so many, and what sorting one takes, are 72 MiB. */
#define BIN_RUNS_MAX ((uint32_t)1 << 20)
/* Runs that a thread gathers before it takes the lock. */
#define BATCH 1024
#define WINDOWS 2

struct group {
  uint64_t first, end; /* of the file: where its runs lie; first >= end: nowhere */
};

/* A decoder that nobody uses now. */
struct spare {
  struct qcow2_cluster_decoder *decoder;
  struct spare *next;
};

struct qcow2_map {
  struct qcow2_file file;
  struct qcow2_tables tables;
  uint64_t group_tables;
  size_t group_count;
  struct group *groups;
  unsigned bin_bits;
  size_t bin_count;

  pthread_mutex_t mutex; /* guards what follows; what is above does not change after the scan */
  uint32_t *bins;
  uint64_t allocated;
  uint64_t *borders; /* where windows begin; one more for the end */
  size_t window_count;
  struct qcow2_window windows[WINDOWS];
  unsigned oldest; /* of the windows */

  pthread_mutex_t spare_mutex; /* guards: */
  struct spare *spares;
};

/* ---- the scan ----------------------------------------------------------------------------------
 */

struct scan {
  struct qcow2_map *map;
  pthread_mutex_t mutex; /* guards the rest, and what the map counts */
  size_t next_group;
  bool is_kept; /* all runs so far are in the map's first window */
  struct error *failure;
};

struct scan_thread {
  struct scan *scan;
  struct group reach;
  struct qcow2_run batch[BATCH];
  size_t count;
};

static uint64_t
clusters_of(const struct qcow2_run *run)
{
  return run->kind == QCOW2_COMPRESSED ? 1 : run->count;
}

static int
count_run(struct qcow2_map *map, const struct qcow2_run *run, struct error **err)
{
  uint64_t end = run->host_offset + qcow2_run_span(&map->tables.header, run);
  uint64_t first_bin = run->host_offset >> map->bin_bits;
  uint64_t last_bin = run->kind == QCOW2_DATA ? (end - 1) >> map->bin_bits : first_bin;
  for (uint64_t bin = first_bin; bin <= last_bin && bin < map->bin_count; bin++) {
    if (++map->bins[bin] > BIN_RUNS_MAX)
      return error_set(err, ERROR_DATA_LOSS,
                       "qcow2: too many clusters begin in one place of the file");
  }
  map->allocated += clusters_of(run) * map->tables.header.cluster_size;
  return 0;
}

static void
flush_batch(struct scan_thread *thread)
{
  struct scan *scan = thread->scan;
  struct qcow2_map *map = scan->map;
  MUTEX_GUARD(&scan->mutex);
  for (size_t i = 0; i < thread->count && !scan->failure; i++)
    (void)count_run(map, &thread->batch[i], &scan->failure); /* no group is taken after that */
  if (scan->is_kept && map->windows[0].count + thread->count > QCOW2_MAP_RUNS) {
    qcow2_window_clear(&map->windows[0]);
    scan->is_kept = false;
  }
  for (size_t i = 0; scan->is_kept && i < thread->count; i++)
    qcow2_window_add(&map->windows[0], &map->tables.header, &thread->batch[i]);
  thread->count = 0;
}

static int
scan_run(void *context, const struct qcow2_run *run, struct error **err)
{
  struct scan_thread *thread = context;
  const struct qcow2_map *map = thread->scan->map;
  if (qcow2_run_check(&map->tables.header, run, &map->tables.metadata, map->file.size, err) < 0)
    return -1;
  uint64_t end = run->host_offset + qcow2_run_span(&map->tables.header, run);
  if (run->host_offset < thread->reach.first)
    thread->reach.first = run->host_offset;
  if (end > thread->reach.end)
    thread->reach.end = end;
  thread->batch[thread->count++] = *run;
  if (thread->count == BATCH)
    flush_batch(thread);
  return 0;
}

/* The L1 entries of a group are [*ret_first, returned). */
static uint64_t
group_tables(const struct qcow2_map *map, size_t group, uint64_t *ret_first)
{
  uint64_t first = group * map->group_tables, end = first + map->group_tables;
  *ret_first = first;
  return end < map->tables.header.l1_entries ? end : map->tables.header.l1_entries;
}

static bool
take_group(struct scan *scan, size_t *ret_group)
{
  MUTEX_GUARD(&scan->mutex);
  if (scan->failure || scan->next_group == scan->map->group_count)
    return false;
  *ret_group = scan->next_group++;
  return true;
}

static void *
scan_main(void *arg)
{
  struct scan *scan = arg;
  struct qcow2_map *map = scan->map;
  struct scan_thread *thread = xcalloc(1, sizeof(*thread));
  struct error *err = NULL;
  size_t group;
  thread->scan = scan;
  while (!err && take_group(scan, &group)) {
    uint64_t first, end = group_tables(map, group, &first);
    thread->reach = (struct group){.first = UINT64_MAX};
    (void)qcow2_file_l2(&map->file, &map->tables, first, end, scan_run, thread, &err);
    map->groups[group] = thread->reach;
  }
  flush_batch(thread);
  free(thread);
  MUTEX_GUARD(&scan->mutex);
  if (scan->failure)
    error_free(err);
  else
    scan->failure = err;
  return NULL;
}

static void
scan_in_threads(struct scan *scan, unsigned count)
{
  CLEANUP(freep) pthread_t *threads = xcalloc(count, sizeof(pthread_t));
  unsigned started = 0;
  while (started + 1 < count && pthread_create(&threads[started], NULL, scan_main, scan) == 0)
    started++;
  (void)scan_main(scan); /* this one works too, alone if need be */
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
}

/* Cuts the file so that no window has more runs than it may, as far as bins allow. */
static void
cut_windows(struct qcow2_map *map)
{
  size_t count = 0;
  uint64_t runs = 0;
  map->borders = xcalloc(map->bin_count + 1, sizeof(uint64_t));
  for (size_t bin = 0; bin < map->bin_count; bin++) {
    if (bin == 0 || runs + map->bins[bin] > QCOW2_MAP_RUNS) {
      map->borders[count++] = (uint64_t)bin << map->bin_bits;
      runs = 0;
    }
    runs += map->bins[bin];
  }
  map->borders[count] = UINT64_MAX;
  map->borders = xrealloc(map->borders, count + 1, sizeof(uint64_t));
  map->window_count = count;
}

static int
scan_tables(struct qcow2_map *map, unsigned threads, struct error **err)
{
  struct scan scan = {.map = map, .is_kept = true};
  map->windows[0] = (struct qcow2_window){.first = 0, .end = UINT64_MAX};
  (void)pthread_mutex_init(&scan.mutex, NULL);
  scan_in_threads(&scan, threads < map->group_count ? threads : (unsigned)map->group_count);
  (void)pthread_mutex_destroy(&scan.mutex);
  if (scan.failure) {
    (void)error_set(err, scan.failure->code, "%s", scan.failure->message);
    error_free(scan.failure);
    return -1;
  }
  if (!scan.is_kept) {
    cut_windows(map);
    return 0;
  }
  map->borders = xcalloc(2, sizeof(uint64_t));
  map->borders[1] = UINT64_MAX;
  map->window_count = 1;
  return qcow2_window_sort(&map->windows[0], &map->tables.header, err);
}

/* ---- opening -----------------------------------------------------------------------------------
 */

static void
plan_scan(struct qcow2_map *map)
{
  const struct qcow2_header *header = &map->tables.header;
  uint64_t by_bytes = GROUP_BYTES >> header->cluster_bits;
  uint64_t by_count = (header->l1_entries + GROUPS_MAX - 1) / GROUPS_MAX;
  map->group_tables = by_bytes > by_count ? by_bytes : by_count;
  map->group_count = (header->l1_entries + map->group_tables - 1) / map->group_tables;
  map->groups = xcalloc(map->group_count, sizeof(struct group));
  map->bin_bits = header->cluster_bits;
  while (map->file.size >> map->bin_bits >= BINS_MAX)
    map->bin_bits++;
  map->bin_count = (map->file.size >> map->bin_bits) + 1;
  map->bins = xcalloc(map->bin_count, sizeof(uint32_t));
}

int
qcow2_map_open(const struct qcow2_file *file, unsigned threads, struct qcow2_map **ret_map,
               struct error **err)
{
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = xcalloc(1, sizeof(*map));
  (void)pthread_mutex_init(&map->mutex, NULL);
  (void)pthread_mutex_init(&map->spare_mutex, NULL);
  map->file = *file;
  if (qcow2_file_tables(file, &map->tables, err) < 0)
    return -1;
  plan_scan(map);
  if (scan_tables(map, threads > 0 ? threads : 1, err) < 0)
    return -1;
  free(TAKE(map->bins));
  *ret_map = TAKE(map);
  return 0;
}

void
qcow2_map_close(struct qcow2_map *map)
{
  if (!map)
    return;
  for (struct spare *spare = map->spares; spare;) {
    struct spare *next = spare->next;
    qcow2_cluster_decoder_free(spare->decoder);
    free(spare);
    spare = next;
  }
  for (unsigned i = 0; i < WINDOWS; i++)
    qcow2_window_clear(&map->windows[i]);
  qcow2_tables_clear(&map->tables);
  (void)pthread_mutex_destroy(&map->mutex);
  (void)pthread_mutex_destroy(&map->spare_mutex);
  free(map->borders);
  free(map->bins);
  free(map->groups);
  free(map);
}

const struct qcow2_header *
qcow2_map_header(const struct qcow2_map *map)
{
  return &map->tables.header;
}

uint64_t
qcow2_map_allocated(const struct qcow2_map *map)
{
  return map->allocated;
}

/* ---- asking ------------------------------------------------------------------------------------
 */

struct loading {
  struct qcow2_map *map;
  struct qcow2_window *window;
};

static int
load_run(void *context, const struct qcow2_run *run, struct error **err)
{
  struct loading *loading = context;
  const struct qcow2_map *map = loading->map;
  /* the file may have changed since it was scanned */
  if (qcow2_run_check(&map->tables.header, run, &map->tables.metadata, map->file.size, err) < 0)
    return -1;
  if (loading->window->count > (size_t)2 * BIN_RUNS_MAX)
    return error_set(err, ERROR_DATA_LOSS, "qcow2: the tables have changed");
  qcow2_window_add(loading->window, &map->tables.header, run);
  return 0;
}

static int
load_window(struct qcow2_map *map, struct qcow2_window *window, uint64_t first, uint64_t end,
            struct error **err)
{
  qcow2_window_clear(window);
  CLEANUP(qcow2_window_clear) struct qcow2_window loaded = {.first = first, .end = end};
  struct loading loading = {.map = map, .window = &loaded};
  for (size_t i = 0; i < map->group_count; i++) {
    const struct group *group = &map->groups[i];
    if (group->first >= group->end || group->first >= end || group->end <= first)
      continue;
    uint64_t l1_first, l1_end = group_tables(map, i, &l1_first);
    if (qcow2_file_l2(&map->file, &map->tables, l1_first, l1_end, load_run, &loading, err) < 0)
      return -1;
  }
  if (qcow2_window_sort(&loaded, &map->tables.header, err) < 0)
    return -1;
  *window = loaded;
  loaded = (struct qcow2_window){0};
  return 0;
}

static int
get_window(struct qcow2_map *map, size_t index, struct qcow2_window **ret_window,
           struct error **err)
{
  uint64_t first = map->borders[index], end = map->borders[index + 1];
  for (unsigned i = 0; i < WINDOWS; i++) {
    struct qcow2_window *window = &map->windows[i];
    if (window->end > window->first && window->first == first && window->end == end) {
      *ret_window = window;
      map->oldest = (i + 1) % WINDOWS;
      return 0;
    }
  }
  struct qcow2_window *window = &map->windows[map->oldest];
  if (load_window(map, window, first, end, err) < 0)
    return -1;
  map->oldest = (map->oldest + 1) % WINDOWS;
  *ret_window = window;
  return 0;
}

int
qcow2_map_chunk(struct qcow2_map *map, uint64_t first, uint64_t end, struct qcow2_extents *extents,
                struct error **err)
{
  MUTEX_GUARD(&map->mutex);
  extents->count = 0;
  for (size_t i = 0; i < map->window_count; i++) {
    struct qcow2_window *window;
    if (map->borders[i] >= end || map->borders[i + 1] <= first)
      continue;
    if (get_window(map, i, &window, err) < 0)
      return -1;
    qcow2_window_extents(window, &map->tables.header, first, end, extents);
  }
  for (size_t i = 0; i < extents->count; i++) {
    struct qcow2_extent *extent = &extents->items[i];
    uint64_t left = map->file.size - extent->host_offset;
    if (extent->is_compressed && extent->host_length > left)
      extent->host_length = left;
  }
  return 0;
}

static struct spare *
take_spare(struct qcow2_map *map)
{
  MUTEX_GUARD(&map->spare_mutex);
  struct spare *spare = map->spares;
  if (spare)
    map->spares = spare->next;
  return spare;
}

int
qcow2_map_decode(struct qcow2_map *map, const struct qcow2_piece *pieces, size_t count,
                 size_t *ret_failed, struct error **err)
{
  struct spare *spare = take_spare(map);
  if (!spare) {
    spare = xcalloc(1, sizeof(*spare));
    spare->decoder =
        qcow2_cluster_decoder_new(map->tables.header.compression, map->tables.header.cluster_size);
  }
  int r = qcow2_cluster_decode_all(spare->decoder, pieces, count, ret_failed, err);
  MUTEX_GUARD(&map->spare_mutex);
  spare->next = map->spares;
  map->spares = spare;
  return r;
}
