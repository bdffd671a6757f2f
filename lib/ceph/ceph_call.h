/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that reaches a Ceph cluster goes through CEPH_CALL(): in the test build a process can
 * be killed right behind it, so "killed between any two steps" is tried for each step there is. A
 * check in tests/ holds lib/ceph to this. */
#ifndef LIB_CEPH_CEPH_CALL_H
#define LIB_CEPH_CEPH_CALL_H

#include <errno.h>

#include "lib/base/fault.h"

#define CEPH_CALL(call)                                                                            \
  ({                                                                                               \
    __typeof__(call) result_ = (call);                                                             \
    fault_point(#call);                                                                            \
    result_;                                                                                       \
  })

/* Opening an image opens its ancestors. When one of them is just then flattened it lets go of its
 * own parent, and librbd, with the parent's name in hand, says that something does not exist. The
 * next attempt sees the shorter chain. */
#define OPEN_ATTEMPTS 4
#define CALL_THAT_OPENS(call)                                                                      \
  ({                                                                                               \
    int opened_ = -ENOENT;                                                                         \
    for (int left_ = OPEN_ATTEMPTS; left_ > 0 && opened_ == -ENOENT; left_--)                      \
      opened_ = CEPH_CALL(call);                                                                   \
    opened_;                                                                                       \
  })

#endif
