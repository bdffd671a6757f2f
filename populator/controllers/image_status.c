/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_status.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_source.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/retry.h"

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

int
image_status_unchanged(struct populator *populator, const struct kube_object *image,
                       struct error **err)
{
  CLEANUP(freep) char *source = image_source_text(image);
  const char *before = json_text(image->json, "status", "source");
  bool is_other = before && strcmp(before, source) != 0;
  CLEANUP(freep)
  char *message = is_other ? xasprintf("spec.source was changed after the import: the image still "
                                       "is what came from %s. Make another one",
                                       before)
                           : xstrdup("");
  const struct verdict verdict = {
      .state = "Available", .reason = "VmiIsReady", .message = message, .is_ready = true};
  if (is_other)
    kube_event_tell(populator->events, &virtual_machine_images, image, KUBE_EVENT_WARNING,
                    "SourceChanged", "%s", message);
  return kube_patch_status(populator->client, &virtual_machine_images, image,
                           condition_status(image, &verdict), err);
}

int
image_status_unusable(struct populator *populator, const struct kube_object *image,
                      struct error **err)
{
  const struct verdict verdict = {
      .state = "Available",
      .reason = "SnapshotMissing",
      .message = "nothing can be made of it, since it was not imported by "
                 "Imprint: annotate it with " ANNOTATION_RETRY "=now, and it is imported anew"};
  return kube_patch_status(populator->client, &virtual_machine_images, image,
                           condition_status(image, &verdict), err);
}

struct json_object *
image_status_one(const char *name, struct json_object *value)
{
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, name, value);
  return object;
}

/* What is told for people: nothing is done about it. */
static bool
is_for_people(const char *member)
{
  return strcmp(member, "progress") == 0 || strcmp(member, "conditions") == 0 ||
         strcmp(member, "bytesFetched") == 0;
}

/* Whether the first has something in its status that the other one has not. */
static bool
has_other_status(const struct kube_object *image, const struct kube_object *other)
{
  struct json_object *status = json_at(image->json, "status");
  if (!status)
    return false;
  json_object_object_foreach(status, name, value)
  {
    if (!is_for_people(name) && strcmp(name, "upload") != 0 &&
        !json_object_equal(value, json_at(other->json, "status", name)))
      return true;
  }
  return false;
}

bool
image_status_is_news(const struct kube_object *before, const struct kube_object *after)
{
  return before->generation != after->generation || before->is_deleting != after->is_deleting ||
         kube_object_has_finalizer(before, FINALIZER_CLEANUP) !=
             kube_object_has_finalizer(after, FINALIZER_CLEANUP) ||
         has_other_status(before, after) || has_other_status(after, before) ||
         upload_record_is_step(before, after) || retry_is_asked(after);
}
