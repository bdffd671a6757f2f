/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/directory.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/ask_all.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/wire.h"

/* The object that librbd keeps a location's names and ids in. */
#define DIRECTORY_OBJECT "rbd_directory"
/* More than any id or name has. */
#define ANSWER_MAX 1024

/* One string to the object class, one string back. */
static int
ask(struct location *location, const char *method, const char *input, char **ret_output)
{
  struct wire_writer w = {0};
  wire_put_string(&w, input);
  char answer[ANSWER_MAX];
  int r = CEPH_CALL(rados_exec(location->ioctx, DIRECTORY_OBJECT, "rbd", method, w.data, w.len,
                               answer, sizeof(answer)));
  wire_writer_clear(&w);
  if (r < 0)
    return r;
  struct wire_reader reader = {.at = answer, .left = (size_t)r};
  *ret_output = wire_get_string(&reader);
  return *ret_output ? 0 : -EBADMSG;
}

int
directory_id_of(struct location *location, const char *name, char **ret_id, struct error **err)
{
  int r = ask(location, "dir_get_id", name, ret_id);
  if (r == -ENOENT)
    return error_set(err, ERROR_NOT_FOUND, "there is no image '%s/%s'", location->label, name);
  if (r < 0)
    return location_error_set(location, err, r, "look up image '%s/%s'", location->label, name);
  return 0;
}

int
directory_name_of(struct location *location, const char *id, char **ret_name, struct error **err)
{
  int r = ask(location, "dir_get_name", id, ret_name);
  if (r == -ENOENT)
    return error_set(err, ERROR_NOT_FOUND, "there is no image with id '%s' in '%s'", id,
                     location->label);
  if (r < 0)
    return location_error_set(location, err, r, "look up image id '%s' in '%s'", id,
                              location->label);
  return 0;
}

/* The object that leads from the name to the id, unless it leads to another one by now. */
int
directory_remove_name(struct location *location, const char *name, const char *id)
{
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  struct wire_writer content = {0};
  wire_put_string(&content, id);
  rados_write_op_t op = rados_create_write_op();
  int compared = 0;
  rados_write_op_cmpext(op, content.data, content.len, 0, &compared);
  rados_write_op_remove(op);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  wire_writer_clear(&content);
  /* Another content is answered by -MAX_ERRNO minus where it differs. */
  return r == -ENOENT || r <= -4095 ? 0 : r;
}

static int
remove_entry(struct location *location, const char *name, const char *id)
{
  char answer[1];
  struct wire_writer w = {0};
  wire_put_string(&w, name);
  wire_put_string(&w, id);
  int r = CEPH_CALL(rados_exec(location->ioctx, DIRECTORY_OBJECT, "rbd", "dir_remove_image", w.data,
                               w.len, answer, sizeof(answer)));
  wire_writer_clear(&w);
  return r == -ENOENT || r == -ESTALE || r > 0 ? 0 : r;
}

int
directory_remove(struct location *location, const char *name, const char *id)
{
  int r = directory_remove_name(location, name, id);
  return r < 0 ? r : remove_entry(location, name, id);
}

int
directory_read_name(struct location *location, const char *name, char **ret_id)
{
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  char content[ANSWER_MAX];
  int r = CEPH_CALL(rados_read(location->ioctx, object, content, sizeof(content), 0));
  if (r < 0)
    return r;
  struct wire_reader reader = {.at = content, .left = (size_t)r};
  *ret_id = wire_get_string(&reader);
  return *ret_id ? 0 : -EBADMSG;
}

/* Fine when it is there already and leads to this id. */
static int
make_name_object(struct location *location, const char *name, const char *id)
{
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  struct wire_writer content = {0};
  wire_put_string(&content, id);
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
  rados_write_op_write_full(op, content.data, content.len);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  wire_writer_clear(&content);
  if (r != -EEXIST)
    return r;
  CLEANUP(freep) char *found = NULL;
  r = directory_read_name(location, name, &found);
  return found && strcmp(found, id) != 0 ? -EEXIST : r;
}

static int
rename_entry(struct location *location, const char *from, const char *to, const char *id)
{
  char answer[1];
  struct wire_writer w = {0};
  wire_put_string(&w, from);
  wire_put_string(&w, to);
  wire_put_string(&w, id);
  int r = CEPH_CALL(rados_exec(location->ioctx, DIRECTORY_OBJECT, "rbd", "dir_rename_image", w.data,
                               w.len, answer, sizeof(answer)));
  wire_writer_clear(&w);
  return r < 0 ? r : 0;
}

/* The entry comes last: it tells the next attempt under which name to go on. librbd drops the old
 * name's object behind it; killed in between, it would leave that object for ever, and killed
 * before, it would refuse to write the new one a second time. */
