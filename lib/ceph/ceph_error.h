/* SPDX-License-Identifier: Apache-2.0 */
/* What librados and librbd answer, as an error a person can act on. */
#ifndef LIB_CEPH_CEPH_ERROR_H
#define LIB_CEPH_CEPH_ERROR_H

#include "lib/base/error.h"

/* r is negative, as the Ceph libraries return it. The value is -1. */
#define ceph_error_set(err, ...) (ceph_error_make((err), __VA_ARGS__), -1)

void ceph_error_make(struct error **err, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
