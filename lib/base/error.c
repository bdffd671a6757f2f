/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

static void
set_message(struct error **err, enum error_code code, char *message)
{
  assert(!*err);
  text_make_line(message);
  struct error *e = xcalloc(1, sizeof(*e));
  e->code = code;
  e->message = message;
  *err = e;
}

void
error_make(struct error **err, enum error_code code, const char *format, ...)
{
  if (!err)
    return;
  va_list args;
  va_start(args, format);
  char *message = xvasprintf(format, args);
  va_end(args);
  set_message(err, code, message);
}

void
error_make_errno(struct error **err, int errno_value, const char *format, ...)
{
  if (!err)
    return;
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *place = xvasprintf(format, args);
  va_end(args);
  char buf[128];
  set_message(err, error_code_of_errno(errno_value),
              xasprintf("%s: %s", place, strerror_r(errno_value, buf, sizeof(buf))));
}

void
error_add_place(struct error **err, const char *format, ...)
{
  if (!err || !*err)
    return;
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *place = xvasprintf(format, args);
  va_end(args);
  text_make_line(place);
  char *wrapped = xasprintf("%s: %s", place, (*err)->message);
  free((*err)->message);
  (*err)->message = wrapped;
}

enum error_code
error_code_of_errno(int errno_value)
{
  switch (errno_value) {
  case ENOENT:
    return ERROR_NOT_FOUND;
  case EEXIST:
    return ERROR_ALREADY_EXISTS;
  case EPERM:
  case EACCES:
  case EROFS:
    return ERROR_PERMISSION_DENIED;
  case EINVAL:
  case ENAMETOOLONG:
    return ERROR_INVALID_ARGUMENT;
  case ERANGE:
  case EDOM:
  case EFBIG:
    return ERROR_OUT_OF_RANGE;
  case EBUSY:
  case ENOTEMPTY:
    return ERROR_FAILED_PRECONDITION;
  case ENOSPC:
  case EDQUOT:
  case ENOMEM:
  case EMFILE:
  case ENFILE:
    return ERROR_RESOURCE_EXHAUSTED;
  case ETIMEDOUT:
  case ENOTCONN:
  case ECONNREFUSED:
  case ECONNRESET:
  case ECONNABORTED:
  case EHOSTUNREACH:
  case ENETUNREACH:
  case ESHUTDOWN:
  case EAGAIN:
  case EINTR:
    return ERROR_UNAVAILABLE;
  case EOPNOTSUPP:
  case ENOSYS:
    return ERROR_UNIMPLEMENTED;
  case ECANCELED:
    return ERROR_CANCELLED;
  default:
    return ERROR_INTERNAL;
  }
}

const char *
error_code_name(int code)
{
  static const char *const names[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  if (code < 0 || (size_t)code >= sizeof(names) / sizeof(names[0]))
    return "UNKNOWN";
  return names[code];
}

void
error_free(struct error *err)
{
  if (!err)
    return;
  free(err->message);
  free(err);
}
