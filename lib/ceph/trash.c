/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/trash.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/ghost_watch.h"
#include "lib/ceph/wire.h"

#define TRASH_OBJECT "rbd_trash"

/* As the object class numbers them. */
enum { SOURCE_USER = 0, SOURCE_REMOVING = 3, SOURCE_USER_PARENT = 4 };
enum { STATE_NORMAL = 0, STATE_MOVING = 1 };

/* Entries read at once. */
#define PAGE 256
/* librbd removes an image by way of the trash, within moments; after this long it has been killed.
 */
#define REMOVING_SECONDS 10

/* A method of the object class that answers nothing. */
static int
call_class(struct location *location, const char *object, const char *method,
           const struct wire_writer *input)
{
  char answer[1];
  int r = CEPH_CALL(rados_exec(location->ioctx, object, "rbd", method, input->data, input->len,
                               answer, sizeof(answer)));
  return r < 0 ? r : 0;
}

static void
put_time(struct wire_writer *w, const struct timespec *time)
{
  wire_put_u32(w, (uint32_t)time->tv_sec);
  wire_put_u32(w, (uint32_t)time->tv_nsec);
}

/* Enters the image in the trash, marked as being moved. */
static int
add_entry(struct location *location, const char *name, const char *id)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  struct wire_writer spec = {0}, w = {0};
  wire_put_u8(&spec, SOURCE_USER);
  wire_put_string(&spec, name);
  put_time(&spec, &now); /* deleted at */
  put_time(&spec, &now); /* may be removed from */
  wire_put_u8(&spec, STATE_MOVING);
  wire_put_string(&w, id);
  wire_put_struct(&w, 2, 1, &spec);
  int r = call_class(location, TRASH_OBJECT, "trash_add", &w);
  wire_writer_clear(&spec);
  wire_writer_clear(&w);
  return r == -EEXIST ? 0 : r;
}

/* Marks it as moved: from here on it may be removed. */
static int
finish_entry(struct location *location, const char *id)
{
  struct wire_writer w = {0};
  wire_put_string(&w, id);
  wire_put_u8(&w, STATE_NORMAL);
  wire_put_u8(&w, STATE_MOVING);
  int r = call_class(location, TRASH_OBJECT, "trash_state_set", &w);
  wire_writer_clear(&w);
  /* Somebody else has marked it, or removed it already. */
  return r == -ENOENT || r == -ESTALE ? 0 : r;
}

static int
move(struct location *location, const char *name, const char *id)
{
  int r = add_entry(location, name, id);
  if (r == 0)
    r = directory_remove(location, name, id);
  if (r == 0)
    r = finish_entry(location, id);
  return r;
}

int
trash_prepare(struct location *location, struct error **err)
{
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, TRASH_OBJECT, NULL, 0));
  rados_release_write_op(op);
  if (r < 0)
    return location_error_set(location, err, r, "make the trash of '%s'", location->label);
  return 0;
}

int
trash_move(struct location *location, const char *name, const char *id, struct error **err)
{
  int r = move(location, name, id);
  if (r < 0)
    return location_error_set(location, err, r, "move image '%s/%s' to the trash", location->label,
                              name);
  return 0;
}

/* An entry as the object class keeps it. */
struct spec {
  uint8_t source;
  char *name;
  time_t deleted_s;
  time_t due_s;
};

static time_t
get_time(struct wire_reader *r)
{
  time_t seconds = wire_get_u32(r);
  (void)wire_get_u32(r); /* nanoseconds */
  return seconds;
}

static void
get_spec(struct wire_reader *r, struct spec *ret_spec)
{
  struct wire_reader body;
  wire_get_struct(r, &body);
  ret_spec->source = wire_get_u8(&body);
  ret_spec->name = wire_get_string(&body);
  ret_spec->deleted_s = get_time(&body);
  ret_spec->due_s = get_time(&body);
  r->failed = r->failed || body.failed;
}

/* Those of the mirror and of migrations are theirs. */
static bool
is_wanted(const struct spec *spec, const char *prefix)
{
  return text_starts_with(spec->name, prefix) &&
         (spec->source == SOURCE_USER || spec->source == SOURCE_USER_PARENT ||
          spec->source == SOURCE_REMOVING);
}

