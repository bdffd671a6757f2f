/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a process that serves a volume, and outlives us. */
#ifndef NODEPLUGIN_HELPER_START_H
#define NODEPLUGIN_HELPER_START_H

#include "lib/base/subprocess.h"
#include "nodeplugin/helper_cgroup.h"

/* What it says goes to `log`; `lock` it holds from here as long as it lives (helper_lock.h). Both
 * stay the caller's to close. */
int helper_start(struct helper_cgroup *cgroup, const char *program, const char *const *argv,
                 int log, int lock, struct subprocess **ret_helper, struct error **err);

#endif
