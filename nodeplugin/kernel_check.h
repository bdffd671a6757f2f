/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernel has the calls that the plugin cannot do without: said once, at start, and not
 * in the midst of somebody's first volume. */
#ifndef NODEPLUGIN_KERNEL_CHECK_H
#define NODEPLUGIN_KERNEL_CHECK_H

#include "lib/base/error.h"

/* FAILED_PRECONDITION that names the call and the kernel that it came with. */
int kernel_check(struct error **err);
/* One call, by its number; it is made with arguments that no kernel takes. */
int kernel_check_call(long number, const char *name, const char *since, struct error **err);

#endif
