/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table of CSI's methods: the service, the name, the stem that protoc-c makes of the
 * name, and the handler. */
#ifndef CSI_RPC_CSI_METHOD_H
#define CSI_RPC_CSI_METHOD_H

#include "csi/rpc/method.h"

#define CSI_METHOD(service, name, stem, handler)                                                   \
  {                                                                                                \
    .path = "/csi.v1." service "/" name, .request = &csi__v1__##stem##_request__descriptor,        \
    .response = &csi__v1__##stem##_response__descriptor, .handle = handler                         \
  }
/* Called again and again by sidecars and kubelet: not worth a log line each time. */
#define CSI_QUIET_METHOD(service, name, stem, handler)                                             \
  {                                                                                                \
    .path = "/csi.v1." service "/" name, .request = &csi__v1__##stem##_request__descriptor,        \
    .response = &csi__v1__##stem##_response__descriptor, .handle = handler, .is_quiet = true       \
  }

#endif
