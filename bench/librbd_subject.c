/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/librbd_subject.h"

#include <errno.h>
#include <rados/librados.h>
#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"

/* What images are made with by default, here and in the drivers. */
#define FEATURES                                                                                   \
  (RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK | RBD_FEATURE_OBJECT_MAP |                    \
   RBD_FEATURE_FAST_DIFF | RBD_FEATURE_DEEP_FLATTEN)
#define CLONE_FORMAT 2
/* Of the clone of a live volume: it goes as soon as the clone is there. */
#define PASSING_SNAPSHOT "passing"

struct librbd_subject {
  struct subject subject;
  rados_t rados;
  rados_ioctx_t ioctx;
};

static rados_ioctx_t
ioctx_of(struct subject *subject)
{
  return ((struct librbd_subject *)subject)->ioctx;
}

static int
result(int r, const char *what, const char *name, struct error **err)
{
  return r < 0 ? error_set_errno(err, -r, "%s '%s'", what, name) : 0;
}

static void
image_options_destroyp(rbd_image_options_t *options)
{
  rbd_image_options_destroy(*options);
}

static rbd_image_options_t
make_options(void)
{
  rbd_image_options_t options;
  rbd_image_options_create(&options);
  (void)rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_FEATURES, FEATURES);
  return options;
}

static void
image_closep(rbd_image_t *image)
{
  if (*image)
    (void)rbd_close(*image);
}

static int
open_image(struct subject *subject, const char *name, rbd_image_t *ret_image, struct error **err)
{
  return result(rbd_open(ioctx_of(subject), name, ret_image, NULL), "open", name, err);
}

static int
create_blank(struct subject *subject, const struct volume_request *request, struct error **err)
{
  CLEANUP(image_options_destroyp) rbd_image_options_t options = make_options();
  return result(rbd_create4(ioctx_of(subject), request->name, request->size_bytes, options),
                "create", request->name, err);
}

static int
clone_snapshot(struct subject *subject, const char *image, const char *snapshot, const char *name,
               struct error **err)
{
  CLEANUP(image_options_destroyp) rbd_image_options_t options = make_options();
  (void)rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_CLONE_FORMAT, CLONE_FORMAT);
  rados_ioctx_t ioctx = ioctx_of(subject);
  return result(rbd_clone3(ioctx, image, snapshot, ioctx, name, options), "clone to", name, err);
}

static int
restore(struct subject *subject, const struct volume_request *request, struct error **err)
{
  const char *at = strchr(request->source_id, '@');
  CLEANUP(freep) char *image = xstrndup(request->source_id, (size_t)(at - request->source_id));
  return clone_snapshot(subject, image, at + 1, request->name, err);
}

static int
clone_live(struct subject *subject, const struct volume_request *request, struct error **err)
{
  CLEANUP(image_closep) rbd_image_t image = NULL;
  if (open_image(subject, request->source_id, &image, err) < 0 ||
      result(rbd_snap_create(image, PASSING_SNAPSHOT), "snapshot", request->source_id, err) < 0 ||
      clone_snapshot(subject, request->source_id, PASSING_SNAPSHOT, request->name, err) < 0)
    return -1;
  return result(rbd_snap_remove(image, PASSING_SNAPSHOT), "remove the snapshot of",
                request->source_id, err);
}

/* To find that it is there: the least that can be done. */
static int
look_again(struct subject *subject, const char *name, struct error **err)
{
  CLEANUP(image_closep) rbd_image_t image = NULL;
  return open_image(subject, name, &image, err);
}

static int
create_volume(struct subject *subject, const struct volume_request *request, int64_t timeout_ms,
              char **ret_id, struct error **err)
{
  (void)timeout_ms;
  int r = -1;
  if (request->is_again)
    r = look_again(subject, request->name, err);
  else if (request->source == SOURCE_NONE)
    r = create_blank(subject, request, err);
  else if (request->source == SOURCE_SNAPSHOT)
    r = restore(subject, request, err);
  else
    r = clone_live(subject, request, err);
  if (r == 0)
    *ret_id = xstrdup(request->name);
  return r;
}

static int
create_snapshot(struct subject *subject, const char *name, const char *volume_id,
                int64_t timeout_ms, char **ret_id, struct error **err)
{
  (void)timeout_ms;
  CLEANUP(image_closep) rbd_image_t image = NULL;
  if (open_image(subject, volume_id, &image, err) < 0 ||
      result(rbd_snap_create(image, name), "snapshot", volume_id, err) < 0)
    return -1;
  *ret_id = xasprintf("%s@%s", volume_id, name);
  return 0;
}

