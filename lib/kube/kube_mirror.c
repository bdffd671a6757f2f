/* SPDX-License-Identifier: Apache-2.0 */
/* Lists come in pages. What the first page names as resourceVersion is where the watch begins. The
 * watch asks for bookmarks, so that a quiet kind keeps a place the server still knows. */
#include "lib/kube/kube_mirror.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/kube/object_table.h"
#include "lib/kube/watch_event.h"

#define PAGE_OBJECTS 500
/* The server ends a watch after that long; each mirror a little later than the next. */
#define WATCH_S 300
/* The server writes bookmarks about once a minute; so long without a byte, the connection is dead.
 */
#define SILENCE_S 150
#define PAUSE_FIRST_MS 250
#define PAUSE_MAX_MS 15000
#define PAUSE_OPTIONAL_MS 30000

struct kube_mirror {
  struct kube_client *client;
  struct kube_mirror_options options;
  char *path;
  char *selectors; /* as part of a query, or "" */
  pthread_t thread;
  bool is_started;
  char *version; /* where the watch goes on; NULL: list first */
  unsigned failures;

  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t listed;
  bool is_listed;
  struct error *trouble; /* why it is not listed yet, or NULL */
  int64_t cut_off_at_ms; /* 0: it follows the server */
  struct object_table table;
};

/* ---- looking ----------------------------------------------------------------------------------
 */

const struct kube_kind *
kube_mirror_kind(const struct kube_mirror *mirror)
{
  return mirror->options.kind;
}

int
kube_mirror_wait(struct kube_mirror *mirror, int64_t deadline_ms, struct error **err)
{
  struct timespec until = clock_timespec_of_ms(deadline_ms);
  MUTEX_GUARD(&mirror->mutex);
  while (!mirror->is_listed && pthread_cond_timedwait(&mirror->listed, &mirror->mutex, &until) == 0)
    ;
  if (mirror->is_listed)
    return 0;
  if (mirror->trouble)
    return error_set(err, mirror->trouble->code, "%s", mirror->trouble->message);
  return error_set(err, ERROR_DEADLINE_EXCEEDED, "GET %s: no answer yet", mirror->path);
}

int64_t
kube_mirror_cut_off_ms(struct kube_mirror *mirror)
{
  MUTEX_GUARD(&mirror->mutex);
  return mirror->cut_off_at_ms ? clock_now_ms() - mirror->cut_off_at_ms : 0;
}

struct kube_object *
kube_mirror_get(struct kube_mirror *mirror, const char *ns, const char *name)
{
  MUTEX_GUARD(&mirror->mutex);
  return kube_object_hold(object_table_find(&mirror->table, ns, name));
}

struct kube_object **
kube_mirror_all(struct kube_mirror *mirror, const char *ns)
{
  MUTEX_GUARD(&mirror->mutex);
  struct kube_object **all = object_table_all(&mirror->table);
  size_t kept = 0;
  for (size_t i = 0; all[i]; i++) {
    if (!ns || strcmp(all[i]->ns, ns) == 0)
      all[kept++] = kube_object_hold(all[i]);
  }
  all[kept] = NULL;
  return all;
}

void
kube_objects_free(struct kube_object **objects)
{
  for (size_t i = 0; objects && objects[i]; i++)
    kube_object_release(objects[i]);
  free(objects);
}

/* ---- changing ---------------------------------------------------------------------------------
 */

static void
tell(struct kube_mirror *mirror, const struct kube_object *before, const struct kube_object *after)
{
  if (mirror->options.changed && (before || after))
    mirror->options.changed(mirror->options.context, before, after);
}

/* Takes the reference. An object that came twice in the same version is no change. */
static void
put(struct kube_mirror *mirror, struct kube_object *object)
{
  CLEANUP(kube_object_releasep) struct kube_object *held = kube_object_hold(object);
  CLEANUP(kube_object_releasep) struct kube_object *before = NULL;
  {
    MUTEX_GUARD(&mirror->mutex);
    before = object_table_put(&mirror->table, object);
  }
  if (!before || strcmp(before->uid, held->uid) != 0 || strcmp(before->version, held->version) != 0)
    tell(mirror, before, held);
}

static void
drop(struct kube_mirror *mirror, const char *ns, const char *name)
{
  CLEANUP(kube_object_releasep) struct kube_object *before = NULL;
  {
    MUTEX_GUARD(&mirror->mutex);
    before = object_table_remove(&mirror->table, ns, name);
  }
  tell(mirror, before, NULL);
}

/* ---- whether it can be followed ---------------------------------------------------------------
 */

