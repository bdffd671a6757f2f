/* SPDX-License-Identifier: Apache-2.0 */
/* Where the processes that serve volumes live: outside of the plugin's own container.
 *
 * A container runtime ends whatever it finds in the container's cgroup when the container ends;
 * with the plugin's pod replaced, the disks of every running virtual machine would be gone. So
 * helpers leave the plugin's cgroup for one of their own before they begin. (The pod also has to
 * share the host's process ids: in a namespace of its own, everybody dies with its first process.)
 */
#ifndef NODEPLUGIN_HELPER_CGROUP_H
#define NODEPLUGIN_HELPER_CGROUP_H

#include "lib/base/error.h"

struct helper_cgroup;

/* root is where the host's cgroups are seen, of version 1, 2 or both: "/sys/fs/cgroup" or a mount
 * of it. The groups are made in it; they stay. */
int helper_cgroup_open(const char *root, struct helper_cgroup **ret_cgroup, struct error **err);
void helper_cgroup_free(struct helper_cgroup *cgroup);
DEFINE_CLEANUP(struct helper_cgroup *, helper_cgroup_free)

/* For subprocess_options.prepare, with the cgroup as its context; NULL: the process stays where it
 * is. */
int helper_cgroup_enter(void *cgroup);

#endif
