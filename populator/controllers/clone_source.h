/* SPDX-License-Identifier: Apache-2.0 */
/* From a claim or a snapshot to what is to be cloned in Ceph; and from a DataSource to these. */
#ifndef POPULATOR_CONTROLLERS_CLONE_SOURCE_H
#define POPULATOR_CONTROLLERS_CLONE_SOURCE_H

#include "populator/controllers/populator.h"
#include "populator/objects/source_link.h"

/* What a clone is made of; one of both handles is there. */
struct clone_source {
  char *snapshot;
  char *volume;
  char *mode; /* "Block" or "Filesystem"; NULL: not known */
  uint64_t bytes;
};

/* UNAVAILABLE while it is not there or not complete; INVALID_ARGUMENT when it is of another driver.
 */
int clone_source_find(struct populator *populator, const struct source_link *link,
                      struct clone_source *ret_source, struct error **err);
void clone_source_clear(struct clone_source *source);
/* What was removed meanwhile cannot be cloned any more. */
bool clone_source_is_there(struct populator *populator, const struct source_link *link);

/* Where a DataSource leads to, over others if need be. The error's message and *ret_reason, one of
 * the condition Ready, tell why it leads nowhere. */
int clone_source_follow(struct populator *populator, const struct kube_object *data_source,
                        struct source_link *ret_link, const char **ret_reason, struct error **err);
/* By name. UNAVAILABLE when there is none, or as above. */
int clone_source_follow_named(struct populator *populator, const char *ns, const char *name,
                              struct source_link *ret_link, struct error **err);

#endif
