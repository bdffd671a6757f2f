/* SPDX-License-Identifier: Apache-2.0 */
/* Between our errors and gRPC's status codes. */
#ifndef CSI_RPC_STATUS_H
#define CSI_RPC_STATUS_H

#include <grpc/grpc.h>

#include "lib/base/error.h"

grpc_status_code status_of_error(const struct error *err);
/* What a peer answered; anything unheard of is ERROR_UNKNOWN. */
enum error_code status_to_error_code(grpc_status_code status);

#endif
