/* SPDX-License-Identifier: Apache-2.0 */
/* Which process has a block device open. The kernel keeps nbd devices from nobody's being taken
 * away: whoever has one open gets errors from then on. */
#ifndef NODEPLUGIN_DEVICE_OPENER_H
#define NODEPLUGIN_DEVICE_OPENER_H

#include <sys/types.h>

/* A process, beside this one and those that have `except` among their words; 0 when there is none
 * that this process can see. */
pid_t device_opener_find(dev_t device, const char *except);

#endif
