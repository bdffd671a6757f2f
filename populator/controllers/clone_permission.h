/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a DataVolume may be made from a claim or a snapshot of another namespace.
 *
 * Either the owner of that namespace allows it by a ReferenceGrant, from kind DataVolume or
 * PersistentVolumeClaim. Or whoever made the DataVolume may `create` `datavolumes/source` there:
 * the API server itself asked, by the chart's ValidatingAdmissionPolicy, before it let the
 * DataVolume in; no other part knows who that was. A DataVolume with the annotation below was let
 * in without the question, and needs the grant. */
#ifndef POPULATOR_CONTROLLERS_CLONE_PERMISSION_H
#define POPULATOR_CONTROLLERS_CLONE_PERMISSION_H

#include "populator/controllers/populator.h"
#include "populator/objects/source_link.h"

#define ANNOTATION_BY_GRANT "imprint." KINDS_GROUP "/by-reference-grant"
/* The name of the policy, and of its binding. */
#define CLONE_POLICY "clone-source.imprint." KINDS_GROUP

/* PERMISSION_DENIED, telling what is missing. is_by_data_source: the DataSource that the DataVolume
 * names leads there, or did when it was chosen, so a grant for the DataSource is enough. */
int clone_permission_check(struct populator *populator, const struct kube_object *volume,
                           const struct source_link *link, bool is_by_data_source,
                           struct error **err);

#endif
