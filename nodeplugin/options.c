/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/options.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/command_line.h"
#include "lib/base/memory.h"
#include "lib/base/option.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/topology.h"

static const char help_text[] =
    "Usage: imprint-node [OPTION]...\n"
    "\n"
    "The CSI node plugin of Imprint: maps, formats, mounts and grows volumes of Ceph RBD for\n"
    "kubelet, which calls it over a unix socket. It makes itself known to kubelet.\n"
    "\n"
    "  --endpoint=unix:///PATH    socket to listen on (default unix:///csi/csi.sock)\n"
    "  --config=FILE              the Ceph clusters to serve; read again when it changes\n"
    "                             (default /etc/imprint/clusters.json)\n"
    "  --run-dir=DIR              folder in memory, of root's alone, that outlives a restart: "
    "helper\n"
    "                             programs and FUSE mounts are found in it (default\n"
    "                             /run/imprint-node)\n"
    "  --kubelet-dir=DIR          kubelet's folder; paths outside of it are refused\n"
    "                             (default /var/lib/kubelet)\n"
    "  --registration-dir=DIR     where kubelet looks for plugins (default\n"
    "                             KUBELET_DIR/plugins_registry); empty: leave it to a registrar\n"
    "  --registered-socket=PATH   the endpoint's socket as kubelet sees it, if it sees it "
    "elsewhere\n"
    "  --driver-name=NAME         (default imprint.csi.hypercloud.tmaxanc.com)\n"
    "  --node-name=NAME           (default the host's name)\n"
    "  --mapper=NAME              for volumes that do not say: auto, krbd, nbd or fuse (default "
    "auto)\n"
    "  --helper-cgroups=DIR       where the host's cgroups are seen: processes that serve volumes "
    "leave\n"
    "                             ours for one in there, and outlive the plugin's container\n"
    "  --topology=KEY=VALUE       where this node is; may be repeated\n"
    "  --topology-file=FILE       the same, from the node's labels as the downward API writes "
    "them:\n"
    "                             lines of KEY=\"VALUE\", of which those of topology are taken\n"
    "  --topology-from-node       the same, from the labels of the Node object at the API server;\n"
    "                             KUBECONFIG, or the pod's service account, says who asks\n"
    "  --topology-label=KEY       with that, one more label to take; may be repeated\n"
    "  --max-volumes=N            how many volumes this node takes, 0 for no limit (default 0)\n"
    "  --log-level=LEVEL          error, warn, info or debug (default info)\n"
    "  --grace-seconds=N          on SIGTERM, calls under way may take so long (default 25)\n"
    "  --rpc-timeout-seconds=N    answer callers who set no deadline after this (default 120)\n"
    "  --inline-expiry-seconds=N  inline volumes of a node that was away for so long are removed "
    "by\n"
    "                             the others (default 86400)\n"
    "  --workers=N                calls served at once (default 64)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start or kubelet refuses it, 2 for "
    "a\n"
    "bad command line.\n";

enum {
  OPTION_ENDPOINT = 1,
  OPTION_CONFIG,
  OPTION_RUN_DIR,
  OPTION_KUBELET_DIR,
  OPTION_REGISTRATION_DIR,
  OPTION_REGISTERED_SOCKET,
  OPTION_DRIVER_NAME,
  OPTION_NODE_NAME,
  OPTION_MAPPER,
  OPTION_HELPER_CGROUPS,
  OPTION_TOPOLOGY,
  OPTION_TOPOLOGY_FILE,
  OPTION_TOPOLOGY_FROM_NODE,
  OPTION_TOPOLOGY_LABEL,
  OPTION_MAX_VOLUMES,
  OPTION_LOG_LEVEL,
  OPTION_GRACE,
  OPTION_RPC_TIMEOUT,
  OPTION_INLINE_EXPIRY,
  OPTION_WORKERS,
};

