/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/data_volume_status.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/conditions.h"

const char *
data_volume_status_phase(const struct kube_object *volume)
{
  const char *phase = json_text(volume->json, "status", "phase");
  return phase ? phase : "";
}

static bool
is_final_phase(const char *phase)
{
  return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

bool
data_volume_status_is_final(const struct kube_object *volume)
{
  return is_final_phase(data_volume_status_phase(volume));
}

bool
data_volume_status_is_pending(const struct kube_object *volume)
{
  return strcmp(data_volume_status_phase(volume), "Pending") == 0;
}

bool
data_volume_claim_is_bound(const struct kube_object *claim)
{
  const char *phase = claim ? json_text(claim->json, "status", "phase") : NULL;
  return phase && strcmp(phase, "Bound") == 0;
}

static struct json_object *
conditions_of(const struct kube_object *volume, const struct kube_object *claim,
              const struct data_volume_state *state)
{
  bool is_done = strcmp(state->phase, "Succeeded") == 0;
  bool is_bound = data_volume_claim_is_bound(claim);
  CLEANUP(freep)
  char *bound = xasprintf("PersistentVolumeClaim '%s' is %s", volume->name,
                          is_bound ? "bound"
                          : claim  ? "not bound yet"
                                   : "not there yet");
  const struct condition_row rows[] = {
      {"Ready", is_done, is_done ? "Ready" : state->phase, state->message},
      {"Bound", is_bound,
       is_bound ? "Bound"
       : claim  ? "Pending"
                : "NotFound",
       bound},
      {"Running", state->is_running, is_done ? "Completed" : state->phase, state->message},
  };
  return conditions_json(volume, rows, sizeof(rows) / sizeof(rows[0]));
}

int
data_volume_status_write(struct populator *populator, const struct kube_object *volume,
                         const struct kube_object *claim, const struct data_volume_state *state,
                         struct error **err)
{
  bool is_done = strcmp(state->phase, "Succeeded") == 0;
  int64_t restarts = json_number(volume->json, "status", "restartCount") + state->restarts;
  CLEANUP(freep)
  char *progress = is_done              ? xstrdup("100.0%")
                   : state->percent < 0 ? xstrdup("N/A")
                                        : xasprintf("%.2f%%", state->percent);
  struct json_object *status = json_object_new_object();
  json_put_text(status, state->phase, "phase");
  json_put_text(status, progress, "progress");
  json_put_text(status, volume->name, "claimName");
  json_put_at(status, json_object_new_int64(volume->generation), "observedGeneration");
  if (json_text(volume->json, "status", "upload", "handle") && is_final_phase(state->phase))
    json_put_at(status, NULL, "upload", "handle"); /* what was sent is removed */
  if (restarts > 0)
    json_put_at(status, json_object_new_int64(restarts), "restartCount");
  json_put_at(status, conditions_of(volume, claim, state), "conditions");
  if (state->more) {
    json_object_object_foreach(state->more, name, value)
        json_object_object_add(status, name, json_object_get(value));
    json_object_put(state->more);
  }
  return kube_patch_status(populator->client, &data_volumes, volume, status, err);
}
