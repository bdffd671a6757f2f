/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_failure.h"

#include "lib/base/memory.h"
#include "populator/controllers/failure_field.h"
#include "populator/controllers/image_claim.h"
#include "populator/controllers/image_snapshot.h"
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
  static const char *const gone[] = {"volumeHandle", "snapshotHandle", "upload",   "virtualSize",
                                     "bytesFetched", "progress",       "attempts", "hostTransfer"};
  if (image_snapshot_remove(populator, image, err) < 0 ||
      image_claim_remove(populator, image, json_text(image->json, "status", "volumeHandle"), err) <
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
image_retry(struct populator *populator, const struct kube_object *image, const char *reason,
            struct json_object *more, struct error **err)
{
  CLEANUP(freep) char *key = image_transfer_key(image);
  CLEANUP(json_object_putp) struct json_object *status = more ? more : json_object_new_object();
  int64_t failures = json_number(image->json, "status", "attempts") + 1;
  if (failures > retries_of(image))
    return image_give_up(populator, image, reason, err);
  json_object_object_add(status, "attempts", json_object_new_int64(failures));
  CLEANUP(freep) char *message = retry_put(image, failures, reason, status);
  if (image_status_creating(populator, image, message, TAKE(status), err) < 0)
    return -1;
  kube_event_tell(populator->events, kind, image, KUBE_EVENT_WARNING, "ImportRetried", "%s",
                  reason); /* without the time: the same is counted */
  transfers_forget(populator->transfers, key);
  return 0; /* the change of the status calls again, and then it waits */
}

int
image_take_failure(struct populator *populator, const struct kube_object *image,
                   const struct transfer_view *view, struct error **err)
{
  CLEANUP(freep) char *message = failure_field_tell(image, "spec.checksum", view->message);
  return retry_may_pass(view->code) ? image_retry(populator, image, message, NULL, err)
                                    : image_give_up(populator, image, message, err);
}
