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
#include "lib/ceph/wire.h"

/* The states of an entry, as the object class numbers them. */
enum { STATE_NORMAL = 0, STATE_MOVING = 1 };

/* The purger, which takes an entry that is being moved for the remains of a killed process, may
 * finish the move and begin the removal while we are still at it. librbd then says that the entry
 * is gone or stale; what was asked for is done as soon as the name leads nowhere. */
static int
move(struct location *location, const char *name)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *id = NULL;
  int r = CEPH_CALL(rbd_trash_move(location->ioctx, name, 0));
  if (r == -ESTALE && directory_id_of(location, name, &id, &failure) < 0 &&
      failure->code == ERROR_NOT_FOUND)
    return -ENOENT;
  return r;
}

int
trash_move(struct location *location, const char *name, struct error **err)
{
  int r = move(location, name);
  if (r < 0 && r != -ENOENT)
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

/* Whoever moved this entry was killed before he marked it as moved. librbd's own way to go on is to
 * move the *name* again, which could hit a younger image of the same name; so the move is finished
 * here by the id: by name only while that name still leads to this id, else by setting the mark. */
static int
finish_move(struct location *location, const struct trash_entry *entry)
{
  CLEANUP(freep) char *id = NULL;
  if (directory_id_of(location, entry->name, &id, NULL) == 0 && strcmp(id, entry->id) == 0)
    return move(location, entry->name);
  struct wire_writer w = {0};
  wire_put_string(&w, entry->id);
  wire_put_u8(&w, STATE_NORMAL);
  wire_put_u8(&w, STATE_MOVING);
  char answer[1];
  int r = CEPH_CALL(rados_exec(location->ioctx, "rbd_trash", "rbd", "trash_state_set", w.data,
                               w.len, answer, sizeof(answer)));
  wire_writer_clear(&w);
  return r < 0 ? r : 0;
}

int
trash_remove(struct location *location, const struct trash_entry *entry, struct error **err)
{
  int r = CEPH_CALL(rbd_trash_remove(location->ioctx, entry->id, false));
  if (r == -EUCLEAN) {
    r = finish_move(location, entry);
    if (r == 0)
      r = CEPH_CALL(rbd_trash_remove(location->ioctx, entry->id, false));
  }
  if (r < 0 && r != -ENOENT)
    return location_error_set(location, err, r, "remove '%s' from the trash of '%s'", entry->name,
                              location->label);
  return 0;
}