int
directory_rename(struct location *location, const char *from, const char *to, const char *id,
                 struct error **err)
{
  int r = make_name_object(location, to, id);
  if (r == 0)
    r = directory_remove_name(location, from, id);
  if (r == 0)
    r = rename_entry(location, from, to, id);
  if (r == -ENOENT || r == -ESTALE) { /* another process was faster, and may be further by now */
    (void)directory_drop_stray_name(location, to, NULL);
    r = -ENOENT;
  }
  if (r < 0)
    return location_error_set(location, err, r, "rename image '%s/%s' to '%s'", location->label,
                              from, to);
  return 0;
}

int
directory_drop_stray_name(struct location *location, const char *name, struct error **err)
{
  CLEANUP(freep) char *entered = NULL;
  CLEANUP(freep) char *id = NULL;
  /* The object first: whoever makes an image enters it in the directory before he makes this. */
  int r = directory_read_name(location, name, &id);
  if (r == -ENOENT)
    return 0;
  if (r == 0)
    r = ask(location, "dir_get_id", name, &entered);
  if (r == -ENOENT)
    r = directory_remove_name(location, name, id);
  if (r < 0)
    return location_error_set(location, err, r, "look where the name '%s/%s' leads",
                              location->label, name);
  return 0;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const struct directory_entry *)a)->name,
                ((const struct directory_entry *)b)->name);
}

/* All images, in an array of *ret_count that rbd_image_spec_list_cleanup() empties. */
static int
list_images(struct location *location, rbd_image_spec_t **ret_images, size_t *ret_count)
{
  size_t room = 1024;
  rbd_image_spec_t *images = NULL;
  int r;
  do {
    images = xrealloc(images, room, sizeof(*images));
    r = CEPH_CALL(rbd_list2(location->ioctx, images, &room));
  } while (r == -ERANGE);
  if (r < 0) {
    free(images);
    return r;
  }
  *ret_images = images;
  *ret_count = room;
  return 0;
}

int
directory_list(struct location *location, const char *prefix, struct directory *ret_directory,
               struct error **err)
{
  rbd_image_spec_t *images = NULL;
  size_t count = 0;
  int r = list_images(location, &images, &count);
  if (r < 0)
    return location_error_set(location, err, r, "list the images of '%s'", location->label);
  struct directory directory = {.entries =
                                    xcalloc(count ? count : 1, sizeof(struct directory_entry))};
  for (size_t i = 0; i < count; i++) {
    if (!text_starts_with(images[i].name, prefix))
      continue;
    directory.entries[directory.count++] =
        (struct directory_entry){.name = xstrdup(images[i].name), .id = xstrdup(images[i].id)};
  }
  rbd_image_spec_list_cleanup(images, count);
  free(images);
  if (directory.count > 1)
    qsort(directory.entries, directory.count, sizeof(directory.entries[0]), by_name);
  *ret_directory = directory;
  return 0;
}

void
directory_clear(struct directory *directory)
{
  for (size_t i = 0; i < directory->count; i++) {
    free(directory->entries[i].name);
    free(directory->entries[i].id);
  }
  free(directory->entries);
  *directory = (struct directory){0};
}

/* What comes right before every name that begins with prefix, the prefix itself among them: names
 * are UTF-8, which has no byte 0xff. */
static char *
just_before(const char *prefix)
{
  size_t len = strlen(prefix);
  if (len == 0)
    return xstrdup("");
  char *text = xasprintf("%s\xff", prefix);
  text[len - 1]--;
  return text;
}

bool
directory_may_have(struct location *location, const char *prefix)
{
  struct wire_writer w = {0};
  CLEANUP(freep) char *before = just_before(prefix);
  wire_put_string(&w, before); /* the first name behind it … */
  wire_put_u64(&w, 1);         /* … and no more */
  char answer[ANSWER_MAX];
  int r = CEPH_CALL(rados_exec(location->ioctx, DIRECTORY_OBJECT, "rbd", "dir_list", w.data, w.len,
                               answer, sizeof(answer)));
  wire_writer_clear(&w);
  if (r < 0)
    return r != -ENOENT; /* there is no directory before the first image */
  struct wire_reader reader = {.at = answer, .left = (size_t)r};
  uint32_t count = wire_get_u32(&reader);
  CLEANUP(freep) char *name = count > 0 ? wire_get_string(&reader) : NULL;
  return name && text_starts_with(name, prefix);
}

static void
start_find_name(struct location *location, rados_completion_t completion, const void *question,
                char answer[ASK_ALL_ANSWER_MAX])
{
  const struct wire_writer *name = question;
  (void)rados_aio_exec(location->ioctx, DIRECTORY_OBJECT, completion, "rbd", "dir_get_id",
                       name->data, name->len, answer, ASK_ALL_ANSWER_MAX);
}

int
directory_find_name(const struct locations *locations, const char *name)
{
  struct wire_writer w = {0};
  wire_put_string(&w, name);
  int found = ask_all(locations, start_find_name, &w);
  wire_writer_clear(&w);
  return found;
}
