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
enum { SOURCE_USER = 0 };
enum { STATE_NORMAL = 0, STATE_MOVING = 1 };

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
trash_move(struct location *location, const char *name, const char *id, struct error **err)
{
  int r = move(location, name, id);
  if (r < 0)
    return location_error_set(location, err, r, "move image '%s/%s' to the trash", location->label,
                              name);
  return 0;
}

int
trash_list(struct location *location, const char *prefix, struct trash *ret_trash,
           struct error **err)
{
  size_t room = 256;
  rbd_trash_image_info_t *infos = NULL;
  int r;
  do {
    infos = xrealloc(infos, room, sizeof(*infos));
    r = CEPH_CALL(rbd_trash_list(location->ioctx, infos, &room));
  } while (r == -ERANGE);
  if (r < 0) {
    free(infos);
    return location_error_set(location, err, r, "list the trash of '%s'", location->label);
  }
  size_t count = (size_t)r;
  time_t now = time(NULL);
  struct trash trash = {.entries = xcalloc(count ? count : 1, sizeof(struct trash_entry))};
  for (size_t i = 0; i < count; i++) {
    if (!text_starts_with(infos[i].name, prefix) || infos[i].deferment_end_time > now)
      continue;
    trash.entries[trash.count++] =
        (struct trash_entry){.id = xstrdup(infos[i].id), .name = xstrdup(infos[i].name)};
  }
  rbd_trash_list_cleanup(infos, count);
  free(infos);
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
