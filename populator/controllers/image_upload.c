/* SPDX-License-Identifier: Apache-2.0 */
/* A VirtualMachineImage as something that a file is sent to. */
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_status.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/storage_class.h"

static struct kube_mirror *
mirror(const struct populator *populator)
{
  return populator->images;
}

static const char *
state(const struct kube_object *image, enum upload_outcome *ret_outcome)
{
  const char *text = condition_state(image);
  *ret_outcome = strcmp(text, "Available") == 0 ? UPLOAD_READY
                 : strcmp(text, "Error") == 0   ? UPLOAD_BAD
                                                : UPLOAD_PENDING;
  return text;
}

static int
check(const struct kube_object *image, const char *checksum, struct error **err)
{
  const char *wanted = json_text(image->json, "spec", "checksum");
  if (wanted && checksum && strcasecmp(wanted, checksum) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "X-Checksum is another one than spec.checksum of the image, %.200s", wanted);
  return 0;
}

static struct json_object *
size(const struct kube_object *image, const char **ret_field)
{
  *ret_field = "spec.pvc.resources.requests.storage";
  return json_at(image->json, "spec", "pvc", "resources", "requests", "storage");
}

static int
find_class(struct populator *populator, const struct kube_object *image,
           struct kube_object **ret_class, struct error **err)
{
  return storage_class_find(populator->storage_classes, image_claim_class(image), ret_class, err);
}

static struct json_object *
volume_status(const struct made_volume *volume, uint64_t disk_bytes)
{
  char size[QUANTITY_TEXT_BYTES];
  struct json_object *status = image_status_one("volumeHandle", NULL);
  json_put_text(status, volume->handle, "volumeHandle");
  json_put_text(status, quantity_text(volume->capacity_bytes, size), "size");
  json_put_at(status, json_object_new_int64(disk_bytes ? (int64_t)disk_bytes : -1), "virtualSize");
  return status;
}

static int
drop_volume(struct populator *populator, const struct kube_object *image, struct error **err)
{
  const char *handle = json_text(image->json, "status", "volumeHandle");
  if (!handle)
    return 0;
  if (image_claim_remove(populator, image, handle, err) < 0)
    return -1;
  struct json_object *status = image_status_one("volumeHandle", NULL);
  json_object_object_add(status, "virtualSize", NULL);
  json_object_object_add(status, "size", NULL);
  return kube_patch_status(populator->client, &virtual_machine_images, image, status, err);
}

/* The claim, and the volume. Both are as large as the disk of an upload before this one, which may
 * be another: then they are made anew. */
static int
make_volume(struct populator *populator, const struct kube_object *image, uint64_t disk_bytes,
            char **ret_handle, struct error **err)
{
  int64_t made_bytes = json_number(image->json, "status", "virtualSize");
  struct image_claim claim;
  struct made_volume volume;
  if (made_bytes != 0 && made_bytes != (disk_bytes ? (int64_t)disk_bytes : -1) &&
      drop_volume(populator, image, err) < 0)
    return -1;
  if (image_claim_open(populator, image, disk_bytes, &claim, err) < 0)
    return -1;
  int r = image_claim_volume(populator, &claim, &volume, err);
  image_claim_clear(&claim);
  if (r < 0)
    return -1;
  CLEANUP(freep) char *handle = xstrdup(volume.handle);
  struct json_object *status = volume_status(&volume, disk_bytes);
  made_volume_clear(&volume);
  if (kube_patch_status(populator->client, &virtual_machine_images, image, status, err) < 0)
    return -1;
  *ret_handle = TAKE(handle);
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

const struct upload_kind image_upload = {
    .kind = &virtual_machine_images,
    .collection = "images",
    .once = "an image is uploaded once",
    .mirror = mirror,
    .check = check,
    .size = size,
    .find_class = find_class,
    .make_volume = make_volume,
    .drop_volume = drop_volume,
    .write = write_status,
    .state = state,
};
