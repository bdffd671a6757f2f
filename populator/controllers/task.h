/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that stand for one piece of work which is done once: exports and rollbacks. Pending until
 * all that is needed is there, Creating while the worker runs, then Completed or Error for good. */
#ifndef POPULATOR_CONTROLLERS_TASK_H
#define POPULATOR_CONTROLLERS_TASK_H

#include "populator/controllers/populator.h"

struct task {
  const struct controller *controller;
  const char *verb; /* of the imprint command */
  /* Reasons of the condition. */
  const char *pending;
  const char *creating;
  const char *completed;
  const char *error;
  /* The worker's job. UNAVAILABLE: something is not there yet; INVALID_ARGUMENT and
   * FAILED_PRECONDITION: it cannot be done. */
  int (*job)(struct populator *populator, const struct kube_object *object,
             struct json_object **ret_job, struct error **err);
};

int task_reconcile(const struct task *task, struct populator *populator,
                   const struct kube_object *object, int64_t *ret_again_ms, struct error **err);

#endif