void
trash_append(struct trash *trash, const struct trash_entry *entry)
{
  trash->entries = xrealloc(trash->entries, trash->count + 1, sizeof(trash->entries[0]));
  trash->entries[trash->count++] =
      (struct trash_entry){.id = xstrdup(entry->id), .name = xstrdup(entry->name)};
}

static void
add_if_due(struct trash *trash, char *id, const struct spec *spec)
{
  time_t now = time(NULL);
  if (spec->source == SOURCE_REMOVING && now < spec->deleted_s + REMOVING_SECONDS) {
    trash->is_being_removed = true;
    return;
  }
  if (now >= spec->due_s)
    trash_append(trash, &(struct trash_entry){.id = id, .name = spec->name});
}

/* One page of the list; *last is the id that it ends with, and the next begins behind. */
static int
get_page(struct wire_reader *r, const char *prefix, struct trash *trash, char **last,
         uint32_t *ret_count)
{
  *ret_count = wire_get_u32(r);
  for (uint32_t i = 0; i < *ret_count && !r->failed; i++) {
    struct spec spec = {0};
    char *id = wire_get_string(r);
    get_spec(r, &spec);
    if (!r->failed && id && is_wanted(&spec, prefix))
      add_if_due(trash, id, &spec);
    free(spec.name);
    free(*last);
    *last = id;
  }
  return r->failed || !*last ? -EBADMSG : 0;
}

static int
read_page(struct location *location, const char *prefix, struct trash *trash, char **last,
          uint32_t *ret_count)
{
  struct wire_writer w = {0};
  char *answer = NULL;
  size_t len = 0;
  int result = 0;
  wire_put_string(&w, *last);
  wire_put_u64(&w, PAGE);
  rados_read_op_t op = rados_create_read_op();
  rados_read_op_exec(op, "rbd", "trash_list", w.data, w.len, &answer, &len, &result);
  int r = CEPH_CALL(rados_read_op_operate(op, location->ioctx, TRASH_OBJECT, 0));
  rados_release_read_op(op);
  wire_writer_clear(&w);
  if (r == 0) {
    struct wire_reader reader = {.at = answer, .left = len, .failed = !answer};
    r = get_page(&reader, prefix, trash, last, ret_count);
  }
  if (answer)
    rados_buffer_free(answer);
  return r;
}

/* Not by librbd's own function: it hides what librbd itself was killed in removing. */
int
trash_list(struct location *location, const char *prefix, struct trash *ret_trash,
           struct error **err)
{
  struct trash trash = {0};
  CLEANUP(freep) char *last = xstrdup("");
  uint32_t count = 0;
  int r;
  do {
    r = read_page(location, prefix, &trash, &last, &count);
  } while (r == 0 && count == PAGE);
  if (r < 0 && r != -ENOENT) { /* ENOENT: nothing was ever deleted here */
    trash_clear(&trash);
    return location_error_set(location, err, r, "list the trash of '%s'", location->label);
  }
  *ret_trash = trash;
  return 0;
}

void
trash_clear(struct trash *trash)
{
  for (size_t i = 0; i < trash->count; i++) {
    free(trash->entries[i].id);
    free(trash->entries[i].name);
  }
  free(trash->entries);
  *trash = (struct trash){0};
}

int
trash_remove(struct location *location, const struct trash_entry *entry, struct error **err)
{
  int r = CEPH_CALL(rbd_trash_remove(location->ioctx, entry->id, false));
  if (r == -EUCLEAN) { /* whoever moved it was killed before he was done */
    r = move(location, entry->name, entry->id);
    if (r == 0)
      r = CEPH_CALL(rbd_trash_remove(location->ioctx, entry->id, false));
  }
  if (r == -EBUSY && ghost_watch_remove(location, entry->id))
    r = CEPH_CALL(rbd_trash_remove(location->ioctx, entry->id, false));
  if (r < 0 && r != -ENOENT)
    return location_error_set(location, err, r, "remove '%s' from the trash of '%s'", entry->name,
                              location->label);
  return 0;
}