/* failure NULL: it can. */
static void
note_link(struct kube_mirror *mirror, const struct error *failure)
{
  {
    MUTEX_GUARD(&mirror->mutex);
    if ((mirror->cut_off_at_ms != 0) == (failure != NULL))
      return;
    mirror->cut_off_at_ms = failure ? clock_now_ms() : 0;
  }
  if (mirror->options.cut_off)
    mirror->options.cut_off(mirror->options.context, mirror->options.kind, failure);
}

/* A place that the server has forgotten, and a kind that it need not have, are in order. */
static bool
is_cut_off(const struct kube_mirror *mirror, const struct error *failure)
{
  return failure->code != ERROR_OUT_OF_RANGE &&
         !(failure->code == ERROR_NOT_FOUND && mirror->options.is_optional);
}

/* ---- listing ----------------------------------------------------------------------------------
 */

static int
list_page(struct kube_mirror *mirror, const char *next, struct object_table *listed,
          char **ret_next, struct error **err)
{
  CLEANUP(freep)
  char *query = xasprintf("limit=%d%s%s%s", PAGE_OBJECTS, mirror->selectors,
                          next ? "&continue=" : "", next ? next : "");
  CLEANUP(json_object_putp) struct json_object *answer = NULL;
  const struct kube_request request = {.path = mirror->path, .query = query};
  if (kube_client_send(mirror->client, &request, &answer, err) < 0)
    return -1;
  const char *version = json_text(answer, "metadata", "resourceVersion");
  const char *after = json_text(answer, "metadata", "continue");
  if (!version)
    return error_set(err, ERROR_UNAVAILABLE, "GET %s: a list without resourceVersion",
                     mirror->path);
  free(mirror->version);
  mirror->version = xstrdup(version);
  *ret_next = after && *after ? xstrdup(after) : NULL;
  struct json_object *items = json_at(answer, "items");
  for (size_t i = 0; i < json_count(items); i++) {
    struct kube_object *object = kube_object_new(json_object_get(json_item(items, i)));
    if (object)
      kube_object_release(object_table_put(listed, object));
  }
  return 0;
}

static int
list_all(struct kube_mirror *mirror, struct object_table *ret_listed, struct error **err)
{
  char *next = NULL;
  do {
    CLEANUP(freep) char *from = TAKE(next);
    if (list_page(mirror, from, ret_listed, &next, err) < 0)
      return -1;
  } while (next);
  return 0;
}

/* Tells what is different from what was known. */
static void
adopt(struct kube_mirror *mirror, struct object_table *listed)
{
  CLEANUP(kube_objects_freep) struct kube_object **known = kube_mirror_all(mirror, NULL);
  for (size_t i = 0; known[i]; i++) {
    if (!object_table_find(listed, known[i]->ns, known[i]->name))
      drop(mirror, known[i]->ns, known[i]->name);
  }
  CLEANUP(freep) struct kube_object **now = object_table_all(listed);
  for (size_t i = 0; now[i]; i++)
    put(mirror, kube_object_hold(now[i]));
  MUTEX_GUARD(&mirror->mutex);
  mirror->is_listed = true;
  (void)pthread_cond_broadcast(&mirror->listed);
}

static int
list(struct kube_mirror *mirror, struct error **err)
{
  struct object_table listed = {0};
  int r = list_all(mirror, &listed, err);
  bool is_absent = r < 0 && mirror->options.is_optional && (*err)->code == ERROR_NOT_FOUND;
  if (r == 0 || is_absent) {
    adopt(mirror, &listed);
    note_link(mirror, NULL);
  }
  object_table_clear(&listed);
  if (r < 0)
    free(TAKE(mirror->version));
  return r;
}

/* ---- watching ---------------------------------------------------------------------------------
 */

static int
take_line(struct kube_mirror *mirror, const char *line, size_t len, struct error **err)
{
  if (len == 0)
    return 0;
  struct watch_event event;
  if (watch_event_parse(line, len, &event, err) < 0)
    return -1;
  free(mirror->version);
  mirror->version = TAKE(event.version);
  if (event.type == WATCH_PUT)
    put(mirror, TAKE(event.object));
  else if (event.type == WATCH_GONE)
    drop(mirror, event.object->ns, event.object->name);
  watch_event_clear(&event);
  return 0;
}

/* The complete lines of the buffer; what stands behind them stays. */
static int
take_lines(struct kube_mirror *mirror, struct buffer *text, size_t searched, struct error **err)
{
  size_t taken = 0;
  char *end;
  while ((end = memchr(text->data + searched, '\n', text->len - searched))) {
    size_t stop = (size_t)(end - text->data);
    if (take_line(mirror, text->data + taken, stop - taken, err) < 0)
      return -1;
    taken = searched = stop + 1;
  }
  text->len -= taken;
  memmove(text->data, text->data + taken, text->len);
  return 0;
}

