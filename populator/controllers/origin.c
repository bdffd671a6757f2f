/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/origin.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/clone_choice.h"
#include "populator/controllers/clone_permission.h"
#include "populator/controllers/clone_source.h"
#include "populator/controllers/cron_imports.h"
#include "populator/objects/condition.h"
#include "populator/objects/data_volume_spec.h"
#include "populator/objects/quantity.h"
#include "populator/objects/reference_grant.h"
#include "populator/objects/volume_spec.h"

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
  return ns && *ns ? ns : claim->ns;
}

static bool
is_of_kind(const struct kube_object *claim, const struct kube_kind *kind)
{
  struct json_object *reference = reference_of(claim);
  return is_text(reference, "apiGroup", kind->group) && is_text(reference, "kind", kind->kind);
}

static bool
is_of_volume(const struct kube_object *claim)
{
  return is_of_kind(claim, &virtual_machine_volumes) || is_of_kind(claim, &virtual_machine_pvcs);
}

bool
origin_is_ours(const struct kube_object *claim)
{
  return origin_is_image(claim) || is_of_kind(claim, &data_sources) ||
         is_of_kind(claim, &data_volumes);
}

bool
origin_is_image(const struct kube_object *claim)
{
  return is_of_kind(claim, &virtual_machine_images) || is_of_volume(claim);
}

bool
origin_names(const struct kube_object *claim, const struct kube_kind *kind, const char *ns,
             const char *name)
{
  return is_of_kind(claim, kind) && is_text(reference_of(claim), "name", name) &&
         strcmp(namespace_of(claim), ns) == 0;
}

static bool
is_images_own(const struct kube_object *claim)
{
  struct json_object *owners = json_at(claim->json, "metadata", "ownerReferences");
  for (size_t i = 0; i < json_count(owners); i++) {
    struct json_object *owner = json_item(owners, i);
    if (json_flag(owner, "controller") && is_text(owner, "kind", virtual_machine_images.kind))
      return true;
  }
  return false;
}

/* What the claim refers to and belongs to; NULL when there is none. A reference. */
static struct kube_object *
owner_of(struct kube_mirror *mirror, const struct kube_object *claim)
{
  const char *name = json_text(reference_of(claim), "name");
  const char *controller = kube_object_controller(claim);
  struct kube_object *owner = kube_mirror_get(mirror, claim->ns, name ? name : "");
  if (owner && controller && strcmp(controller, owner->uid) == 0)
    return owner;
  kube_object_release(owner);
  return NULL;
}

/* The DataVolume whose claim it is, which has its name: owners can be written by anybody. */
static struct kube_object *
data_volume_of(struct populator *populator, const struct kube_object *claim)
{
  struct kube_object *volume = owner_of(populator->data_volumes, claim);
  if (volume && strcmp(claim->name, volume->name) == 0)
    return volume;
  kube_object_release(volume);
  return NULL;
}

/* The VirtualMachineVolume or VirtualMachinePvc, likewise. */
static struct kube_object *
volume_of(struct populator *populator, const struct kube_object *claim)
{
  bool is_pvc = is_of_kind(claim, &virtual_machine_pvcs);
  return owner_of(is_pvc ? populator->pvcs : populator->volumes, claim);
}

bool
origin_is_owners_business(struct populator *populator, const struct kube_object *claim)
{
  if (is_images_own(claim))
    return true;
  if (!is_of_kind(claim, &data_volumes))
    return false;
  CLEANUP(kube_object_releasep) struct kube_object *volume = data_volume_of(populator, claim);
  return !volume || data_volume_spec_kind(volume) != DATA_VOLUME_CLONE;
}

/* ---- images -----------------------------------------------------------------------------------
 */

static int
take_image(struct kube_object *image, struct origin *ret_origin, struct error **err)
{
  const char *state = condition_state(image);
  const char *snapshot = json_text(image->json, "status", "snapshotHandle");
  bool is_available = strcmp(state, "Available") == 0;
  if (is_available && !snapshot)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "VirtualMachineImage '%s/%s' was not imported by Imprint: annotate it "
                     "with " ANNOTATION_RETRY "=now, and it is imported anew",
                     image->ns, image->name);
  if (!is_available) {
    const char *progress = json_text(image->json, "status", "progress");
    return error_set(
        err, ERROR_UNAVAILABLE, "waits for VirtualMachineImage '%s/%s', which is %s%s%s", image->ns,
        image->name, *state ? state : "new", progress ? " at " : "", progress ? progress : "");
  }
  if (quantity_of(json_at(image->json, "status", "size"), "status.size", &ret_origin->bytes, err) <
      0)
    return -1;
  ret_origin->snapshot = xstrdup(snapshot);
  ret_origin->text = xasprintf("VirtualMachineImage '%s/%s'", image->ns, image->name);
  return 0;
}

