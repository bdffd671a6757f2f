/* SPDX-License-Identifier: Apache-2.0 */
/* A small service of CSI's messages to talk to, on a socket in a folder of its own.
 *
 *   Probe                 answers at once, and is quiet
 *   CreateVolume          gives back what it got: name as volume_id, parameters as volume_context
 *   DeleteVolume          fails; volume_id says how: "5 no such thing" is NOT_FOUND
 *   ControllerGetVolume   waits at the gate */
#ifndef TESTS_UNIT_CSI_RPC_ECHO_SERVICE_H
#define TESTS_UNIT_CSI_RPC_ECHO_SERVICE_H

#include <csi.pb-c.h>
#include <stdatomic.h>

#include "csi/rpc/client.h"
#include "csi/rpc/server.h"
#include "tests/unit/gate.h"

struct echo_service {
  char *dir;
  char *endpoint;
  struct gate gate;
  atomic_int begun; /* handlers, ever */
  struct rpc_server *server;
  struct rpc_client *client;
  struct rpc_service services[2];
};

/* Starts it, and a client of it. */
void echo_service_start(struct echo_service *echo, size_t max_workers, size_t max_waiting);
/* Opens the gate, stops the server and frees everything. */
void echo_service_stop(struct echo_service *echo);
/* The server alone, on the same socket. */
void echo_service_listen(struct echo_service *echo, size_t max_workers, size_t max_waiting,
                         int64_t default_timeout_ms);

int echo_probe(struct echo_service *echo, int64_t timeout_ms, struct error **err);
/* Creates a volume of this name; *ret_id is what came back, to be freed. */
int echo_create(struct echo_service *echo, const char *name, char **ret_id, struct error **err);
int echo_delete(struct echo_service *echo, const char *how, struct error **err);
int echo_wait_at_gate(struct echo_service *echo, int64_t timeout_ms, struct error **err);

/* A call in a thread of its own. */
struct echo_waiter {
  struct echo_service *echo;
  int64_t timeout_ms;
  pthread_t thread;
  struct error *err; /* after echo_waiter_join() */
  int result;
  int64_t took_ms;
};

void echo_waiter_start(struct echo_waiter *waiter, struct echo_service *echo, int64_t timeout_ms);
void echo_waiter_join(struct echo_waiter *waiter);

/* Waits until this many calls are in the server, or were taken in since it started. */
void echo_wait_busy(struct echo_service *echo, size_t count);
void echo_wait_served(struct echo_service *echo, uint64_t count);

#endif
