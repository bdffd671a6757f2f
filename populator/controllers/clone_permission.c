/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/clone_permission.h"

#include <string.h>

#include "lib/kube/kube_time.h"
#include "populator/objects/reference_grant.h"

/* A policy does not take effect in the moment that it is made. */
#define POLICY_SETTLES_S 15

static const struct kube_kind policies = {"admissionregistration.k8s.io", "v1",
                                          "validatingadmissionpolicies",
                                          "ValidatingAdmissionPolicy", true};
static const struct kube_kind bindings = {"admissionregistration.k8s.io", "v1",
                                          "validatingadmissionpolicybindings",
                                          "ValidatingAdmissionPolicyBinding", true};

static bool
is_older(const struct kube_object *policy, const struct kube_object *volume)
{
  time_t made;
  time_t asked;
  return kube_time_parse(json_text(policy->json, "metadata", "creationTimestamp"), &made) == 0 &&
         kube_time_parse(json_text(volume->json, "metadata", "creationTimestamp"), &asked) == 0 &&
         made + POLICY_SETTLES_S <= asked;
}

static bool
stood_before(struct populator *populator, const struct kube_kind *kind,
             const struct kube_object *volume)
{
  CLEANUP(kube_object_releasep) struct kube_object *policy = NULL;
  return kube_get(populator->client, kind, NULL, CLONE_POLICY, &policy, NULL) == 0 &&
         !policy->is_deleting && is_older(policy, volume);
}

/* The namespace that the DataVolume itself names, which is the one that was asked about. */
static const char *
named_namespace(const struct kube_object *volume)
{
  struct json_object *spec = json_at(volume->json, "spec");
  const char *by_reference = json_text(spec, "sourceRef", "namespace");
  const char *claim = json_text(spec, "source", "pvc", "namespace");
  const char *snapshot = json_text(spec, "source", "snapshot", "namespace");
  const char *named = by_reference ? by_reference : claim ? claim : snapshot;
  return named ? named : "";
}

static bool
was_asked_about(struct populator *populator, const struct kube_object *volume, const char *ns)
{
  const char *by_grant = kube_object_annotation(volume, ANNOTATION_BY_GRANT);
  return !by_grant && strcmp(named_namespace(volume), ns) == 0 &&
         stood_before(populator, &policies, volume) && stood_before(populator, &bindings, volume);
}

/* A grant for the source itself, or for the DataSource beside it that was named. */
static bool
has_grant(struct populator *populator, const struct kube_object *volume,
          const struct source_link *link, bool is_by_data_source, struct error **err)
{
  static const struct kube_kind *const users[] = {&data_volumes, &kube_persistent_volume_claims};
  const char *data_source =
      is_by_data_source ? json_text(volume->json, "spec", "sourceRef", "name") : NULL;
  for (size_t i = 0; i < 2; i++) {
    struct reference reference = {.from_kind = users[i],
                                  .from_ns = volume->ns,
                                  .to_kind = link->kind,
                                  .to_ns = link->ns,
                                  .to_name = link->name};
    if (reference_grant_check(populator->reference_grants, &reference, i == 0 ? err : NULL) == 0)
      return true;
    reference.to_kind = &data_sources;
    reference.to_name = data_source;
    if (data_source && strcmp(named_namespace(volume), link->ns) == 0 &&
        reference_grant_check(populator->reference_grants, &reference, NULL) == 0)
      return true;
  }
  return false;
}

int
clone_permission_check(struct populator *populator, const struct kube_object *volume,
                       const struct source_link *link, bool is_by_data_source, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (strcmp(volume->ns, link->ns) == 0 || was_asked_about(populator, volume, link->ns) ||
      has_grant(populator, volume, link, is_by_data_source, &failure))
    return 0;
  return error_set(err, ERROR_PERMISSION_DENIED, "%s", failure->message);
}
