/* SPDX-License-Identifier: Apache-2.0 */
/* Kept in the order of the names, so that those of one metric stand together, as Prometheus wants
 * it. There are some dozens of them. */
#include "populator/work/series.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

struct point {
  char *name;
  uint64_t value;
};

struct series {
  pthread_mutex_t mutex; /* of the points */
  struct point *points;
  size_t count;
};

struct series *
series_new(void)
{
  struct series *series = xcalloc(1, sizeof(*series));
  (void)pthread_mutex_init(&series->mutex, NULL);
  return series;
}

void
series_free(struct series *series)
{
  if (!series)
    return;
  for (size_t i = 0; i < series->count; i++)
    free(series->points[i].name);
  free(series->points);
  (void)pthread_mutex_destroy(&series->mutex);
  free(series);
}

/* Where the name is, or belongs. */
static size_t
place_of(const struct series *series, const char *name)
{
  size_t low = 0;
  size_t high = series->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(series->points[middle].name, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct point *
find_or_make(struct series *series, char *name)
{
  size_t at = place_of(series, name);
  if (at < series->count && strcmp(series->points[at].name, name) == 0) {
    free(name);
    return &series->points[at];
  }
  series->points = xrealloc(series->points, series->count + 1, sizeof(*series->points));
  memmove(&series->points[at + 1], &series->points[at],
          (series->count - at) * sizeof(*series->points));
  series->points[at] = (struct point){.name = name};
  series->count++;
  return &series->points[at];
}

void
series_add(struct series *series, uint64_t value, const char *name, ...)
{
  va_list args;
  va_start(args, name);
  char *text = xvasprintf(name, args);
  va_end(args);
  MUTEX_GUARD(&series->mutex);
  find_or_make(series, text)->value += value;
}

static void
render_meaning(const struct series_meaning *meanings, const char *name, size_t len,
               struct buffer *text)
{
  for (size_t i = 0; meanings[i].name; i++) {
    if (strlen(meanings[i].name) != len || strncmp(meanings[i].name, name, len) != 0)
      continue;
    CLEANUP(freep)
    char *lines = xasprintf("# HELP %s %s\n# TYPE %s %s\n", meanings[i].name, meanings[i].help,
                            meanings[i].name, meanings[i].type);
    (void)buffer_append_text(text, lines);
  }
}

void
series_render(struct series *series, const struct series_meaning *meanings, struct buffer *text)
{
  const char *before = "";
  size_t before_len = 0;
  MUTEX_GUARD(&series->mutex);
  for (size_t i = 0; i < series->count; i++) {
    const struct point *point = &series->points[i];
    size_t len = strcspn(point->name, "{");
    if (len != before_len || strncmp(before, point->name, len) != 0)
      render_meaning(meanings, point->name, len, text);
    before = point->name;
    before_len = len;
    CLEANUP(freep) char *line = xasprintf("%s %" PRIu64 "\n", point->name, point->value);
    (void)buffer_append_text(text, line);
  }
}
