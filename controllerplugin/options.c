/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/options.h"

#include <stdio.h>

#include "lib/base/command_line.h"
#include "lib/base/option.h"

#define KEEP_BASE_IMAGES_S ((uint64_t)7 * 24 * 3600)
#define KEEP_BASE_IMAGES_MAX_S ((uint64_t)100 * 365 * 24 * 3600)

static const char help_text[] =
    "Usage: imprint-controller [OPTION]...\n"
    "\n"
    "The CSI controller of Imprint: makes, clones, snapshots, grows and deletes volumes in Ceph "
    "RBD\n"
    "for the CSI sidecars, which call it over a unix socket.\n"
    "\n"
    "  --endpoint=unix:///PATH    socket to listen on (default unix:///csi/csi.sock)\n"
    "  --config=FILE              the Ceph clusters to serve; read again when it changes\n"
    "                             (default /etc/imprint/clusters.json)\n"
    "  --state-dir=DIR            folder of this instance alone; it outlives a restart, so that "
    "the\n"
    "                             locks of a killed predecessor can be broken at once\n"
    "                             (default /run/imprint-controller)\n"
    "  --driver-name=NAME         (default imprint.csi.hypercloud.tmaxanc.com)\n"
    "  --worker=FILE              the imprint command, for parameter 'imageSource'\n"
    "                             (default /usr/bin/imprint)\n"
    "  --keep-base-images=SECONDS how long an image of 'imageSource' is kept that no volume is a "
    "clone\n"
    "                             of and nobody asks for (default 604800, a week; 0: for ever)\n"
    "  --allow-local-addresses    let images come from loopback, link-local and metadata "
    "addresses\n"
    "  --allow-network=NETWORK[:PORTS],…\n"
    "                             what imports may connect to beside what they name\n"
    "  --log-level=LEVEL          error, warn, info or debug (default info)\n"
    "  --grace-seconds=N          on SIGTERM, calls under way may take so long (default 25)\n"
    "  --rpc-timeout-seconds=N    answer callers who set no deadline after this (default 120)\n"
    "  --workers=N                calls served at once (default 128)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start, 2 for a bad command line.\n";

enum {
  OPTION_ENDPOINT = 1,
  OPTION_CONFIG,
  OPTION_STATE_DIR,
  OPTION_DRIVER_NAME,
  OPTION_WORKER,
  OPTION_KEEP_BASE_IMAGES,
  OPTION_ALLOW_LOCAL,
  OPTION_ALLOW_NETWORK,
  OPTION_LOG_LEVEL,
  OPTION_GRACE,
  OPTION_RPC_TIMEOUT,
  OPTION_WORKERS,
};

static const struct option long_options[] = {
    {"endpoint", required_argument, NULL, OPTION_ENDPOINT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"state-dir", required_argument, NULL, OPTION_STATE_DIR},
    {"driver-name", required_argument, NULL, OPTION_DRIVER_NAME},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"keep-base-images", required_argument, NULL, OPTION_KEEP_BASE_IMAGES},
    {"allow-local-addresses", no_argument, NULL, OPTION_ALLOW_LOCAL},
    {"allow-network", required_argument, NULL, OPTION_ALLOW_NETWORK},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"grace-seconds", required_argument, NULL, OPTION_GRACE},
    {"rpc-timeout-seconds", required_argument, NULL, OPTION_RPC_TIMEOUT},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    COMMAND_LINE_END,
};

static int
take(int option, const char *value, void *target, struct error **err)
{
  struct options *options = target;
  switch (option) {
  case OPTION_ENDPOINT:
    options->endpoint = value;
    return 0;
  case OPTION_CONFIG:
    options->config = value;
    return 0;
  case OPTION_STATE_DIR:
    options->state_dir = value;
    return 0;
  case OPTION_DRIVER_NAME:
    options->driver_name = value;
    return 0;
  case OPTION_WORKER:
    return option_path("worker", value, &options->worker, err);
  case OPTION_KEEP_BASE_IMAGES:
    return option_number("keep-base-images", value, 0, KEEP_BASE_IMAGES_MAX_S,
                         &options->keep_base_images_s, err);
  case OPTION_ALLOW_LOCAL:
    options->allow_local_addresses = true;
    return 0;
  case OPTION_ALLOW_NETWORK:
    options->allow_network = value;
    return 0;
  case OPTION_LOG_LEVEL:
    return option_log_level(value, &options->log_level, err);
  case OPTION_GRACE:
    return option_seconds("grace-seconds", value, &options->grace_ms, err);
  case OPTION_RPC_TIMEOUT:
    return option_seconds("rpc-timeout-seconds", value, &options->rpc_timeout_ms, err);
  case OPTION_WORKERS:
    return option_number("workers", value, 1, 4096, &options->workers, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

static const struct command_line command_line = {
    .program = "imprint-controller", .help = help_text, .options = long_options, .take = take};

int
options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
              struct error **err)
{
  *ret_options = (struct options){
      .endpoint = "unix:///csi/csi.sock",
      .config = "/etc/imprint/clusters.json",
      .state_dir = "/run/imprint-controller",
      .worker = "/usr/bin/imprint",
      .driver_name = "imprint.csi.hypercloud.tmaxanc.com",
      .log_level = LOG_LEVEL_INFO,
      .grace_ms = 25000,
      .rpc_timeout_ms = 120000,
      .workers = 128,
      .keep_base_images_s = KEEP_BASE_IMAGES_S,
  };
  return command_line_read(&command_line, argc, argv, ret_options, ret_is_over, err);
}
