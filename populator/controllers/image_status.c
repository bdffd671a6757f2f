/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_status.h"

#include "lib/base/memory.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_source.h"

int
image_status_write(struct populator *populator, const struct kube_object *image,
                   const struct verdict *verdict, struct json_object *more, struct error **err)
{
  CLEANUP(freep) char *source = image_source_text(image);
  CLEANUP(freep) char *claim = image_claim_name(image);
  struct json_object *status = condition_status(image, verdict);
  json_put_text(status, source, "source");
  json_put_text(status, claim, "pvcName");
  if (more) {
    json_object_object_foreach(more, name, value)
        json_object_object_add(status, name, json_object_get(value));
    json_object_put(more);
  }
  return kube_patch_status(populator->client, &virtual_machine_images, image, status, err);
}

int
image_status_creating(struct populator *populator, const struct kube_object *image,
                      const char *message, struct json_object *more, struct error **err)
{
  const struct verdict verdict = {
      .state = "Creating", .reason = "VmiIsCreating", .message = message};
  return image_status_write(populator, image, &verdict, more, err);
}

struct json_object *
image_status_one(const char *name, struct json_object *value)
{
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, name, value);
  return object;
}
