/* SPDX-License-Identifier: Apache-2.0 */
/* imprint-controller: starts, waits for a signal, stops in order. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "controllerplugin/base_image.h"
#include "controllerplugin/base_keeper.h"
#include "controllerplugin/controller.h"
#include "controllerplugin/flattener.h"
#include "controllerplugin/options.h"
#include "controllerplugin/passing_snapshot.h"
#include "controllerplugin/places.h"
#include "controllerplugin/purger.h"
#include "csi/identity/identity.h"
#include "csi/rpc/server.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/program.h"

/* Calls that wait for a worker; behind that, callers are told to come back. */
#define CALLS_WAITING_MAX 1024
/* How often freed memory is looked for. */
#define TRIM_SECONDS 2

static int
start_server(const struct options *options, struct controller *controller,
             struct rpc_service services[2], struct rpc_server **ret_server, struct error **err)
{
  services[0] = identity_service(options->driver_name);
  services[1] = (struct rpc_service){controller_methods, controller_method_count, controller};
  struct rpc_server_options server_options = {
      .endpoint = options->endpoint,
      .services = services,
      .service_count = 2,
      .max_workers = options->workers,
      .max_waiting = CALLS_WAITING_MAX,
      .default_timeout_ms = options->rpc_timeout_ms,
  };
  return rpc_server_start(&server_options, ret_server, err);
}

/* Sixteen clones at once leave some 15 MiB of freed memory in the heaps, which glibc would keep:
 * after work was done, it goes back to the system. */
static void
wait_for_signal(const sigset_t *signals, struct rpc_server *server)
{
  const struct timespec interval = {.tv_sec = TRIM_SECONDS};
  uint64_t trimmed_at = rpc_server_served(server);
  int signal;
  while ((signal = sigtimedwait(signals, NULL, &interval)) < 0) {
    uint64_t served = rpc_server_served(server);
    if (served != trimmed_at)
      (void)malloc_trim(0);
    trimmed_at = served;
  }
  log_info("signal %d: stopping", signal);
}

/* Whether everything has come to rest and may be freed. */
static bool
stop(struct controller *controller, struct rpc_server *server, struct base_keeper *keeper,
     int64_t grace_ms)
{
  int64_t deadline_ms = clock_now_ms() + grace_ms;
  atomic_store(&controller->is_stopping, true);
  purger_halt(controller->purger);
  bool is_at_rest = rpc_server_stop(server, grace_ms);
  is_at_rest = base_keeper_stop(keeper, deadline_ms) && is_at_rest;
  is_at_rest = base_images_stop(controller->base_images, deadline_ms) && is_at_rest;
  is_at_rest = purger_stop(controller->purger, deadline_ms) && is_at_rest;
  return flattener_stop(controller->flattener, deadline_ms) && is_at_rest;
}

static int
run(const struct options *options, struct error **err)
{
  sigset_t signals = program_block_signals();
  struct controller controller = {.driver_name = options->driver_name};
  CLEANUP(fence_closep) struct fence *fence = NULL;
  CLEANUP(clusters_closep) struct clusters *clusters = NULL;
  if (fence_open(options->state_dir, &fence, err) < 0 ||
      clusters_open(options->config, fence, &clusters, err) < 0)
    return -1;
  controller.clusters = clusters;
  controller.locks = keyed_locks_new();
  controller.places = places_new();
  controller.passing_snapshots = passing_snapshots_new();
  controller.flattener = flattener_new(&controller);
  controller.purger = purger_new(&controller);
  const struct base_images_options base_images = {.controller = &controller,
                                                  .worker = options->worker,
                                                  .clusters_file = options->config,
                                                  .allow_local_addresses =
                                                      options->allow_local_addresses,
                                                  .allow_network = options->allow_network};
  controller.base_images = base_images_new(&base_images);

  struct rpc_service services[2];
  struct rpc_server *server;
  if (start_server(options, &controller, services, &server, err) < 0)
    return -1;
  purger_start(controller.purger, server);
  struct base_keeper *keeper = base_keeper_start(&controller, (int64_t)options->keep_base_images_s);
  log_info("serving %s on %s", options->driver_name, options->endpoint);
  wait_for_signal(&signals, server);

  if (!stop(&controller, server, keeper, options->grace_ms)) {
    /* A call hangs in a cluster that does not answer. Every step is safe to be cut off behind. */
    log_warn("a cluster does not answer: leaving without waiting for it");
    _exit(0);
  }
  base_keeper_free(keeper);
  base_images_free(controller.base_images);
  purger_free(controller.purger);
  flattener_free(controller.flattener);
  passing_snapshots_free(controller.passing_snapshots);
  places_free(controller.places);
  keyed_locks_free(controller.locks);
  log_info("stopped");
  return 0;
}

int
main(int argc, char **argv)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct options options;
  bool is_over;
  program_bound_memory();
  if (options_parse(argc, argv, &options, &is_over, &err) < 0) {
    (void)fprintf(stderr, "imprint-controller: %s\n", err->message);
    return 2;
  }
  if (is_over)
    return 0;
  log_set_level(options.log_level);
  if (run(&options, &err) < 0) {
    log_error("cannot start: %s", err->message);
    return 1;
  }
  return 0;
}
