/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the kernel's nbd driver a device's new size.
 *
 * rbd-nbd does that itself, but up to release 16 it leaves out the cookie that the device was
 * mapped with, and the kernel refuses a message without it. */
#ifndef NODEPLUGIN_NBD_NETLINK_H
#define NODEPLUGIN_NBD_NETLINK_H

#include <stdint.h>

#include "lib/base/error.h"

/* index is N of /dev/nbdN. */
int nbd_netlink_resize(uint32_t index, const char *cookie, uint64_t size_bytes, struct error **err);

#endif
