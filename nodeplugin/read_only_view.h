/* SPDX-License-Identifier: Apache-2.0 */
/* A writable device, shown read-only: the kernel lets everybody write through a device node,
 * whatever the mount around the node says. So who may only read gets a read-only loop device on top
 * of it. One serves all such users of a device. */
#ifndef NODEPLUGIN_READ_ONLY_VIEW_H
#define NODEPLUGIN_READ_ONLY_VIEW_H

#include <sys/types.h>

#include "lib/base/error.h"

/* Finds it or makes it; *ret_view is its path, to be freed. */
int read_only_view_make(const char *device, char **ret_view, struct error **err);
/* The number of the view of a device; -1 when there is none. */
int read_only_view_number(const char *device, dev_t *ret_number);
/* Has it look at the device's size anew; fine when there is none. */
void read_only_view_refresh(const char *device);
/* Takes it away unless it is bound somewhere; fine when there is none. */
int read_only_view_remove(const char *device, struct error **err);

#endif
