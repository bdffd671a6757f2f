/* SPDX-License-Identifier: Apache-2.0 */
/* Calls another CSI program over its unix socket. Any number of threads at once. */
#ifndef CSI_RPC_CLIENT_H
#define CSI_RPC_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "lib/base/error.h"

struct rpc_client;

/* Connects with the first call. */
struct rpc_client *rpc_client_open(const char *endpoint);
void rpc_client_close(struct rpc_client *client);
DEFINE_CLEANUP(struct rpc_client *, rpc_client_close)

/* Waits for the answer; *ret_response is freed with protobuf_c_message_free_unpacked(). The error
 * has the code and the message of the other side. */
int rpc_client_call(struct rpc_client *client, const char *path, const ProtobufCMessage *request,
                    const ProtobufCMessageDescriptor *response_type, int64_t timeout_ms,
                    ProtobufCMessage **ret_response, struct error **err);

#endif
