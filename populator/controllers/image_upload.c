/* SPDX-License-Identifier: Apache-2.0 */
/* A VirtualMachineImage as something that a file is sent to. */
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/condition.h"
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
size(const struct kube_object *image)
{
  return json_at(image->json, "spec", "pvc", "resources", "requests", "storage");
}

static int
find_class(struct populator *populator, const struct kube_object *image,
           struct kube_object **ret_class, struct error **err)
{
  const char *name = json_text(image->json, "spec", "storageClassName");
  return storage_class_find(populator->storage_classes,
                            name ? name : json_text(image->json, "spec", "pvc", "storageClassName"),
                            ret_class, err);
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
    .size_field = "spec.pvc.resources.requests.storage",
    .once = "an image is uploaded once",
    .mirror = mirror,
    .check = check,
    .size = size,
    .find_class = find_class,
    .write = write_status,
    .state = state,
};