static const struct option long_options[] = {
    {"endpoint", required_argument, NULL, OPTION_ENDPOINT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"run-dir", required_argument, NULL, OPTION_RUN_DIR},
    {"kubelet-dir", required_argument, NULL, OPTION_KUBELET_DIR},
    {"registration-dir", required_argument, NULL, OPTION_REGISTRATION_DIR},
    {"registered-socket", required_argument, NULL, OPTION_REGISTERED_SOCKET},
    {"driver-name", required_argument, NULL, OPTION_DRIVER_NAME},
    {"node-name", required_argument, NULL, OPTION_NODE_NAME},
    {"mapper", required_argument, NULL, OPTION_MAPPER},
    {"helper-cgroups", required_argument, NULL, OPTION_HELPER_CGROUPS},
    {"topology", required_argument, NULL, OPTION_TOPOLOGY},
    {"topology-file", required_argument, NULL, OPTION_TOPOLOGY_FILE},
    {"topology-from-node", no_argument, NULL, OPTION_TOPOLOGY_FROM_NODE},
    {"topology-label", required_argument, NULL, OPTION_TOPOLOGY_LABEL},
    {"max-volumes", required_argument, NULL, OPTION_MAX_VOLUMES},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"grace-seconds", required_argument, NULL, OPTION_GRACE},
    {"rpc-timeout-seconds", required_argument, NULL, OPTION_RPC_TIMEOUT},
    {"inline-expiry-seconds", required_argument, NULL, OPTION_INLINE_EXPIRY},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    COMMAND_LINE_END,
};

static int
parse_mapper(const char *value, const char **ret_mapper, struct error **err)
{
  if (strcmp(value, MAPPER_AUTO) != 0 && !mapper_by_name(value))
    return error_set(err, ERROR_INVALID_ARGUMENT, "--mapper: auto, krbd, nbd or fuse, not '%s'",
                     value);
  *ret_mapper = value;
  return 0;
}

/* The options that are taken as they are; NULL for the others. */
static const char **
plain_option(int option, struct options *options)
{
  switch (option) {
  case OPTION_ENDPOINT:
    return &options->endpoint;
  case OPTION_CONFIG:
    return &options->config;
  case OPTION_HELPER_CGROUPS:
    return &options->helper_cgroups;
  case OPTION_RUN_DIR:
    return &options->run_dir;
  case OPTION_KUBELET_DIR:
    return &options->kubelet_dir;
  case OPTION_REGISTRATION_DIR:
    return &options->registration_dir;
  case OPTION_REGISTERED_SOCKET:
    return &options->registered_socket;
  case OPTION_DRIVER_NAME:
    return &options->driver_name;
  case OPTION_NODE_NAME:
    return &options->node_name;
  case OPTION_TOPOLOGY_FILE:
    return &options->topology_file;
  default:
    return NULL;
  }
}

static int
take(int option, const char *value, void *target, struct error **err)
{
  struct options *options = target;
  const char **plain = plain_option(option, options);
  if (plain) {
    *plain = value;
    return 0;
  }
  switch (option) {
  case OPTION_MAPPER:
    return parse_mapper(value, &options->mapper, err);
  case OPTION_TOPOLOGY:
    return topology_add(&options->topology, value, err) < 0 ? error_wrap(err, "--topology") : 0;
  case OPTION_TOPOLOGY_FROM_NODE:
    options->topology_from_node = true;
    return 0;
  case OPTION_TOPOLOGY_LABEL:
    if (!topology_is_key(value))
      return error_set(err, ERROR_INVALID_ARGUMENT, "--topology-label: '%.128s' is no label's key",
                       value);
    string_map_set(&options->topology_labels, value, "");
    return 0;
  case OPTION_MAX_VOLUMES:
    return option_number("max-volumes", value, 0, 65536, &options->max_volumes, err);
  case OPTION_LOG_LEVEL:
    return option_log_level(value, &options->log_level, err);
  case OPTION_GRACE:
    return option_seconds("grace-seconds", value, &options->grace_ms, err);
  case OPTION_RPC_TIMEOUT:
    return option_seconds("rpc-timeout-seconds", value, &options->rpc_timeout_ms, err);
  case OPTION_INLINE_EXPIRY:
    return option_seconds("inline-expiry-seconds", value, &options->inline_expiry_ms, err);
  case OPTION_WORKERS:
    return option_number("workers", value, 1, 4096, &options->workers, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

static const struct options defaults = {
    .endpoint = "unix:///csi/csi.sock",
    .config = "/etc/imprint/clusters.json",
    .run_dir = "/run/imprint-node",
    .kubelet_dir = "/var/lib/kubelet",
    .driver_name = "imprint.csi.hypercloud.tmaxanc.com",
    .mapper = MAPPER_AUTO,
    .log_level = LOG_LEVEL_INFO,
    .grace_ms = 25000,
    .rpc_timeout_ms = 120000,
    .inline_expiry_ms = 86400000,
    .workers = 64,
};

static const struct command_line command_line = {
    .program = "imprint-node", .help = help_text, .options = long_options, .take = take};

int
options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
              struct error **err)
{
  *ret_options = defaults;
  return command_line_read(&command_line, argc, argv, ret_options, ret_is_over, err);
}

void
options_clear(struct options *options)
{
  string_map_clear(&options->topology);
  string_map_clear(&options->topology_labels);
}
