/* SPDX-License-Identifier: Apache-2.0 */
/* What librados and librbd answer, as an error a person can act on. */
#ifndef LIB_CEPH_CEPH_ERROR_H
#define LIB_CEPH_CEPH_ERROR_H

#include "lib/base/error.h"

/* r is negative, as the Ceph libraries return it. Returns -1. */
int ceph_error_set(struct error **err, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
