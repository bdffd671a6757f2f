/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/origin.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/objects/condition.h"
#include "populator/objects/quantity.h"
#include "populator/objects/reference_grant.h"

static struct json_object *
reference_of(const struct kube_object *claim)
{
  return json_at(claim->json, "spec", "dataSourceRef");
}

static bool
is_text(struct json_object *object, const char *member, const char *wanted)
{
  const char *text = json_text(object, member);
  return text && strcmp(text, wanted) == 0;
}

static const char *
namespace_of(const struct kube_object *claim)
{
  const char *ns = json_text(reference_of(claim), "namespace");
  return ns ? ns : claim->ns;
}

bool
origin_is_ours(const struct kube_object *claim)
{
  struct json_object *reference = reference_of(claim);
  return is_text(reference, "apiGroup", virtual_machine_images.group) &&
         is_text(reference, "kind", virtual_machine_images.kind);
}

bool
origin_refers_to(const struct kube_object *claim, const struct kube_object *image)
{
  return origin_is_ours(claim) && is_text(reference_of(claim), "name", image->name) &&
         strcmp(namespace_of(claim), image->ns) == 0;
}

bool
origin_is_images_own(const struct kube_object *claim)
{
  struct json_object *owners = json_at(claim->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(owners); i++) {
    struct json_object *owner = json_item(owners, i);
    if (json_flag(owner, "controller") && is_text(owner, "kind", virtual_machine_images.kind))
      return true;
  }
  return false;
}

static int
take_image(struct kube_object *image, struct origin *ret_origin, struct error **err)
{
  const char *state = condition_state(image);
  const char *snapshot = json_text(image->json, "status", "snapshotHandle");
  if (strcmp(state, "Available") != 0 || !snapshot) {
    const char *progress = json_text(image->json, "status", "progress");
    return error_set(
        err, ERROR_UNAVAILABLE, "waits for VirtualMachineImage '%s/%s', which is %s%s%s", image->ns,
        image->name, *state ? state : "new", progress ? " at " : "", progress ? progress : "");
  }
  if (quantity_of(json_at(image->json, "status", "size"), "status.size", &ret_origin->bytes, err) <
      0)
    return -1;
  ret_origin->snapshot = xstrdup(snapshot);
  ret_origin->image = kube_object_hold(image);
  return 0;
}

int
origin_find(struct populator *populator, const struct kube_object *claim, struct origin *ret_origin,
            struct error **err)
{
  const char *name = json_text(reference_of(claim), "name");
  const struct reference reference = {.from_kind = &kube_persistent_volume_claims,
                                      .from_ns = claim->ns,
                                      .to_kind = &virtual_machine_images,
                                      .to_ns = namespace_of(claim),
                                      .to_name = name ? name : ""};
  *ret_origin = (struct origin){0};
  if (reference_grant_check(populator->reference_grants, &reference, err) < 0)
    return -1;
  CLEANUP(kube_object_releasep)
  struct kube_object *image =
      kube_mirror_get(populator->images, reference.to_ns, reference.to_name);
  if (!image)
    return error_set(err, ERROR_UNAVAILABLE, "waits for VirtualMachineImage '%s/%s': there is none",
                     reference.to_ns, reference.to_name);
  return take_image(image, ret_origin, err);
}

void
origin_clear(struct origin *origin)
{
  free(origin->snapshot);
  kube_object_release(origin->image);
  *origin = (struct origin){0};
}
