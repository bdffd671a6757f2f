/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the `imprint` command for a job: the job goes in as JSON, progress comes out as an
 * object a line, and the last object tells how it ended. */
#ifndef POPULATOR_WORK_WORKER_PROCESS_H
#define POPULATOR_WORK_WORKER_PROCESS_H

#include "lib/kube/json.h"

struct worker_process;

/* data_fd is descriptor WORKER_DATA_FD over there; -1: there is none. */
#define WORKER_DATA_FD 3
int worker_process_start(const char *program, const char *verb, struct json_object *job,
                         int data_fd, struct worker_process **ret_process, struct error **err);
/* Asks it to stop if it runs, so that it can clean up behind itself, and kills it if that takes
 * long. */
void worker_process_free(struct worker_process *process);
DEFINE_CLEANUP(struct worker_process *, worker_process_free)

/* Waits at most so long for the next object, which is to be put; *ret_object is NULL when none came
 * in time. *ret_is_over is set behind the last one. */
int worker_process_next(struct worker_process *process, int timeout_ms,
                        struct json_object **ret_object, bool *ret_is_over, struct error **err);
/* After it is over: 0, or the error that the command ended with. */
int worker_process_result(struct worker_process *process, struct error **err);

#endif
