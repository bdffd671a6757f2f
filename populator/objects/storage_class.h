/* SPDX-License-Identifier: Apache-2.0 */
/* The class of a claim: whose it is and how volumes of it are made. */
#ifndef POPULATOR_OBJECTS_STORAGE_CLASS_H
#define POPULATOR_OBJECTS_STORAGE_CLASS_H

#include "lib/kube/kube_mirror.h"

/* A reference. name NULL: the cluster's default class. FAILED_PRECONDITION, telling what to do,
 * when there is none. */
int storage_class_find(struct kube_mirror *classes, const char *name,
                       struct kube_object **ret_class, struct error **err);
/* What a kind of ours, or a DataVolume, has as storageClassName: "" names none, as if it was left
 * out. NULL then. In claims themselves "" means no class at all; this is not for those. */
const char *storage_class_asked(struct json_object *spec);
/* The one that KubeVirt prefers for virtual machines, or NULL. A reference. */
struct kube_object *storage_class_virt_default(struct kube_mirror *classes);
/* The only one of that driver; NULL when there are none or several. A reference. */
struct kube_object *storage_class_only(struct kube_mirror *classes, const char *driver);
bool storage_class_is_of(const struct kube_object *storage_class, const char *driver);
bool storage_class_waits_for_consumer(const struct kube_object *storage_class);
/* "Delete" or "Retain". */
const char *storage_class_reclaim_policy(const struct kube_object *storage_class);

#endif
