/* SPDX-License-Identifier: Apache-2.0 */
/* Loop devices: a file, or a device, as a block device. Found by the path of what is behind them,
 * which sysfs tells. */
#ifndef NODEPLUGIN_LOOP_DEVICE_H
#define NODEPLUGIN_LOOP_DEVICE_H

#include <stdbool.h>

#include "lib/base/error.h"

/* Whether there can be any. */
bool loop_device_is_available(void);

/* The first one with this file behind it, "/dev/loop3", to be freed; NULL when there is none. One
 * that is on its way out does not count. */
char *loop_device_find(const char *file);
bool loop_device_is_read_only(const char *device);

/* Makes one. Reads and writes go past the page cache where the file can do that. */
int loop_device_attach(const char *file, bool is_read_only, char **ret_device, struct error **err);
/* Takes it away and waits until it is gone; fine when it is. FAILED_PRECONDITION when somebody
 * still has it open. */
int loop_device_detach(const char *device, const char *file, struct error **err);
/* Has it look at the size of its file anew. */
void loop_device_refresh(const char *device);

#endif
