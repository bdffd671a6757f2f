/* SPDX-License-Identifier: Apache-2.0 */
/* One call on its way through the server: from the moment gRPC announces it to the moment its
 * answer has left and its handler has returned, whichever is later. */
#ifndef CSI_RPC_CALL_H
#define CSI_RPC_CALL_H

#include <grpc/grpc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csi/rpc/method.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"

/* What a gRPC completion leads to; every tag given to gRPC is one of these. */
struct completion {
  void (*run)(struct completion *self, bool ok);
};

struct rpc_server;

struct rpc_call {
  struct rpc_server *server;
  struct worker_pool *pool; /* runs the handler */
  void (*on_over)(
      struct rpc_call *call); /* nobody uses the call any more; it is freed behind this */
  const struct rpc_method *method;
  void *context;
  grpc_call *grpc;
  grpc_call_details details;
  grpc_metadata_array metadata;
  grpc_byte_buffer *payload;
  char id[24]; /* for the log */
  int64_t started_ms;
  int64_t answer_by_ms; /* when the queue's thread answers in the handler's place */

  struct completion announced; /* a call is here */
  struct completion received;  /* its message is here */
  struct completion closed;    /* the caller has hung up, or the call is over */
  struct completion sent;      /* the answer has left */
  struct job job;              /* the handler's run */

  atomic_int refs; /* one for each of the above that is under way */
  atomic_bool is_answered;
  atomic_bool is_running; /* a worker has begun */
  int was_cancelled;

  struct rpc_call *previous, *next; /* the server's list of calls, under its mutex */
};

/* The call that a completion or job is part of. */
#define CALL_OF(part, member) CONTAINER_OF(part, struct rpc_call, member)

/* Starts receiving the message, or refuses a method that is not served; announced->run() has seen
 * ok. */
void call_receive(struct rpc_call *call);
/* Sends the answer unless one was sent; response may be NULL when code is not OK. Any thread. */
bool call_answer(struct rpc_call *call, int code, const char *message, grpc_byte_buffer *response);
void call_unref(struct rpc_call *call);

#endif
