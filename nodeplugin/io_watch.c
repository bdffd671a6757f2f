/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/io_watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/sysfs.h"

/* Columns of "stat": requests of each kind that are finished, and those on their way. */
enum { READS = 0, WRITES = 4, WAITING = 8, DISCARDS = 11, FLUSHES = 15, COLUMNS = 17 };

/* A device that was found waiting. */
struct sight {
  dev_t device;
  uint64_t finished;
  int64_t since_ms;
};

struct io_watch {
  pthread_mutex_t mutex; /* guards all below */
  struct sight *sights;
  size_t count;
};

struct io_watch *
io_watch_new(void)
{
  struct io_watch *watch = xcalloc(1, sizeof(*watch));
  (void)pthread_mutex_init(&watch->mutex, NULL);
  return watch;
}

void
io_watch_free(struct io_watch *watch)
{
  if (!watch)
    return;
  (void)pthread_mutex_destroy(&watch->mutex);
  free(watch->sights);
  free(watch);
}

static int
parse_columns(const char *stat, uint64_t columns[COLUMNS])
{
  size_t count = 0;
  for (stat += strspn(stat, " "); *stat && count < COLUMNS; stat += strspn(stat, " ")) {
    char word[24];
    size_t len = strcspn(stat, " \n");
    if (len == 0 || len >= sizeof(word))
      return -1;
    memcpy(word, stat, len);
    word[len] = '\0';
    if (text_to_u64(word, 10, &columns[count++]) < 0)
      return -1;
    stat += len;
  }
  return count <= WAITING ? -1 : 0; /* discards and flushes came later */
}

int
io_watch_parse(const char *stat, uint64_t *ret_finished, uint64_t *ret_waiting)
{
  uint64_t columns[COLUMNS] = {0};
  if (parse_columns(stat, columns) < 0)
    return -1;
  *ret_finished = columns[READS] + columns[WRITES] + columns[DISCARDS] + columns[FLUSHES];
  *ret_waiting = columns[WAITING];
  return 0;
}

static char *
read_stat(dev_t device)
{
  CLEANUP(freep)
  char *folder = xasprintf("/sys/dev/block/%u:%u", major(device), minor(device));
  return sysfs_read(folder, "stat");
}

uint64_t
io_watch_written(dev_t device)
{
  CLEANUP(freep) char *stat = read_stat(device);
  uint64_t columns[COLUMNS] = {0};
  if (!stat || parse_columns(stat, columns) < 0)
    return UINT64_MAX;
  return columns[WRITES] + columns[DISCARDS];
}

/* Under the mutex. */
static struct sight *
find(struct io_watch *watch, dev_t device)
{
  for (size_t i = 0; i < watch->count; i++) {
    if (watch->sights[i].device == device)
      return &watch->sights[i];
  }
  return NULL;
}

static int64_t
remember(struct io_watch *watch, dev_t device, uint64_t finished)
{
  struct sight *sight = find(watch, device);
  if (!sight) {
    watch->sights = xrealloc(watch->sights, watch->count + 1, sizeof(watch->sights[0]));
    sight = &watch->sights[watch->count++];
    *sight = (struct sight){.device = device, .finished = finished, .since_ms = clock_now_ms()};
  }
  if (sight->finished != finished) {
    sight->finished = finished;
    sight->since_ms = clock_now_ms();
  }
  return clock_now_ms() - sight->since_ms;
}

static void
forget(struct io_watch *watch, dev_t device)
{
  struct sight *sight = find(watch, device);
  if (sight)
    *sight = watch->sights[--watch->count];
}

int64_t
io_watch_look(struct io_watch *watch, dev_t device)
{
  CLEANUP(freep) char *stat = read_stat(device);
  uint64_t finished, waiting;
  bool waits = stat && io_watch_parse(stat, &finished, &waiting) == 0 && waiting > 0;
  MUTEX_GUARD(&watch->mutex);
  if (waits)
    return remember(watch, device, finished);
  forget(watch, device);
  return 0;
}
