/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_failure.h"

#include "lib/base/memory.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_status.h"
#include "populator/controllers/upload_record.h"
#include "populator/objects/retry.h"

#define RETRIES_DEFAULT 5

static const struct kube_kind *const kind = &virtual_machine_images;

char *
image_transfer_key(const struct kube_object *image)
{
  return populator_key(&image_controller, image->ns, image->name);
}

/* Removes what was made; *ret_status is what the status has to say of that. */
static int
take_back(struct populator *populator, const struct kube_object *image,
          struct json_object **ret_status, struct error **err)
{
  static const char *const gone[] = {"volumeHandle", "upload",   "virtualSize",
                                     "progress",     "attempts", "hostTransfer"};
  if (image_claim_remove(populator, image, json_text(image->json, "status", "volumeHandle"), err) <
          0 ||
      upload_record_discard(populator, &image_upload, image, err) < 0)
    return -1;
  *ret_status = json_object_new_object();
  for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
    json_object_object_add(*ret_status, gone[i], NULL);
  retry_clear(image, *ret_status);
  return 0;
}

int
image_give_up(struct populator *populator, const struct kube_object *image, const char *message,
              struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  struct json_object *more;
  if (take_back(populator, image, &more, err) < 0)
    return -1;
  const struct verdict verdict = {.state = "Error", .reason = "SeeMessages", .message = message};
  if (image_status_write(populator, image, &verdict, more, err) < 0)
    return -1;
  transfers_forget(populator->transfers, key);
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "ImportFailed", "%s",
                  message);
  return 0;
}

int
image_start_over(struct populator *populator, const struct kube_object *image, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  struct json_object *more;
  transfers_forget(populator->transfers, key);
  if (take_back(populator, image, &more, err) < 0)
    return -1;
  return image_status_creating(populator, image, "begins anew", more, err);
}

static int64_t
retries_of(const struct kube_object *image)
{
  struct json_object *retry = json_at(image->json, "spec", "retry");
  if (json_object_is_type(retry, json_type_int))
    return json_object_get_int64(retry);
  return json_at(retry, "limit") ? json_number(retry, "limit") : RETRIES_DEFAULT;
}

int
image_take_failure(struct populator *populator, const struct kube_object *image,
                   const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  int64_t failures = json_number(image->json, "status", "attempts") + 1;
  if (!retry_may_pass(view->code) || failures > retries_of(image))
    return image_give_up(populator, image, view->message, err);
  struct json_object *more = image_status_one("attempts", json_object_new_int64(failures));
  CLEANUP(freep) char *message = retry_put(image, failures, view->message, more);
  if (image_status_creating(populator, image, message, more, err) < 0)
    return -1;
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "ImportRetried", "%s",
                  message);
  transfers_forget(populator->transfers, key);
  return 0; /* the change of the status calls again, and then it waits */
}
