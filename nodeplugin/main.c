/* SPDX-License-Identifier: Apache-2.0 */
/* imprint-node: starts, waits for a signal, stops in order. Volumes stay as they are: what serves
 * them is the kernel, or processes that outlive this one. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csi/identity/identity.h"
#include "csi/rpc/server.h"
#include "csi/volume/node_id.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/program.h"
#include "lib/base/subprocess.h"
#include "lib/base/text.h"
#include "nodeplugin/helper_cgroup.h"
#include "nodeplugin/inline_collector.h"
#include "nodeplugin/io_watch.h"
#include "nodeplugin/kernel_check.h"
#include "nodeplugin/node.h"
#include "nodeplugin/node_labels.h"
#include "nodeplugin/options.h"
#include "nodeplugin/reattacher.h"
#include "nodeplugin/registration.h"
#include "nodeplugin/topology.h"

/* Calls that wait for a worker; behind that, callers are told to come back. */
#define CALLS_WAITING_MAX 1024
/* How often dead helpers are looked for. */
#define TICK_SECONDS 1
#define ENDPOINT_PREFIX "unix://"
/* A socket's path has at most 107 bytes, and helpers have theirs 25 below the run folder. */
#define RUN_DIR_MAX 72

static int
make_run_dir(const char *path, struct error **err)
{
  struct stat now;
  if (*path != '/' || strlen(path) > RUN_DIR_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--run-dir: an absolute path of at most %d bytes is needed, not '%s'",
                     RUN_DIR_MAX, path);
  if (mkdir(path, 0700) < 0 && errno != EEXIST)
    return error_set_errno(err, errno, "make '%s'", path);
  if (lstat(path, &now) < 0 || !S_ISDIR(now.st_mode) || now.st_uid != geteuid())
    return error_set(err, ERROR_FAILED_PRECONDITION, "--run-dir '%s' is not a folder of our own",
                     path);
  return chmod(path, 0700) < 0 ? error_set_errno(err, errno, "close '%s' to others", path) : 0;
}

static int
name_node(const struct options *options, char **ret_name, struct error **err)
{
  char host[HOST_NAME_MAX + 1] = "";
  (void)gethostname(host, sizeof(host) - 1);
  const char *chosen = options->node_name ? options->node_name : host;
  CLEANUP(freep) char *id = node_id_encode(chosen);
  const char *name;
  if (node_id_decode(id, &name, NULL) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--node-name: '%s' is not the name of a node",
                     chosen);
  *ret_name = xstrdup(chosen);
  return 0;
}

