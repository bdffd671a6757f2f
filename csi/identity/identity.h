/* SPDX-License-Identifier: Apache-2.0 */
/* The Identity service: what both plugins say about the driver. CSI wants all of its instances to
 * say the same, whatever part of it they serve. */
#ifndef CSI_IDENTITY_IDENTITY_H
#define CSI_IDENTITY_IDENTITY_H

#include "csi/rpc/method.h"

/* For the RPC server. The driver's name must outlive it. */
struct rpc_service identity_service(const char *driver_name);

#endif
