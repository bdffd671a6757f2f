/* SPDX-License-Identifier: Apache-2.0 */
/* Our kinds, and the names that we put on other people's objects. */
#ifndef POPULATOR_OBJECTS_KINDS_H
#define POPULATOR_OBJECTS_KINDS_H

#include "lib/kube/kube_kind.h"

#define KINDS_GROUP "hypercloud.tmaxanc.com"

extern const struct kube_kind virtual_machine_images;
extern const struct kube_kind virtual_machine_volumes;
extern const struct kube_kind virtual_machine_pvcs;
extern const struct kube_kind virtual_machine_volume_exports;
extern const struct kube_kind virtual_machine_volume_rollbacks;
extern const struct kube_kind hypercloud_storages;

/* Those that KubeVirt knows. */
#define KINDS_CDI_GROUP "cdi.kubevirt.io"

extern const struct kube_kind data_volumes;
extern const struct kube_kind data_sources;
extern const struct kube_kind data_import_crons;

/* On whatever of ours has something in Ceph or in a store that must be cleaned up after it. */
#define FINALIZER_CLEANUP "imprint." KINDS_GROUP "/cleanup"
/* On a claim for which a volume is being made. */
#define FINALIZER_CLAIM "imprint." KINDS_GROUP "/populating"

/* A claim of a class with volumeBindingMode WaitForFirstConsumer is filled at once all the same. */
#define ANNOTATION_BIND_IMMEDIATE "cdi.kubevirt.io/storage.bind.immediate.requested"
/* On a claim that is being filled: the claim or snapshot that was chosen for it, see source_link.h.
 * What it was chosen through may point elsewhere meanwhile. */
#define ANNOTATION_CLONED_FROM "imprint." KINDS_GROUP "/cloned-from"
/* On the same: what its volume is made of, see claim_making.h. */
#define ANNOTATION_MADE_OF "imprint." KINDS_GROUP "/made-of"
/* On what waits for its next attempt, or has failed: try now. Any value that is new. */
#define ANNOTATION_RETRY "imprint." KINDS_GROUP "/retry"
#define ANNOTATION_SELECTED_NODE "volume.kubernetes.io/selected-node"
#define ANNOTATION_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"

#endif
