/* SPDX-License-Identifier: Apache-2.0 */
/* An object as the server has it. Never changed once made, so any number of threads may read one;
 * whoever holds it holds a reference. Its JSON is not to be printed in place (json-c keeps the text
 * inside the value): print a json_copy(). */
#ifndef LIB_KUBE_KUBE_OBJECT_H
#define LIB_KUBE_KUBE_OBJECT_H

#include <stdatomic.h>

#include "lib/kube/json.h"
#include "lib/kube/kube_kind.h"

struct kube_object {
  atomic_uint references;
  struct json_object *json;
  const char *ns; /* "" for those of the whole cluster */
  const char *name;
  const char *uid;
  const char *version; /* resourceVersion */
  int64_t generation;
  bool is_deleting; /* deletionTimestamp is set */
};

/* Takes the JSON; what the field managers own is dropped from it. NULL when it has no name. */
struct kube_object *kube_object_new(struct json_object *json);
struct kube_object *kube_object_hold(struct kube_object *object);
void kube_object_release(struct kube_object *object);
DEFINE_CLEANUP(struct kube_object *, kube_object_release)

/* Whether what has its name now is the object that was known, and is not about to go. */
bool kube_object_stays(const struct kube_object *now, const struct kube_object *known);

/* NULL when it is not there. */
const char *kube_object_label(const struct kube_object *object, const char *name);
const char *kube_object_annotation(const struct kube_object *object, const char *name);
bool kube_object_has_finalizer(const struct kube_object *object, const char *finalizer);
/* The uid of the owner that controls it, or NULL. */
const char *kube_object_controller(const struct kube_object *object);

/* Metadata for an object that this one owns and controls: goes with it. To be put. */
struct json_object *kube_object_owner_references(const struct kube_object *owner,
                                                 const struct kube_kind *kind);

#endif
