/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call that changes the node's state (mounts, devices, folders, other processes) goes
 * through SYS_CALL(): in the test build the process can be killed right behind it, so "killed
 * between any two steps" is tried for each step there is. errno is the call's own behind it. */
#ifndef NODEPLUGIN_SYS_CALL_H
#define NODEPLUGIN_SYS_CALL_H

#include <errno.h>

#include "lib/base/fault.h"

#define SYS_CALL(call)                                                                             \
  ({                                                                                               \
    __typeof__(call) result_ = (call);                                                             \
    int errno_ = errno;                                                                            \
    fault_point("sys " #call);                                                                     \
    errno = errno_;                                                                                \
    result_;                                                                                       \
  })

#endif
