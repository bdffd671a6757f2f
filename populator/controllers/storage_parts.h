/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that a HyperCloudStorage speaks of, and how each fares. */
#ifndef POPULATOR_CONTROLLERS_STORAGE_PARTS_H
#define POPULATOR_CONTROLLERS_STORAGE_PARTS_H

#include "populator/controllers/populator.h"

enum part_state {
  PART_OK,
  PART_COMING, /* it is being deployed */
  PART_BROKEN,
  PART_NOTE, /* something to be known, that is no fault */
};

struct part {
  const char *type; /* of the condition */
  enum part_state state;
  char *reason;
  char *message;
};

void part_clear(struct part *part);
/* Fills it; the message is taken. */
void part_set(struct part *part, const char *type, enum part_state state, const char *reason,
              char *message);

/* The Ceph clusters, by what `imprint health` told; NULL: it could not be asked, for this reason.
 */
void storage_parts_ceph(struct json_object *health, const char *failure, struct part *ret_part);
/* Whether the pools keep as many copies as the spec asks for. False: it does not ask. */
bool storage_parts_replicas(struct populator *populator, const struct kube_object *storage,
                            struct json_object *health, struct part *ret_part);
/* False: the spec names no devices. */
bool storage_parts_devices(const struct kube_object *storage, struct part *ret_part);
void storage_parts_controller(struct populator *populator, struct part *ret_part);
void storage_parts_nodes(struct populator *populator, const struct kube_object *storage,
                         struct part *ret_part);
void storage_parts_populator(struct populator *populator, struct part *ret_part);
void storage_parts_classes(struct populator *populator, struct part *ret_part);

#endif
