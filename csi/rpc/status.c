/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/status.h"

#include <assert.h>

#define SAME(name) static_assert((int)ERROR_##name == (int)GRPC_STATUS_##name, #name)

SAME(CANCELLED);
SAME(UNKNOWN);
SAME(INVALID_ARGUMENT);
SAME(DEADLINE_EXCEEDED);
SAME(NOT_FOUND);
SAME(ALREADY_EXISTS);
SAME(PERMISSION_DENIED);
SAME(RESOURCE_EXHAUSTED);
SAME(FAILED_PRECONDITION);
SAME(ABORTED);
SAME(OUT_OF_RANGE);
SAME(UNIMPLEMENTED);
SAME(INTERNAL);
SAME(UNAVAILABLE);
SAME(DATA_LOSS);
SAME(UNAUTHENTICATED);

grpc_status_code
status_of_error(const struct error *err)
{
  return (grpc_status_code)err->code;
}

enum error_code
status_to_error_code(grpc_status_code status)
{
  if (status < GRPC_STATUS_CANCELLED || status > GRPC_STATUS_UNAUTHENTICATED)
    return ERROR_UNKNOWN;
  return (enum error_code)status;
}
