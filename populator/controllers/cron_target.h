/* SPDX-License-Identifier: Apache-2.0 */
/* The DataSource that a DataImportCron points at its imports. Whoever made it controls it; others
 * own it beside, so that it stays until the last of them is gone. A cron whose DataSource is to
 * stay in any case owns it not at all. */
#ifndef POPULATOR_CONTROLLERS_CRON_TARGET_H
#define POPULATOR_CONTROLLERS_CRON_TARGET_H

#include "populator/controllers/populator.h"

/* Makes it, or takes a share in one that is there. *ret_target is a reference, NULL when it was
 * just made or changed: a call follows. FAILED_PRECONDITION when another cron has it. */
int cron_target_open(struct populator *populator, const struct kube_object *cron,
                     struct kube_object **ret_target, struct error **err);
/* At a claim of the cron's namespace. */
int cron_target_point(struct populator *populator, const struct kube_object *target,
                      const char *claim, struct error **err);
/* The claim of the cron's namespace that it points at, or NULL. */
const char *cron_target_current(const struct kube_object *target);
/* Whether some DataSource would go with the cron, or be told by Kubernetes that it goes. */
bool cron_target_has_share(struct populator *populator, const struct kube_object *cron);
/* Gives up the share, in those that it managed before too: DataSources stay when the cron goes. Of
 * all of them, or of those that were there before the cron and had no owner. */
int cron_target_leave(struct populator *populator, const struct kube_object *cron, bool is_all,
                      struct error **err);

#endif
