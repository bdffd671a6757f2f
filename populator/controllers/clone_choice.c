/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/clone_choice.h"

#include "lib/base/memory.h"
#include "populator/controllers/clone_permission.h"
#include "populator/controllers/clone_source.h"
#include "populator/controllers/origin.h"

static const char *
record_of(const struct kube_object *volume)
{
  return json_text(volume->json, "status", "clonedFrom");
}

/* What is written to the DataVolume may come here later than the claim that was made behind it. */
static struct kube_object *
newest(struct populator *populator, const struct kube_object *volume)
{
  struct kube_object *found = NULL;
  if (kube_get(populator->client, &data_volumes, volume->ns, volume->name, &found, NULL) < 0)
    return NULL;
  return found;
}

bool
clone_choice_recall(struct populator *populator, const struct kube_object *volume,
                    struct source_link *ret_link)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  CLEANUP(kube_object_releasep)
  struct kube_object *fresh = record_of(volume) ? NULL : newest(populator, volume);
  const char *record = record_of(fresh ? fresh : volume);
  if (!json_at(volume->json, "spec", "sourceRef") || !source_link_parse(record, &link) ||
      !clone_source_is_there(populator, &link) ||
      clone_permission_check(populator, volume, &link, true, NULL) < 0)
    return false;
  *ret_link = link;
  link = (struct source_link){0};
  return true;
}

static int
keep(struct populator *populator, const struct kube_object *volume, const struct source_link *link,
     struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  CLEANUP(freep) char *text = source_link_text(link);
  json_put_text(patch, text, "status", "clonedFrom");
  json_put_text(patch, volume->version, "metadata", "resourceVersion");
  return kube_patch(populator->client, &data_volumes, volume, "status", patch, err);
}

int
clone_choice_make(struct populator *populator, const struct kube_object *volume,
                  struct source_link *ret_link, struct error **err)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  if (clone_choice_recall(populator, volume, ret_link))
    return 0;
  if (origin_of_data_volume(populator, volume, &link, err) < 0)
    return -1;
  if (json_at(volume->json, "spec", "sourceRef") && keep(populator, volume, &link, err) < 0)
    return -1;
  *ret_link = link;
  link = (struct source_link){0};
  return 0;
}
