/* SPDX-License-Identifier: Apache-2.0 */
/* What a program serves: a table of methods. */
#ifndef CSI_RPC_METHOD_H
#define CSI_RPC_METHOD_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

/* One call. request and *response are of the method's types; the response comes initialised,
 * whatever is put into it is malloc()ed and freed by the server. Runs in a thread of its own and
 * may block. */
typedef int rpc_handler(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                        struct error **err);

struct rpc_method {
  const char *path; /* "/csi.v1.Controller/CreateVolume" */
  const ProtobufCMessageDescriptor *request;
  const ProtobufCMessageDescriptor *response;
  rpc_handler *handle;
  /* A call worth a log line when it succeeds; polls are not. */
  bool is_quiet;
};

struct rpc_service {
  const struct rpc_method *methods;
  size_t count;
  void *context;
};

/* The bare name: "CreateVolume". */
const char *rpc_method_name(const struct rpc_method *method);

#endif