static int
follow(struct kube_mirror *mirror, struct kube_feed *feed, struct buffer *text, struct error **err)
{
  char chunk[16384];
  for (;;) {
    ssize_t got = kube_feed_read(feed, chunk, sizeof(chunk), err);
    if (got <= 0)
      return (int)got;
    mirror->failures = 0;
    size_t before = text->len;
    if (!buffer_append(text, chunk, (size_t)got))
      return error_set(err, ERROR_OUT_OF_RANGE, "a line of the watch is longer than %d bytes",
                       KUBE_WATCH_LINE_MAX_BYTES);
    if (take_lines(mirror, text, before, err) < 0)
      return -1;
  }
}

static int
watch(struct kube_mirror *mirror, struct error **err)
{
  CLEANUP(freep)
  char *query =
      xasprintf("watch=true&allowWatchBookmarks=true&timeoutSeconds=%d"
                "&resourceVersion=%s%s",
                WATCH_S + (int)(strlen(mirror->path) % 60), mirror->version, mirror->selectors);
  CLEANUP(kube_feed_closep) struct kube_feed *feed = NULL;
  if (kube_feed_open(mirror->client, mirror->path, query, SILENCE_S, &feed, err) < 0)
    return -1;
  note_link(mirror, NULL);
  struct buffer text = {.limit = KUBE_WATCH_LINE_MAX_BYTES};
  int r = follow(mirror, feed, &text, err);
  buffer_clear(&text);
  return r;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static int64_t
pause_ms(struct kube_mirror *mirror, const struct error *failure)
{
  if (failure->code == ERROR_NOT_FOUND && mirror->options.is_optional)
    return PAUSE_OPTIONAL_MS;
  unsigned doublings = mirror->failures < 7 ? mirror->failures : 7;
  int64_t ms = (int64_t)PAUSE_FIRST_MS << doublings;
  mirror->failures++;
  return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* Takes the error. */
static void
note_trouble(struct kube_mirror *mirror, struct error *failure)
{
  MUTEX_GUARD(&mirror->mutex);
  error_free(mirror->trouble);
  mirror->trouble = failure;
}

static void *
run(void *arg)
{
  struct kube_mirror *mirror = arg;
  (void)pthread_setname_np(pthread_self(), "mirror");
  for (;;) {
    CLEANUP(error_freep) struct error *failure = NULL;
    int r = mirror->version ? watch(mirror, &failure) : list(mirror, &failure);
    if (r == 0)
      continue;
    if (failure->code == ERROR_CANCELLED)
      return NULL;
    if (failure->code == ERROR_OUT_OF_RANGE || failure->code == ERROR_NOT_FOUND)
      free(TAKE(mirror->version));
    log_debug("%s", failure->message);
    if (is_cut_off(mirror, failure))
      note_link(mirror, failure);
    int64_t ms = pause_ms(mirror, failure);
    note_trouble(mirror, TAKE(failure));
    if (!kube_client_sleep(mirror->client, ms))
      return NULL;
  }
}

static char *
selectors_of(const struct kube_mirror_options *options)
{
  const char *labels = options->labels;
  const char *name = options->name;
  return xasprintf("%s%s%s%s", labels ? "&labelSelector=" : "", labels ? labels : "",
                   name ? "&fieldSelector=metadata.name%3D" : "", name ? name : "");
}

struct kube_mirror *
kube_mirror_new(struct kube_client *client, const struct kube_mirror_options *options)
{
  struct kube_mirror *mirror = xcalloc(1, sizeof(*mirror));
  mirror->client = client;
  mirror->options = *options;
  mirror->path = kube_kind_path(options->kind, options->ns, NULL, NULL);
  mirror->selectors = selectors_of(options);
  (void)pthread_mutex_init(&mirror->mutex, NULL);
  condition_init(&mirror->listed);
  return mirror;
}

void
kube_mirror_start(struct kube_mirror *mirror)
{
  if (pthread_create(&mirror->thread, NULL, run, mirror) != 0)
    abort(); /* no program runs without its threads */
  mirror->is_started = true;
}

void
kube_mirror_free(struct kube_mirror *mirror)
{
  if (!mirror)
    return;
  if (mirror->is_started)
    (void)pthread_join(mirror->thread, NULL);
  object_table_clear(&mirror->table);
  free(mirror->path);
  free(mirror->selectors);
  free(mirror->version);
  error_free(mirror->trouble);
  (void)pthread_mutex_destroy(&mirror->mutex);
  (void)pthread_cond_destroy(&mirror->listed);
  free(mirror);
}
