/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/unfinished.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/directory.h"

/* What every header has that was made by the object class. */
#define HEADER_SIZE_KEY "size"

static int
lost(const char *name, struct error **err)
{
  return error_set(err, ERROR_ABORTED, "somebody else has finished or removed '%s' meanwhile",
                   name);
}

/* ---- with a header -----------------------------------------------------------------------------
 */

static int
doom(struct location *location, const char *id, const struct header *header, const char *mark,
     struct error **err)
{
  struct string_map set = {0};
  string_map_set(&set, UNFINISHED_DOOMED, id);
  int r = header_update_metadata_if(location, id, mark, string_map_get(&header->metadata, mark),
                                    &set, NULL, err);
  string_map_clear(&set);
  return r;
}

/* What cannot be removed yet, because its maker has it open, is left to whoever empties the trash.
 */
static int
bury(struct location *location, const char *name, const char *id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  const struct trash_entry entry = {.id = (char *)id, .name = (char *)name};
  if (trash_move(location, name, id, err) < 0)
    return -1;
  if (trash_remove(location, &entry, &failure) == 0 || failure->code == ERROR_FAILED_PRECONDITION)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- without one -------------------------------------------------------------------------------
 */

/* An empty header, unless there is a real one by now. */
static int
put_tombstone(struct location *location, const char *object)
{
  int ignored = 0;
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
  rados_write_op_omap_cmp2(op, HEADER_SIZE_KEY, LIBRADOS_CMPXATTR_OP_EQ, "",
                           strlen(HEADER_SIZE_KEY), 0, &ignored);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  return r;
}

static int
remove_object(struct location *location, const char *object)
{
  int r = CEPH_CALL(rados_remove(location->ioctx, object));
  return r == -ENOENT ? 0 : r;
}

/* The name's object goes first, because makers look at it when their header is written; the entry
 * in the directory last, because it leads the next attempt here. */
static int
clear_away(struct location *location, const char *name, const char *id)
{
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", id);
  CLEANUP(freep) char *map = xasprintf("rbd_object_map.%s", id);
  int r = put_tombstone(location, header);
  if (r == 0)
    r = directory_remove_name(location, name, id);
  if (r == 0)
    r = remove_object(location, map);
  if (r == 0)
    r = remove_object(location, header);
  return r < 0 ? r : directory_remove(location, name, id);
}

int
unfinished_take_away(struct location *location, const char *name, const char *id,
                     const struct header *header, const char *mark, struct error **err)
{
  if (header)
    return doom(location, id, header, mark, err) < 0 ? -1 : bury(location, name, id, err);
  int r = clear_away(location, name, id);
  if (r == -ECANCELED)
    return lost(name, err);
  if (r < 0)
    return location_error_set(location, err, r, "remove the unfinished image '%s/%s'",
                              location->label, name);
  return 0;
}

/* Whether nobody can want it back. */
static int
is_buried(struct location *location, const char *id, bool *ret_is, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct header header;
  *ret_is = true;
  if (header_read(location, id, &header, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  const char *doomed = string_map_get(&header.metadata, UNFINISHED_DOOMED);
  *ret_is = doomed && strcmp(doomed, id) == 0;
  header_clear(&header);
  return 0;
}

int
unfinished_list_buried(struct location *location, const char *name, struct trash *ret_trash,
                       struct error **err)
{
  struct trash trash, buried = {0};
  if (trash_list(location, name, &trash, err) < 0)
    return -1;
  int r = 0;
  for (size_t i = 0; r == 0 && i < trash.count; i++) {
    struct trash_entry *entry = &trash.entries[i];
    bool is = false;
    if (strcmp(entry->name, name) == 0)
      r = is_buried(location, entry->id, &is, err);
    if (is)
      trash_append(&buried, entry);
  }
  trash_clear(&trash);
  if (r < 0)
    trash_clear(&buried);
  else
    *ret_trash = buried;
  return r;
}

int
unfinished_is_ours(struct location *location, const char *name, const char *id, bool *ret_is,
                   struct error **err)
{
  CLEANUP(freep) char *now = NULL;
  int r = directory_read_name(location, name, &now);
  if (r < 0 && r != -ENOENT)
    return location_error_set(location, err, r, "look up image '%s/%s'", location->label, name);
  *ret_is = now && strcmp(now, id) == 0;
  return 0;
}
