/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/ceph_error.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/memory.h"

/* What the bare errno would leave open: the cause as Ceph means it, and what to do. */
static const char *
advice_of(int errno_value)
{
  switch (errno_value) {
  case ESHUTDOWN:
    return "this client was blocklisted by the cluster; a new connection is made for the next call";
  case ETIMEDOUT:
    return "the cluster did not answer in time: check that the monitors are reachable and in "
           "quorum";
  case EACCES:
  case EPERM:
    return "the Ceph user lacks the right: it needs mon 'profile rbd' and osd 'profile rbd' for "
           "this "
           "pool";
  case ENOSPC:
    return "the cluster or the pool is full: free space or add capacity";
  case EDQUOT:
    return "the pool's quota is used up: raise it with 'ceph osd pool set-quota'";
  case EBUSY:
    return "it is in use by another client";
  case EROFS:
    return "another client holds the image's exclusive lock and does not give it up";
  default:
    return NULL;
  }
}

void
ceph_error_make(struct error **err, int r, const char *format, ...)
{
  if (!err)
    return;
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *place = xvasprintf(format, args);
  va_end(args);
  const char *advice = advice_of(-r);
  if (advice)
    error_make(err, error_code_of_errno(-r), "%s: %s", place, advice);
  else
    error_make_errno(err, -r, "%s", place);
}
