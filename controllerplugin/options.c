/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/options.h"

#include <getopt.h>
#include <stdio.h>

#include "lib/base/text.h"

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
    "  --allow-local-addresses    let images come from loopback, link-local and metadata "
    "addresses\n"
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
  OPTION_ALLOW_LOCAL,
  OPTION_LOG_LEVEL,
  OPTION_GRACE,
  OPTION_RPC_TIMEOUT,
  OPTION_WORKERS,
  OPTION_HELP,
  OPTION_VERSION,
};

static const struct option long_options[] = {
    {"endpoint", required_argument, NULL, OPTION_ENDPOINT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"state-dir", required_argument, NULL, OPTION_STATE_DIR},
    {"driver-name", required_argument, NULL, OPTION_DRIVER_NAME},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"allow-local-addresses", no_argument, NULL, OPTION_ALLOW_LOCAL},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"grace-seconds", required_argument, NULL, OPTION_GRACE},
    {"rpc-timeout-seconds", required_argument, NULL, OPTION_RPC_TIMEOUT},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static int
parse_number(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *ret_number,
             struct error **err)
{
  if (text_to_u64(value, 10, ret_number) < 0 || *ret_number < min || *ret_number > max)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--%s: a number from %llu to %llu is needed, not '%s'", name,
                     (unsigned long long)min, (unsigned long long)max, value);
  return 0;
}

static int
parse_seconds(const char *name, const char *value, int64_t *ret_ms, struct error **err)
{
  uint64_t seconds;
  if (parse_number(name, value, 1, 86400, &seconds, err) < 0)
    return -1;
  *ret_ms = (int64_t)seconds * 1000;
  return 0;
}

static int
parse_one(int option, const char *value, struct options *options, struct error **err)
{
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
    options->worker = value;
    return 0;
  case OPTION_ALLOW_LOCAL:
    options->allow_local_addresses = true;
    return 0;
  case OPTION_LOG_LEVEL:
    if (log_level_parse(value, &options->log_level) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "--log-level: error, warn, info or debug, not '%s'", value);
    return 0;
  case OPTION_GRACE:
    return parse_seconds("grace-seconds", value, &options->grace_ms, err);
  case OPTION_RPC_TIMEOUT:
    return parse_seconds("rpc-timeout-seconds", value, &options->rpc_timeout_ms, err);
  case OPTION_WORKERS:
    return parse_number("workers", value, 1, 4096, &options->workers, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

int
options_parse(int argc, char **argv, struct options *ret_options, enum options_result *ret_result,
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
  };
  *ret_result = OPTIONS_EXIT;
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (option == OPTION_HELP) {
      (void)fputs(help_text, stdout);
      return 0;
    }
    if (option == OPTION_VERSION) {
      (void)printf("imprint-controller %s\n", IMPRINT_VERSION);
      return 0;
    }
    if (parse_one(option, optarg, ret_options, err) < 0)
      return -1;
  }
  if (optind < argc)
    return error_set(err, ERROR_INVALID_ARGUMENT, "unexpected argument '%s'", argv[optind]);
  *ret_result = OPTIONS_RUN;
  return 0;
}
