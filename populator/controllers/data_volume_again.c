/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/data_volume_again.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/objects/retry.h"

static bool
is_own(const struct kube_object *volume, const struct kube_object *claim)
{
  const char *controller = kube_object_controller(claim);
  return controller && strcmp(controller, volume->uid) == 0;
}

static bool
is_changed(const struct kube_object *volume)
{
  struct json_object *seen = json_at(volume->json, "status", "observedGeneration");
  return seen && json_object_get_int64(seen) != volume->generation;
}

/* Forgets how it came to its end; whether it waits a moment is told by set_time. */
static int
begin(struct populator *populator, const struct kube_object *volume, const char *message,
      void (*set_time)(const struct kube_object *volume, struct json_object *status),
      struct error **err)
{
  struct json_object *more = json_object_new_object();
  set_time(volume, more);
  json_object_object_add(more, "restartCount", NULL);
  json_object_object_add(more, "upload", NULL);     /* it is to be sent again */
  json_object_object_add(more, "clonedFrom", NULL); /* it is to be chosen again */
  const struct data_volume_state state = {
      .phase = "Pending", .message = message, .percent = -1, .more = more};
  return data_volume_status_write(populator, volume, NULL, &state, err);
}

/* The copies of two kinds may be apart, so the server is asked whether it is gone. The next claim
 * waits a moment: whoever deleted this one, kubectl for one, looks whether it is gone, and does not
 * see that it was when another one has its name at once. */
static int
see_to_complete(struct populator *populator, const struct kube_object *volume,
                const struct kube_object *known, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *claim = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (known || kube_get(populator->client, &kube_persistent_volume_claims, volume->ns, volume->name,
                        &claim, &failure) == 0)
    return 0;
  if (failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  CLEANUP(freep)
  char *message =
      xasprintf("PersistentVolumeClaim '%s' was deleted, and is made again", volume->name);
  kube_event_tell(populator->events, &data_volumes, volume, KUBE_EVENT_WARNING, "ClaimDeleted",
                  "%s", message);
  return begin(populator, volume, message, retry_pause, err);
}

/* What was not filled is of no use: space and quota are free until it is tried again. */
static int
see_to_failed(struct populator *populator, const struct kube_object *volume,
              const struct kube_object *claim, struct error **err)
{
  bool is_of_use = !claim || claim->is_deleting || !is_own(volume, claim) ||
                   json_text(claim->json, "spec", "volumeName");
  if (!is_of_use && kube_delete(populator->client, &kube_persistent_volume_claims, claim, err) < 0)
    return -1;
  if (!is_changed(volume) && !retry_is_asked(volume))
    return 0;
  return begin(populator, volume, "it is tried again", retry_clear, err);
}

int
data_volume_again(struct populator *populator, const struct kube_object *volume, struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, volume->name);
  bool is_complete = strcmp(data_volume_status_phase(volume), "Succeeded") == 0;
  return (is_complete ? see_to_complete : see_to_failed)(populator, volume, claim, err);
}