static int
find_image(struct populator *populator, const struct kube_object *claim, struct origin *ret_origin,
           struct error **err)
{
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = is_of_volume(claim) ? volume_of(populator, claim) : NULL;
  if (is_of_volume(claim) && !volume)
    return error_set(err, ERROR_UNAVAILABLE, "waits for the %s that it is of: there is none",
                     json_text(reference_of(claim), "kind"));
  const char *name = volume ? volume_spec_image(volume) : json_text(reference_of(claim), "name");
  const struct reference reference = {.from_kind = &kube_persistent_volume_claims,
                                      .from_ns = claim->ns,
                                      .to_kind = &virtual_machine_images,
                                      .to_ns = volume ? volume_spec_image_namespace(volume)
                                                      : namespace_of(claim),
                                      .to_name = name ? name : ""};
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

/* ---- claims and snapshots ---------------------------------------------------------------------
 */

/* A disk is no filesystem, and the other way round. */
static int
check_mode(const struct kube_object *claim, const struct source_link *link,
           const struct clone_source *source, struct error **err)
{
  const char *asked = json_text(claim->json, "spec", "volumeMode");
  if (!asked || !source->mode || strcmp(asked, source->mode) == 0)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "spec.volumeMode is %s, that of %s '%s/%s' is %s: make the claim anew with "
                   "volumeMode: %s",
                   asked, link->kind->kind, link->ns, link->name, source->mode, source->mode);
}

static int
take_link(struct populator *populator, const struct kube_object *claim,
          const struct source_link *link, struct origin *ret_origin, struct error **err)
{
  CLEANUP(clone_source_clear) struct clone_source source = {0};
  if (clone_source_find(populator, link, &source, err) < 0 ||
      check_mode(claim, link, &source, err) < 0)
    return -1;
  *ret_origin = (struct origin){
      .snapshot = TAKE(source.snapshot),
      .volume = TAKE(source.volume),
      .bytes = source.bytes,
      .text = xasprintf("%s '%s/%s'", link->kind->kind, link->ns, link->name),
  };
  source_link_copy(link, &ret_origin->link);
  return 0;
}

static bool
is_granted(struct populator *populator, const struct kube_object *claim,
           const struct source_link *link, struct error **err)
{
  const struct reference reference = {.from_kind = &kube_persistent_volume_claims,
                                      .from_ns = claim->ns,
                                      .to_kind = link->kind,
                                      .to_ns = link->ns,
                                      .to_name = link->name};
  return reference_grant_check(populator->reference_grants, &reference, err) == 0;
}

/* What was chosen before; false when there was nothing. */
static bool
recall_choice(const struct kube_object *claim, struct source_link *ret_link)
{
  return source_link_parse(kube_object_annotation(claim, ANNOTATION_CLONED_FROM), ret_link);
}

bool
origin_may_be(struct populator *populator, const struct kube_object *claim,
              const struct source_link *link)
{
  const char *name = json_text(reference_of(claim), "name");
  const struct source_link by_name = {&data_sources, link->ns, (char *)(name ? name : "")};
  if (strcmp(claim->ns, link->ns) == 0)
    return true;
  if (!is_of_kind(claim, &data_sources))
    return false;
  return is_granted(populator, claim, link, NULL) || (strcmp(namespace_of(claim), link->ns) == 0 &&
                                                      is_granted(populator, claim, &by_name, NULL));
}

/* Both are of one cron: what the DataSource led to before, and what is granted with it. */
static bool
was_led_to(struct populator *populator, const struct reference *data_source,
           const struct source_link *link)
{
  if (link->kind != &kube_persistent_volume_claims || strcmp(link->ns, data_source->to_ns) != 0)
    return false;
  CLEANUP(kube_object_releasep)
  struct kube_object *source =
      kube_mirror_get(populator->data_sources, data_source->to_ns, data_source->to_name);
  CLEANUP(kube_object_releasep)
  struct kube_object *import = kube_mirror_get(populator->claims, link->ns, link->name);
  const char *cron = source ? kube_object_label(source, LABEL_CRON) : NULL;
  const char *of = import ? kube_object_label(import, LABEL_CRON) : NULL;
  return cron && of && strcmp(cron, of) == 0;
}