static int
expand_volume(struct subject *subject, const char *volume_id, uint64_t size_bytes,
              int64_t timeout_ms, struct error **err)
{
  (void)timeout_ms;
  CLEANUP(image_closep) rbd_image_t image = NULL;
  if (open_image(subject, volume_id, &image, err) < 0)
    return -1;
  return result(rbd_resize(image, size_bytes), "resize", volume_id, err);
}

static int
delete_volume(struct subject *subject, const char *volume_id, int64_t timeout_ms,
              struct error **err)
{
  (void)timeout_ms;
  return result(rbd_trash_move(ioctx_of(subject), volume_id, 0), "move to the trash", volume_id,
                err);
}

static int
delete_snapshot(struct subject *subject, const char *snapshot_id, int64_t timeout_ms,
                struct error **err)
{
  (void)timeout_ms;
  const char *at = strchr(snapshot_id, '@');
  CLEANUP(freep) char *name = xstrndup(snapshot_id, (size_t)(at - snapshot_id));
  CLEANUP(image_closep) rbd_image_t image = NULL;
  if (open_image(subject, name, &image, err) < 0)
    return -1;
  return result(rbd_snap_remove(image, at + 1), "remove snapshot", snapshot_id, err);
}

static int
list_deleted(struct subject *subject, char ***ret_ids, size_t *ret_count, struct error **err)
{
  size_t room = 256;
  CLEANUP(freep) rbd_trash_image_info_t *infos = NULL;
  int r;
  do {
    infos = xrealloc(infos, room, sizeof(*infos));
    r = rbd_trash_list(ioctx_of(subject), infos, &room);
  } while (r == -ERANGE);
  if (r < 0)
    return error_set_errno(err, -r, "list the trash");
  char **ids = xcalloc((size_t)r + 1, sizeof(char *));
  for (int i = 0; i < r; i++)
    ids[i] = xstrdup(infos[i].id);
  rbd_trash_list_cleanup(infos, (size_t)r);
  *ret_ids = ids;
  *ret_count = (size_t)r;
  return 0;
}

static int
purge_deleted(struct subject *subject, const char *id, struct error **err)
{
  return result(rbd_trash_remove(ioctx_of(subject), id, false), "remove from the trash", id, err);
}

static const struct subject_ops ops = {
    .create_volume = create_volume,
    .create_snapshot = create_snapshot,
    .expand_volume = expand_volume,
    .delete_volume = delete_volume,
    .delete_snapshot = delete_snapshot,
    .list_deleted = list_deleted,
    .purge_deleted = purge_deleted,
};

static int
connect_to(struct librbd_subject *self, const struct librbd_place *place, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("client.%s", place->user);
  int r = rados_create2(&self->rados, "ceph", name, 0);
  if (r < 0)
    return result(r, "make a client", name, err);
  r = rados_conf_read_file(self->rados, place->conf_file);
  if (r < 0)
    return result(r, "read", place->conf_file, err);
  if (place->keyring)
    (void)rados_conf_set(self->rados, "keyring", place->keyring);
  (void)rados_conf_set(self->rados, "admin_socket", "");
  r = rados_connect(self->rados);
  if (r < 0)
    return result(r, "connect as", name, err);
  r = rados_ioctx_create(self->rados, place->pool, &self->ioctx);
  return result(r, "open pool", place->pool, err);
}

int
librbd_subject_open(const struct librbd_place *place, struct subject **ret_subject,
                    struct error **err)
{
  struct librbd_subject *self = xcalloc(1, sizeof(*self));
  self->subject.ops = &ops;
  CLEANUP(librbd_subject_closep) struct subject *subject = &self->subject;
  if (connect_to(self, place, err) < 0)
    return -1;
  *ret_subject = TAKE(subject);
  return 0;
}

void
librbd_subject_close(struct subject *subject)
{
  if (!subject)
    return;
  struct librbd_subject *self = (struct librbd_subject *)subject;
  if (self->ioctx)
    rados_ioctx_destroy(self->ioctx);
  if (self->rados)
    rados_shutdown(self->rados);
  free(self);
}

int
librbd_subject_idle(struct subject *subject, const char *name, struct error **err)
{
  const struct volume_request request = {.name = name, .size_bytes = 1ULL << 30};
  CLEANUP(image_closep) rbd_image_t image = NULL;
  if (create_blank(subject, &request, err) < 0 || open_image(subject, name, &image, err) < 0)
    return -1;
  (void)puts("{\"phase\":\"idle\"}");
  (void)fflush(stdout);
  while (getchar() != EOF)
    ;
  return 0;
}
