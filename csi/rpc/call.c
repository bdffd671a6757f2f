/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/call.h"

#include <grpc/byte_buffer_reader.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "csi/rpc/message_check.h"
#include "csi/rpc/status.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* Clients take 8 KiB of metadata; a character that is not ASCII travels as three for each byte. */
#define DETAILS_MAX_BYTES 2048

const char *
rpc_method_name(const struct rpc_method *method)
{
  return strrchr(method->path, '/') + 1;
}

void
call_unref(struct rpc_call *call)
{
  if (atomic_fetch_sub(&call->refs, 1) != 1)
    return;
  if (call->grpc) {
    call->on_over(call);
    grpc_call_unref(call->grpc);
  }
  if (call->payload)
    grpc_byte_buffer_destroy(call->payload);
  grpc_call_details_destroy(&call->details);
  grpc_metadata_array_destroy(&call->metadata);
  free(call);
}

static void
log_answer(const struct rpc_call *call, int code, const char *message)
{
  int64_t took_ms = clock_now_ms() - call->started_ms;
  const char *name = call->method ? rpc_method_name(call->method) : "unknown method";
  if (code == 0)
    log_write(call->method && call->method->is_quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
              "%s done in %" PRId64 " ms", name, took_ms);
  else
    log_warn("%s failed after %" PRId64 " ms: %s: %s", name, took_ms, error_code_name(code),
             message);
}

static void
on_sent(struct completion *self, bool ok)
{
  (void)ok; /* the caller may have gone; that is his affair */
  call_unref(CALL_OF(self, sent));
}

bool
call_answer(struct rpc_call *call, int code, const char *message, grpc_byte_buffer *response)
{
  if (atomic_exchange(&call->is_answered, true)) {
    if (response)
      grpc_byte_buffer_destroy(response);
    return false;
  }
  log_set_request(call->id);
  log_answer(call, code, message);
  log_set_request(NULL);
  grpc_slice details =
      grpc_slice_from_copied_buffer(message, text_utf8_prefix(message, DETAILS_MAX_BYTES));
  grpc_op ops[3];
  memset(ops, 0, sizeof(ops));
  size_t n = 0;
  ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
  if (response) {
    ops[n].data.send_message.send_message = response;
    ops[n++].op = GRPC_OP_SEND_MESSAGE;
  }
  ops[n].data.send_status_from_server.status = (grpc_status_code)code;
  ops[n].data.send_status_from_server.status_details = &details;
  ops[n++].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  atomic_fetch_add(&call->refs, 1);
  if (grpc_call_start_batch(call->grpc, ops, n, &call->sent, NULL) != GRPC_CALL_OK)
    call_unref(call);
  grpc_slice_unref(details);
  if (response)
    grpc_byte_buffer_destroy(response);
  return true;
}

static char *
flatten_payload(grpc_byte_buffer *payload, size_t *ret_len)
{
  grpc_byte_buffer_reader reader;
  if (!grpc_byte_buffer_reader_init(&reader, payload))
    return NULL;
  grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
  grpc_byte_buffer_reader_destroy(&reader);
  *ret_len = GRPC_SLICE_LENGTH(all);
  char *copy = xcalloc(*ret_len + 1, 1);
  memcpy(copy, GRPC_SLICE_START_PTR(all), *ret_len);
  grpc_slice_unref(all);
  return copy;
}

static int
decode_request(const struct rpc_call *call, ProtobufCMessage **ret_request, struct error **err)
{
  size_t len = 0;
  CLEANUP(freep) char *data = flatten_payload(call->payload, &len);
  if (!data)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the request's compression is not supported");
  if (message_check(call->method->request, (const uint8_t *)data, len, err) < 0)
    return -1;
  *ret_request = protobuf_c_message_unpack(call->method->request, NULL, len, (const uint8_t *)data);
  if (!*ret_request)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the request is not a well-formed %s message",
                     call->method->request->short_name);
  return 0;
}

static grpc_byte_buffer *
encode_response(const ProtobufCMessage *response)
{
  grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(response));
  (void)protobuf_c_message_pack(response, GRPC_SLICE_START_PTR(slice));
  grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
  grpc_slice_unref(slice);
  return buffer;
}

static void
message_freep(ProtobufCMessage **message)
{
  protobuf_c_message_free_unpacked(*message, NULL);
}

/* Runs the handler; on success *ret_response is its encoded answer. */
static int
handle(const struct rpc_call *call, grpc_byte_buffer **ret_response, struct error **err)
{
  const ProtobufCMessageDescriptor *type = call->method->response;
  CLEANUP(message_freep) ProtobufCMessage *request = NULL;
  if (decode_request(call, &request, err) < 0)
    return -1;
  CLEANUP(message_freep) ProtobufCMessage *response = xcalloc(1, type->sizeof_message);
  protobuf_c_message_init(type, response);
  if (call->method->handle(call->context, request, response, err) < 0)
    return -1;
  *ret_response = encode_response(response);
  return 0;
}

static void
run_job(struct job *job)
{
  struct rpc_call *call = CALL_OF(job, job);
  /* Answered while it waited for a worker: whoever called has gone, so nothing is begun. */
  if (!atomic_load(&call->is_answered)) {
    CLEANUP(error_freep) struct error *err = NULL;
    grpc_byte_buffer *response = NULL;
    atomic_store(&call->is_running, true);
    log_set_request(call->id);
    int r = handle(call, &response, &err);
    log_set_request(NULL);
    if (r < 0)
      (void)call_answer(call, (int)status_of_error(err), err->message, NULL);
    else
      (void)call_answer(call, GRPC_STATUS_OK, "", response);
  }
  call_unref(call);
}

static void
on_closed(struct completion *self, bool ok)
{
  (void)ok;
  call_unref(CALL_OF(self, closed));
}

static void
on_received(struct completion *self, bool ok)
{
  struct rpc_call *call = CALL_OF(self, received);
  if (!ok || !call->payload) {
    /* Too large, or the caller has gone: gRPC has answered what there was to answer. */
    (void)call_answer(call, GRPC_STATUS_INVALID_ARGUMENT, "no request message arrived", NULL);
    call_unref(call);
    return;
  }
  call->job.run = run_job;
  if (worker_pool_submit(call->pool, &call->job))
    return; /* the job has our reference */
  (void)call_answer(call, GRPC_STATUS_UNAVAILABLE,
                    "too many calls are waiting for the storage cluster: try again later", NULL);
  call_unref(call);
}

void
call_receive(struct rpc_call *call)
{
  call->closed.run = on_closed;
  call->sent.run = on_sent;
  grpc_op close_op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                      .data.recv_close_on_server.cancelled = &call->was_cancelled};
  atomic_fetch_add(&call->refs, 1);
  if (grpc_call_start_batch(call->grpc, &close_op, 1, &call->closed, NULL) != GRPC_CALL_OK)
    call_unref(call);
  if (!call->method) {
    (void)call_answer(call, GRPC_STATUS_UNIMPLEMENTED, "this driver does not serve that method",
                      NULL);
    call_unref(call);
    return;
  }
  call->received.run = on_received;
  grpc_op receive_op = {.op = GRPC_OP_RECV_MESSAGE,
                        .data.recv_message.recv_message = &call->payload};
  if (grpc_call_start_batch(call->grpc, &receive_op, 1, &call->received, NULL) != GRPC_CALL_OK)
    call_unref(call);
}
