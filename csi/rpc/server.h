/* SPDX-License-Identifier: Apache-2.0 */
/* A gRPC server for unary methods on a unix socket.
 *
 * One thread sits at the completion queue; it takes calls in, hands each to a worker and sends the
 * answers off. Workers run the handlers and may block in a Ceph call for as long as a cluster is
 * away. The caller still gets an answer in time: shortly before its deadline the queue's thread
 * says DEADLINE_EXCEEDED in the worker's place, and the worker's result is dropped when it comes.
 */
#ifndef CSI_RPC_SERVER_H
#define CSI_RPC_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "csi/rpc/method.h"

struct rpc_server;

struct rpc_server_options {
  const char *endpoint; /* "unix:///path" */
  const struct rpc_service *services;
  size_t service_count;
  size_t max_workers;         /* handlers that run at once */
  size_t max_waiting;         /* calls that wait for a worker; the next one gets UNAVAILABLE */
  int64_t default_timeout_ms; /* for callers who set no deadline */
};

/* Listens and serves from here on. The services must outlive the server. */
int rpc_server_start(const struct rpc_server_options *options, struct rpc_server **ret_server,
                     struct error **err);
/* Takes no new calls and waits for those under way, at most grace_ms; then they are answered with
 * UNAVAILABLE. Connections without a call are not waited for. False when a handler still runs: then
 * nothing is freed and the process should exit. */
bool rpc_server_stop(struct rpc_server *server, int64_t grace_ms);

/* Calls taken in and not yet left by their handler. */
size_t rpc_server_busy(struct rpc_server *server);
/* For how long there has been no call: 0 while one is under way. */
int64_t rpc_server_idle_ms(struct rpc_server *server);
/* Calls taken in since it started. */
uint64_t rpc_server_served(struct rpc_server *server);

#endif