static int
start_server(const struct options *options, struct node *node, struct rpc_service services[2],
             struct rpc_server **ret_server, struct error **err)
{
  services[0] = identity_service(options->driver_name);
  services[1] = (struct rpc_service){node_methods, node_method_count, node};
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

static int
start_registration(const struct options *options, struct registration *registration,
                   struct error **err)
{
  if (options->registration_dir && !*options->registration_dir)
    return 0;
  CLEANUP(freep)
  char *dir = options->registration_dir ? xstrdup(options->registration_dir)
                                        : xasprintf("%s/plugins_registry", options->kubelet_dir);
  const char *socket = options->endpoint;
  if (text_starts_with(socket, ENDPOINT_PREFIX))
    socket += strlen(ENDPOINT_PREFIX);
  return registration_start(registration, dir, options->driver_name,
                            options->registered_socket ? options->registered_socket : socket, err);
}

/* Whether a signal ended it, and not kubelet. */
static bool
wait_for_end(const sigset_t *signals, struct reattacher *reattacher,
             struct inline_collector *collector, struct registration *registration)
{
  const struct timespec interval = {.tv_sec = TICK_SECONDS};
  int signal;
  reattacher_kick(reattacher);
  while ((signal = sigtimedwait(signals, NULL, &interval)) < 0) {
    if (atomic_load(&registration->was_refused))
      return false;
    subprocess_reap();
    reattacher_kick(reattacher);
    inline_collector_tick(collector);
  }
  log_info("signal %d: stopping", signal);
  return true;
}

/* With everything set up in *node; its exit status. */
static int
serve(const struct options *options, const sigset_t *signals, struct node *node, struct error **err)
{
  struct rpc_service services[2];
  struct rpc_server *server;
  struct registration registration = {0};
  node->collector = inline_collector_new(node, options->inline_expiry_ms / 1000);
  if (start_server(options, node, services, &server, err) < 0) {
    inline_collector_free(node->collector);
    return -1;
  }
  struct reattacher *reattacher = reattacher_new(node);
  log_info("serving %s on %s as node '%s'", options->driver_name, options->endpoint, node->name);
  bool was_signalled = false;
  int r = start_registration(options, &registration, err);
  if (r == 0)
    was_signalled = wait_for_end(signals, reattacher, node->collector, &registration);
  registration_stop(&registration);
  int64_t deadline_ms = clock_now_ms() + options->grace_ms;
  bool is_at_rest = rpc_server_stop(server, options->grace_ms);
  is_at_rest = reattacher_stop(reattacher, deadline_ms) && is_at_rest;
  is_at_rest = inline_collector_stop(node->collector, deadline_ms) && is_at_rest;
  if (!is_at_rest) {
    /* A call hangs in a cluster or a device. Every step is safe to be cut off behind. */
    log_warn("a call does not end: leaving without waiting for it");
    _exit(was_signalled ? 0 : 1);
  }
  reattacher_free(reattacher);
  inline_collector_free(node->collector);
  if (r == 0 && !was_signalled)
    return error_set(err, ERROR_FAILED_PRECONDITION, "kubelet has refused the registration");
  return r;
}

static int
run(struct options *options, struct error **err)
{
  sigset_t signals = program_block_signals();
  CLEANUP(freep) char *name = NULL;
  CLEANUP(freep) char *fence_dir = xasprintf("%s/ceph", options->run_dir);
  CLEANUP(freep) char *kubelet_dir = realpath(options->kubelet_dir, NULL);
  CLEANUP(fence_closep) struct fence *fence = NULL;
  CLEANUP(clusters_closep) struct clusters *clusters = NULL;
  CLEANUP(helper_cgroup_freep) struct helper_cgroup *helpers = NULL;
  CLEANUP(node_labels_closep) struct node_labels *labels = NULL;
  if (!kubelet_dir)
    return error_set_errno(err, errno, "--kubelet-dir '%s'", options->kubelet_dir);
  if (kernel_check(err) < 0 || name_node(options, &name, err) < 0 ||
      make_run_dir(options->run_dir, err) < 0 ||
      (options->topology_file &&
       topology_read_file(&options->topology, options->topology_file, err) < 0) ||
      (options->topology_from_node &&
       node_labels_open(name, &options->topology_labels, &labels, err) < 0) ||
      (options->helper_cgroups && helper_cgroup_open(options->helper_cgroups, &helpers, err) < 0) ||
      fence_open(fence_dir, &fence, err) < 0 ||
      clusters_open(options->config, fence, &clusters, err) < 0)
    return -1;
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  CLEANUP(io_watch_freep) struct io_watch *io_watch = io_watch_new();
  struct node node = {.driver_name = options->driver_name,
                      .name = name,
                      .kubelet_dir = {.real = kubelet_dir, .given = options->kubelet_dir},
                      .mapper = options->mapper,
                      .max_volumes = (int64_t)options->max_volumes,
                      .topology = options->topology,
                      .labels = labels,
                      .env.run_dir = options->run_dir,
                      .env.helpers = helpers,
                      .clusters = clusters,
                      .locks = locks,
                      .io_watch = io_watch};
  if (serve(options, &signals, &node, err) < 0)
    return -1;
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
    (void)fprintf(stderr, "imprint-node: %s\n", err->message);
    return 2;
  }
  if (is_over)
    return 0;
  log_set_level(options.log_level);
  int r = run(&options, &err);
  if (r < 0)
    log_error("cannot go on: %s", err->message);
  options_clear(&options);
  return r < 0 ? 1 : 0;
}
