/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/client.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <string.h>

#include "csi/rpc/status.h"
#include "lib/base/memory.h"

struct rpc_client {
  grpc_channel *channel;
};

struct rpc_client *
rpc_client_open(const char *endpoint)
{
  grpc_init();
  struct rpc_client *client = xcalloc(1, sizeof(*client));
  grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
  client->channel = grpc_channel_create(endpoint, credentials, NULL);
  grpc_channel_credentials_release(credentials);
  return client;
}

void
rpc_client_close(struct rpc_client *client)
{
  if (!client)
    return;
  grpc_channel_destroy(client->channel);
  free(client);
  grpc_shutdown();
}

/* What a finished call has brought. */
struct answer {
  grpc_metadata_array initial, trailing;
  grpc_byte_buffer *payload;
  grpc_status_code status;
  grpc_slice details;
};

static void
answer_clear(struct answer *answer)
{
  grpc_metadata_array_destroy(&answer->initial);
  grpc_metadata_array_destroy(&answer->trailing);
  if (answer->payload)
    grpc_byte_buffer_destroy(answer->payload);
  grpc_slice_unref(answer->details);
}

static void
fill_ops(grpc_op ops[6], grpc_byte_buffer *request, struct answer *answer)
{
  memset(ops, 0, 6 * sizeof(ops[0]));
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = request;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &answer->initial;
  ops[4].op = GRPC_OP_RECV_MESSAGE;
  ops[4].data.recv_message.recv_message = &answer->payload;
  ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  ops[5].data.recv_status_on_client.trailing_metadata = &answer->trailing;
  ops[5].data.recv_status_on_client.status = &answer->status;
  ops[5].data.recv_status_on_client.status_details = &answer->details;
}

/* Sends the request and waits for the answer, which is complete whatever became of the call. */
static void
exchange(struct rpc_client *client, const char *path, grpc_byte_buffer *request, int64_t timeout_ms,
         struct answer *answer)
{
  grpc_completion_queue *queue = grpc_completion_queue_create_for_pluck(NULL);
  gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
  grpc_slice method = grpc_slice_from_copied_string(path);
  grpc_call *call = grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
                                             method, NULL, deadline, NULL);
  grpc_op ops[6];
  fill_ops(ops, request, answer);
  /* Callers start before the server does: wait for it, within the deadline. */
  ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY;
  (void)grpc_call_start_batch(call, ops, 6, answer, NULL);
  (void)grpc_completion_queue_pluck(queue, answer, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
  grpc_call_unref(call);
  grpc_slice_unref(method);
  grpc_completion_queue_shutdown(queue);
  while (grpc_completion_queue_pluck(queue, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
         GRPC_QUEUE_SHUTDOWN)
    ;
  grpc_completion_queue_destroy(queue);
}

static grpc_byte_buffer *
encode(const ProtobufCMessage *message)
{
  grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
  (void)protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
  grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
  grpc_slice_unref(slice);
  return buffer;
}

static int
decode(const struct answer *answer, const ProtobufCMessageDescriptor *type,
       ProtobufCMessage **ret_response, struct error **err)
{
  if (answer->status != GRPC_STATUS_OK) {
    CLEANUP(freep)
    char *message = xstrndup((const char *)GRPC_SLICE_START_PTR(answer->details),
                             GRPC_SLICE_LENGTH(answer->details));
    return error_set(err, status_to_error_code(answer->status), "%s", message);
  }
  grpc_byte_buffer_reader reader;
  if (!answer->payload || !grpc_byte_buffer_reader_init(&reader, answer->payload))
    return error_set(err, ERROR_INTERNAL, "the answer has no message");
  grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
  grpc_byte_buffer_reader_destroy(&reader);
  *ret_response =
      protobuf_c_message_unpack(type, NULL, GRPC_SLICE_LENGTH(all), GRPC_SLICE_START_PTR(all));
  grpc_slice_unref(all);
  if (!*ret_response)
    return error_set(err, ERROR_INTERNAL, "the answer is not a well-formed %s", type->short_name);
  return 0;
}

int
rpc_client_call(struct rpc_client *client, const char *path, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *response_type, int64_t timeout_ms,
                ProtobufCMessage **ret_response, struct error **err)
{
  struct answer answer = {.details = grpc_empty_slice()};
  grpc_metadata_array_init(&answer.initial);
  grpc_metadata_array_init(&answer.trailing);
  grpc_byte_buffer *buffer = encode(request);
  exchange(client, path, buffer, timeout_ms, &answer);
  grpc_byte_buffer_destroy(buffer);
  int r = decode(&answer, response_type, ret_response, err);
  answer_clear(&answer);
  return r < 0 ? error_wrap(err, "%s", strrchr(path, '/') + 1) : 0;
}
