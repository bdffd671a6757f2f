/* SPDX-License-Identifier: Apache-2.0 */
/* The size is on record before the volume is made, and names it together with the image: so one
 * that was made by a process which died then is found again, and removed. */
#include "populator/controllers/image_upload.h"

#include <inttypes.h>

#include "lib/base/memory.h"
#include "populator/objects/condition.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

bool
image_upload_is_source(const struct kube_object *image)
{
  return json_at(image->json, "spec", "source", "upload") != NULL;
}

void
image_upload_look(const struct kube_object *image, struct image_upload *ret_upload)
{
  struct json_object *upload = json_at(image->json, "status", "upload");
  int64_t size = json_number(upload, "size");
  int64_t offset = json_number(upload, "offset");
  *ret_upload = (struct image_upload){
      .size = size > 0 ? (uint64_t)size : 0,
      .offset = offset > 0 ? (uint64_t)offset : 0,
      .handle = json_text(upload, "handle"),
      .checksum = json_text(upload, "checksum"),
  };
}

bool
image_upload_is_complete(const struct kube_object *image)
{
  struct image_upload upload;
  image_upload_look(image, &upload);
  return upload.size > 0 && upload.offset == upload.size;
}

static int
make_volume(struct populator *populator, const struct kube_object *image, uint64_t size,
            char **ret_handle, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(freep) char *name = xasprintf("upload-%s-%" PRIu64, image->uid, size);
  const char *class_name = json_text(image->json, "spec", "storageClassName");
  struct made_volume volume;
  if (storage_class_find(populator->storage_classes,
                         class_name ? class_name
                                    : json_text(image->json, "spec", "pvc", "storageClassName"),
                         &storage_class, err) < 0)
    return error_wrap(err, "spec.storageClassName");
  if (!storage_class_is_of(storage_class, populator->driver))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "spec.storageClassName: StorageClass '%s' is of another driver than %s",
                     storage_class->name, populator->driver);
  const struct volume_order order = {.name = name, .bytes = size, .storage_class = storage_class};
  if (volumes_create(populator->controller, &order, &volume, err) < 0)
    return -1;
  *ret_handle = TAKE(volume.handle);
  made_volume_clear(&volume);
  return 0;
}

static int
write_status(struct populator *populator, const struct kube_object *image,
             struct json_object *upload, double percent, struct error **err)
{
  const struct verdict verdict = {
      .state = "Creating", .reason = "VmiIsCreating", .message = "the image is being uploaded"};
  CLEANUP(freep) char *progress = xasprintf("%.1f%%", percent);
  struct json_object *status = condition_status(image, &verdict);
  json_put_at(status, upload, "upload");
  json_put_text(status, progress, "progress");
  return kube_patch_status(populator->client, &virtual_machine_images, image, status, err);
}

int
image_upload_begin(struct populator *populator, const struct kube_object *image, uint64_t size,
                   const char *checksum, char **ret_handle, struct error **err)
{
  struct image_upload before;
  image_upload_look(image, &before);
  if (before.size != size && image_upload_discard(populator, image, err) < 0)
    return -1;
  struct json_object *upload = json_object_new_object();
  json_put_at(upload, json_object_new_int64((int64_t)size), "size");
  json_put_at(upload, json_object_new_int64(0), "offset");
  json_put_at(upload, checksum ? json_object_new_string(checksum) : NULL, "checksum");
  if (before.size != size)
    json_put_at(upload, NULL, "handle");
  if (write_status(populator, image, upload, 0, err) < 0 ||
      make_volume(populator, image, size, ret_handle, err) < 0)
    return -1;
  upload = json_object_new_object();
  json_put_text(upload, *ret_handle, "handle");
  if (write_status(populator, image, upload, 0, err) == 0)
    return 0;
  free(*ret_handle);
  return -1;
}

int
image_upload_record(struct populator *populator, const struct kube_object *image, uint64_t size,
                    uint64_t offset, struct error **err)
{
  struct json_object *upload = json_object_new_object();
  json_put_at(upload, json_object_new_int64((int64_t)offset), "offset");
  return write_status(populator, image, upload, 100.0 * (double)offset / (double)size, err);
}

int
image_upload_discard(struct populator *populator, const struct kube_object *image,
                     struct error **err)
{
  struct image_upload upload;
  image_upload_look(image, &upload);
  if (upload.size == 0)
    return 0;
  if (upload.handle)
    return volumes_delete(populator->controller, upload.handle, err);
  CLEANUP(freep) char *handle = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (make_volume(populator, image, upload.size, &handle, &failure) == 0)
    return volumes_delete(populator->controller, handle, err);
  bool is_hopeless =
      failure->code == ERROR_FAILED_PRECONDITION || failure->code == ERROR_INVALID_ARGUMENT;
  return is_hopeless ? 0 : error_set(err, failure->code, "%s", failure->message);
}
