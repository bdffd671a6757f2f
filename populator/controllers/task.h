/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that stand for one piece of work which is done once: exports and rollbacks. Pending until
 * all that is needed is there, Creating while the worker runs, then Completed or Error for good. */
#ifndef POPULATOR_CONTROLLERS_TASK_H
#define POPULATOR_CONTROLLERS_TASK_H

#include "populator/controllers/populator.h"

#define TASK_EXPORT "export"
#define TASK_ROLLBACK "rollback"
#define TASK_DISCARD "discard"

struct task {
  const struct controller *controller;
  const char *verb; /* of the imprint command */
  /* Reasons of the condition. */
  const char *pending;
  const char *creating;
  const char *completed;
  const char *error;
  const char *done; /* what is told when it is completed */
  bool tells_ready; /* its status has readyToUse and errorMessage */
  /* The worker's job. INVALID_ARGUMENT and FAILED_PRECONDITION: it cannot be done; ABORTED and
   * CANCELLED: nothing is known; all else: something is missing that may come. */
  int (*job)(struct populator *populator, const struct kube_object *object,
             struct json_object **ret_job, struct error **err);
  /* Whether what it works on is gone for good, so that what was begun can never end. Or NULL. */
  int (*is_lost)(struct populator *populator, const struct kube_object *object, bool *ret_is,
                 struct error **err);
  /* What the status tells of a job that is about to begin. Or NULL. */
  void (*describe)(struct json_object *job, struct json_object *status);
  /* What it tells of one that is done, by what the worker said last. Or NULL. */
  void (*conclude)(struct json_object *result, struct json_object *status);
  /* The object is being deleted and its worker has ended: removes what is left of its work.
   * *ret_is_clean: there is nothing left. NULL: there never is. */
  int (*clean_up)(struct populator *populator, const struct kube_object *object, bool *ret_is_clean,
                  int64_t *ret_again_ms, struct error **err);
};

/* Begins `imprint VERB` for the object. Takes the job. */
void task_start(struct populator *populator, const struct controller *controller,
                const struct kube_object *object, const char *verb, struct json_object *job);
/* Whether a transfer is still to be done though its object is being deleted: what was begun by half
 * is finished, or taken back. */
bool task_is_wanted_behind(const struct kube_object *object, const char *verb);
/* Puts on record, right before its worker runs, that a rollback may have begun. The object is the
 * server's own. False: it could not, and the worker must not run. */
bool task_note_rollback(struct populator *populator, const struct kube_object *object);

int task_reconcile(const struct task *task, struct populator *populator,
                   const struct kube_object *object, int64_t *ret_again_ms, struct error **err);

#endif
