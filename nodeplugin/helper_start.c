/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/helper_start.h"

#include "nodeplugin/sys_call.h"

int
helper_start(struct helper_cgroup *cgroup, const char *program, const char *const *argv, int log,
             int lock, struct subprocess **ret_helper, struct error **err)
{
  const char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
  const struct subprocess_fd fds[] = {
      {.from = log, .to = 1}, {.from = log, .to = 2}, {.from = lock, .to = 3}};
  struct subprocess_options options = {.program = program,
                                       .argv = argv,
                                       .env = environment,
                                       .fds = fds,
                                       .fd_count = 3,
                                       .is_detached = true,
                                       .prepare = helper_cgroup_enter,
                                       .context = cgroup};
  return SYS_CALL(subprocess_start(&options, ret_helper, err));
}
