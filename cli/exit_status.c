/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exit_status.h"

enum {
  STATUS_DONE,
  STATUS_FAILED,
  STATUS_REFUSED,
  STATUS_NOT_FOUND,
  STATUS_EXISTS,
  STATUS_NOT_ALLOWED,
  STATUS_UNREACHABLE,
  STATUS_DAMAGED,
  STATUS_TOO_LARGE,
  STATUS_WRONG_STATE,
  STATUS_STOPPED,
};

const char *const exit_status_meanings[] = {
    [STATUS_DONE] = "done",
    [STATUS_FAILED] = "failed",
    [STATUS_REFUSED] = "wrong use, or an image that is refused",
    [STATUS_NOT_FOUND] = "not found",
    [STATUS_EXISTS] = "exists already",
    [STATUS_NOT_ALLOWED] = "not allowed",
    [STATUS_UNREACHABLE] = "not reachable, or busy with the same: trying again may help",
    [STATUS_DAMAGED] = "damaged: a wrong checksum, truncated, or other than it claims to be",
    [STATUS_TOO_LARGE] = "too large, or no space",
    [STATUS_WRONG_STATE] = "in use, changed meanwhile, or not in the state it must be in",
    [STATUS_STOPPED] = "stopped by a signal: call again to go on",
};

const size_t exit_status_count = sizeof(exit_status_meanings) / sizeof(exit_status_meanings[0]);

int
exit_status_of(enum error_code code)
{
  switch (code) {
  case ERROR_INVALID_ARGUMENT:
  case ERROR_UNIMPLEMENTED: /* an old manifest, a sparse file in an archive, a server that takes no
                               PUT */
    return STATUS_REFUSED;
  case ERROR_NOT_FOUND:
    return STATUS_NOT_FOUND;
  case ERROR_ALREADY_EXISTS:
    return STATUS_EXISTS;
  case ERROR_PERMISSION_DENIED:
  case ERROR_UNAUTHENTICATED:
    return STATUS_NOT_ALLOWED;
  case ERROR_UNAVAILABLE:
  case ERROR_DEADLINE_EXCEEDED:
  case ERROR_ABORTED:
    return STATUS_UNREACHABLE;
  case ERROR_DATA_LOSS:
    return STATUS_DAMAGED;
  case ERROR_OUT_OF_RANGE:
  case ERROR_RESOURCE_EXHAUSTED:
    return STATUS_TOO_LARGE;
  case ERROR_FAILED_PRECONDITION:
    return STATUS_WRONG_STATE;
  case ERROR_CANCELLED:
    return STATUS_STOPPED;
  default:
    return STATUS_FAILED;
  }
}
