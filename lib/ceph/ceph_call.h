/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that reaches a Ceph cluster goes through CEPH_CALL(): in the test build a process can
 * be killed right behind it, so "killed between any two steps" is tried for each step there is. A
 * check in tests/ holds lib/ceph to this. */
#ifndef LIB_CEPH_CEPH_CALL_H
#define LIB_CEPH_CEPH_CALL_H

#include "lib/base/fault.h"

#define CEPH_CALL(call)                                                                            \
  ({                                                                                               \
    __typeof__(call) result_ = (call);                                                             \
    fault_point(#call);                                                                            \
    result_;                                                                                       \
  })

#endif