/* The claim names a DataSource: by what may be used of where it leads to. What was chosen before
 * holds, though the DataSource leads elsewhere by now: a volume may have been made of it. */
static int
choose_by_data_source(struct populator *populator, const struct kube_object *claim,
                      struct source_link *ret_link, struct error **err)
{
  const char *name = json_text(reference_of(claim), "name");
  const struct reference reference = {.from_kind = &kube_persistent_volume_claims,
                                      .from_ns = claim->ns,
                                      .to_kind = &data_sources,
                                      .to_ns = namespace_of(claim),
                                      .to_name = name ? name : ""};
  if (reference_grant_check(populator->reference_grants, &reference, err) < 0)
    return -1;
  if (recall_choice(claim, ret_link)) {
    if (clone_source_is_there(populator, ret_link) &&
        (is_granted(populator, claim, ret_link, NULL) ||
         was_led_to(populator, &reference, ret_link)))
      return 0;
    source_link_clear(ret_link);
  }
  if (clone_source_follow_named(populator, reference.to_ns, reference.to_name, ret_link, err) < 0)
    return -1;
  /* A grant for the DataSource is one for what lies beside it. */
  if (strcmp(ret_link->ns, reference.to_ns) == 0 || is_granted(populator, claim, ret_link, err))
    return 0;
  source_link_clear(ret_link);
  return -1;
}

/* The claim is a DataVolume's. */
static int
choose_by_data_volume(struct populator *populator, const struct kube_object *claim,
                      struct source_link *ret_link, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *volume = data_volume_of(populator, claim);
  if (!volume)
    return error_set(err, ERROR_UNAVAILABLE, "waits for its DataVolume: there is none");
  if (clone_choice_recall(populator, volume, ret_link))
    return 0;
  return origin_of_data_volume(populator, volume, ret_link, err);
}

int
origin_of_data_volume(struct populator *populator, const struct kube_object *volume,
                      struct source_link *ret_link, struct error **err)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  struct json_object *spec = json_at(volume->json, "spec");
  const char *name = json_text(spec, "sourceRef", "name");
  const char *ns = json_text(spec, "sourceRef", "namespace");
  if (!source_link_read(json_at(spec, "source"), volume->ns, &link) &&
      clone_source_follow_named(populator, ns && *ns ? ns : volume->ns, name ? name : "", &link,
                                err) < 0)
    return -1;
  if (clone_permission_check(populator, volume, &link, name != NULL, err) < 0)
    return -1;
  *ret_link = link;
  link = (struct source_link){0};
  return 0;
}

int
origin_find(struct populator *populator, const struct kube_object *claim, struct origin *ret_origin,
            struct error **err)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  *ret_origin = (struct origin){0};
  if (origin_is_image(claim))
    return find_image(populator, claim, ret_origin, err);
  if ((is_of_kind(claim, &data_sources) ? choose_by_data_source(populator, claim, &link, err)
                                        : choose_by_data_volume(populator, claim, &link, err)) < 0)
    return -1;
  return take_link(populator, claim, &link, ret_origin, err);
}

char *
origin_text(struct populator *populator, const struct kube_object *claim)
{
  CLEANUP(source_link_clear) struct source_link link = {0};
  CLEANUP(kube_object_releasep)
  struct kube_object *volume = is_of_volume(claim) ? volume_of(populator, claim) : NULL;
  if (volume)
    return xasprintf("%s '%s/%s'", virtual_machine_images.kind, volume_spec_image_namespace(volume),
                     volume_spec_image(volume));
  const char *kind = json_text(reference_of(claim), "kind");
  const char *name = json_text(reference_of(claim), "name");
  if (recall_choice(claim, &link))
    return xasprintf("%s '%s/%s'", link.kind->kind, link.ns, link.name);
  return xasprintf("%s '%s/%s'", kind ? kind : "", namespace_of(claim), name ? name : "");
}

void
origin_clear(struct origin *origin)
{
  free(origin->snapshot);
  free(origin->volume);
  free(origin->text);
  source_link_clear(&origin->link);
  *origin = (struct origin){0};
}
