/* SPDX-License-Identifier: Apache-2.0 */
/* One object that the chart's values ask for, made, kept as they say, and taken back.
 *
 * A DataImportCron is kept as its template says: what somebody else adds to it stays, what he
 * changes of the template is put back, what goes from the template goes. What was last asked for is
 * noted on it. A DataSource is made when there is none, and left alone from then on: a cron, or its
 * owner, points it elsewhere.
 *
 * Both belong to a ClusterRole of the release, because a namespaced owner could own nothing in
 * other namespaces: when Helm removes it, Kubernetes removes them, and nobody of ours has to be
 * there. */
#ifndef POPULATOR_CONTROLLERS_GOLDEN_OBJECTS_H
#define POPULATOR_CONTROLLERS_GOLDEN_OBJECTS_H

#include "populator/controllers/populator.h"
#include "populator/objects/golden_wish.h"

struct golden_place {
  struct populator *populator;
  const struct kube_object *config_map; /* who asks for it */
  const struct kube_object *owner;      /* the ClusterRole */
  bool comes_again;                     /* out: something is in the way that passes */
};

/* Whether it was made, or taken over, for this installation. */
bool golden_object_is_ours(const struct populator *populator, const struct kube_object *object);
/* FAILED_PRECONDITION when somebody else has a DataImportCron of that name; else what the API
 * server says. */
int golden_object_see_to(struct golden_place *place, const struct golden_wish *wish,
                         struct error **err);
/* Nothing asks for it any more. A DataSource that somebody has pointed elsewhere or shares in is
 * left to him. */
int golden_object_take_back(struct golden_place *place, const struct kube_kind *kind,
                            const struct kube_object *object, struct error **err);

#endif
