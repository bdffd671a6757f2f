/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_view.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define INTERVAL_MS 500

enum view_kind { VIEW_NONE, VIEW_LINE, VIEW_JSON };

struct progress_view {
  const char *verb;
  struct progress *progress;
  enum view_kind kind;
  int64_t started_ms;
  uint64_t started_at; /* position when it began: a resumed transfer starts in the middle */
  pthread_t thread;
  pthread_mutex_t mutex; /* guards is_over */
  pthread_cond_t change;
  bool is_over;
};

static void
show_line(const struct progress_view *view, uint64_t position, uint64_t total, double rate)
{
  char done[TEXT_BYTES_MAX], all[TEXT_BYTES_MAX], speed[TEXT_BYTES_MAX];
  (void)text_of_about_bytes(position, done);
  (void)text_of_about_bytes(total, all);
  (void)text_of_about_bytes((uint64_t)rate, speed);
  if (total == 0) {
    (void)fprintf(stderr, "\r\033[K%s: %s, %s/s", view->verb, done, speed);
    return;
  }
  double percent = 100.0 * (double)position / (double)total;
  (void)fprintf(stderr, "\r\033[K%s: %5.1f%%  %s of %s, %s/s", view->verb, percent, done, all,
                speed);
  if (rate > 0 && position < total) {
    uint64_t left = (uint64_t)((double)(total - position) / rate) + 1;
    (void)fprintf(stderr, ", %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
  }
}

static void
show(const struct progress_view *view)
{
  struct progress *p = view->progress;
  uint64_t position = atomic_load(&p->position);
  uint64_t total = atomic_load(&p->total);
  double seconds = (double)(clock_now_ms() - view->started_ms) / 1000;
  uint64_t moved = position > view->started_at ? position - view->started_at : 0;
  double rate = seconds > 0 ? (double)moved / seconds : 0;
  if (view->kind == VIEW_LINE) {
    show_line(view, position, total, rate);
  } else {
    char safe[40] = "";
    if (atomic_load(&p->safe) > 0)
      (void)snprintf(safe, sizeof(safe), ",\"safe\":%" PRIuFAST64, atomic_load(&p->safe));
    (void)printf("{\"event\":\"progress\",\"verb\":\"%s\",\"position\":%" PRIu64
                 ",\"total\":%" PRIu64 ",\"percent\":%.1f,\"fetched\":%" PRIuFAST64
                 ",\"written\":%" PRIuFAST64 ",\"bytesPerSecond\":%.0f%s}\n",
                 view->verb, position, total,
                 total ? 100.0 * (double)position / (double)total : 0.0, atomic_load(&p->fetched),
                 atomic_load(&p->written), rate, safe);
    (void)fflush(stdout);
  }
}

static void *
view_main(void *arg)
{
  struct progress_view *view = arg;
  (void)pthread_mutex_lock(&view->mutex);
  while (!view->is_over) {
    struct timespec until = clock_timespec_of_ms(clock_now_ms() + INTERVAL_MS);
    if (pthread_cond_timedwait(&view->change, &view->mutex, &until) == ETIMEDOUT)
      show(view);
  }
  (void)pthread_mutex_unlock(&view->mutex);
  return NULL;
}

struct progress_view *
progress_view_start(const char *verb, struct progress *progress, bool is_json)
{
  struct progress_view *view = xcalloc(1, sizeof(*view));
  view->verb = verb;
  view->progress = progress;
  view->kind = is_json ? VIEW_JSON : isatty(STDERR_FILENO) ? VIEW_LINE : VIEW_NONE;
  view->started_ms = clock_now_ms();
  view->started_at = atomic_load(&progress->position);
  (void)pthread_mutex_init(&view->mutex, NULL);
  condition_init(&view->change);
  if (view->kind != VIEW_NONE && pthread_create(&view->thread, NULL, view_main, view) != 0)
    view->kind = VIEW_NONE;
  return view;
}

void
progress_view_stop(struct progress_view *view)
{
  if (!view)
    return;
  if (view->kind != VIEW_NONE) {
    (void)pthread_mutex_lock(&view->mutex);
    view->is_over = true;
    (void)pthread_cond_broadcast(&view->change);
    (void)pthread_mutex_unlock(&view->mutex);
    (void)pthread_join(view->thread, NULL);
    show(view);
    if (view->kind == VIEW_LINE)
      (void)fputc('\n', stderr);
  }
  (void)pthread_mutex_destroy(&view->mutex);
  (void)pthread_cond_destroy(&view->change);
  free(view);
}
