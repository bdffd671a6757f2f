/* SPDX-License-Identifier: Apache-2.0 */
/* status of a DataVolume, in the words that KubeVirt waits for. */
#ifndef POPULATOR_CONTROLLERS_DATA_VOLUME_STATUS_H
#define POPULATOR_CONTROLLERS_DATA_VOLUME_STATUS_H

#include "populator/controllers/populator.h"

struct data_volume_state {
  const char *phase;        /* "ImportInProgress" */
  const char *message;      /* how it fares */
  double percent;           /* negative: not known */
  bool is_running;          /* something is being done for it just now */
  int64_t restarts;         /* in addition to those before */
  struct json_object *more; /* further members of the status, which is taken; NULL: none */
};

/* The claim may be NULL. */
int data_volume_status_write(struct populator *populator, const struct kube_object *volume,
                             const struct kube_object *claim, const struct data_volume_state *state,
                             struct error **err);
/* What it says now, or "". */
const char *data_volume_status_phase(const struct kube_object *volume);
/* Whether it has come to its end, well or not. */
bool data_volume_status_is_final(const struct kube_object *volume);
/* Whether it waits for something that is wrong, or not there; its condition Ready says for what. */
bool data_volume_status_is_pending(const struct kube_object *volume);
bool data_volume_claim_is_bound(const struct kube_object *claim);

#endif
