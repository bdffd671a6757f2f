/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to objects. Whatever is the case already is not written: a change that would change
 * nothing costs no request, and tells no watcher. */
#ifndef LIB_KUBE_KUBE_WRITE_H
#define LIB_KUBE_KUBE_WRITE_H

#include "lib/kube/kube_client.h"
#include "lib/kube/kube_object.h"

/* Straight from the server, where a copy might be behind. */
int kube_get(struct kube_client *client, const struct kube_kind *kind, const char *ns,
             const char *name, struct kube_object **ret_object, struct error **err);

/* apiVersion and kind are put in; the namespace and the name are in the metadata. Takes nothing.
 * ret_object may be NULL. */
int kube_create(struct kube_client *client, const struct kube_kind *kind, struct json_object *json,
                struct kube_object **ret_object, struct error **err);
/* By server-side apply, as this field manager: what others set stays. */
int kube_apply(struct kube_client *client, const struct kube_kind *kind, struct json_object *json,
               struct error **err);
/* A merge patch of what the object is known to be; subresource may be NULL. The uid goes along, so
 * that a namesake is never changed: ABORTED. */
int kube_patch(struct kube_client *client, const struct kube_kind *kind,
               const struct kube_object *object, const char *subresource, struct json_object *patch,
               struct error **err);
/* A strategic merge patch, which the server takes for its own kinds alone: a list of finalizers in
 * it is merged with those that are there, so that no version has to be named, and whoever else
 * writes at the same time does not make it fail. */
int kube_patch_built_in(struct kube_client *client, const struct kube_kind *kind,
                        const struct kube_object *object, struct json_object *patch,
                        struct error **err);
/* { "status": … } by kube_patch(). Takes the status. */
int kube_patch_status(struct kube_client *client, const struct kube_kind *kind,
                      const struct kube_object *object, struct json_object *status,
                      struct error **err);
/* By uid, and in the background. What is gone already is gone. */
int kube_delete(struct kube_client *client, const struct kube_kind *kind,
                const struct kube_object *object, struct error **err);
/* The same, if it is still in that version; else ABORTED. */
int kube_delete_unchanged(struct kube_client *client, const struct kube_kind *kind,
                          const struct kube_object *object, struct error **err);

/* Of kinds that are not Kubernetes' own the list is read-modify-write: ABORTED when the object is
 * not in that version any more. */
int kube_add_finalizer(struct kube_client *client, const struct kube_kind *kind,
                       const struct kube_object *object, const char *finalizer, struct error **err);
int kube_remove_finalizer(struct kube_client *client, const struct kube_kind *kind,
                          const struct kube_object *object, const char *finalizer,
                          struct error **err);

#endif
