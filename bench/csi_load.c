/* SPDX-License-Identifier: Apache-2.0 */
/* csi_load: a load on any CSI driver's controller service, measured. */
#include <getopt.h>
#include <stdio.h>

#include "bench/csi_subject.h"
#include "bench/flat_json.h"
#include "bench/script.h"
#include "lib/base/text.h"

static const char help_text[] =
    "Usage: csi_load --endpoint=unix:///PATH [OPTION]... [PHASE:IN_FLIGHT:COUNT[:CAP_SECONDS]]...\n"
    "\n"
    "Runs the phases, or those that it reads from stdin, a line each, and prints a JSON object "
    "for\n"
    "each. Phases: create create-again expand snapshot restore restore-same clone delete-children\n"
    "delete-snapshots delete. A count of 0 stands for all that there are.\n"
    "\n"
    "  --parameters=FILE           of the StorageClass, a JSON object of strings\n"
    "  --snapshot-parameters=FILE  of the VolumeSnapshotClass\n"
    "  --secrets=FILE              sent with every request\n"
    "  --prefix=NAME               what all names begin with (default load)\n"
    "  --size=BYTES                of a volume, also 1Gi (default)\n"
    "  --timeout-seconds=N         of an operation, retries included (default 120)\n"
    "  --pid=PID                   the driver: its memory and processor time are reported\n";

enum {
  OPTION_ENDPOINT = 1,
  OPTION_PARAMETERS,
  OPTION_SNAPSHOT_PARAMETERS,
  OPTION_SECRETS,
  OPTION_PREFIX,
  OPTION_SIZE,
  OPTION_TIMEOUT,
  OPTION_PID,
  OPTION_HELP,
};

static const struct option long_options[] = {
    {"endpoint", required_argument, NULL, OPTION_ENDPOINT},
    {"parameters", required_argument, NULL, OPTION_PARAMETERS},
    {"snapshot-parameters", required_argument, NULL, OPTION_SNAPSHOT_PARAMETERS},
    {"secrets", required_argument, NULL, OPTION_SECRETS},
    {"prefix", required_argument, NULL, OPTION_PREFIX},
    {"size", required_argument, NULL, OPTION_SIZE},
    {"timeout-seconds", required_argument, NULL, OPTION_TIMEOUT},
    {"pid", required_argument, NULL, OPTION_PID},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct settings {
  const char *endpoint;
  const char *prefix;
  uint64_t size_bytes;
  uint64_t timeout_seconds;
  uint64_t pid;
  struct csi_classes classes;
  bool wants_help;
};

static void
settings_clear(struct settings *settings)
{
  string_map_clear(&settings->classes.parameters);
  string_map_clear(&settings->classes.snapshot_parameters);
  string_map_clear(&settings->classes.secrets);
}

static int
need(int r, const char *value, struct error **err)
{
  return r < 0 ? error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a number", value) : 0;
}

static int
parse_one(int option, const char *value, struct settings *settings, struct error **err)
{
  switch (option) {
  case OPTION_ENDPOINT:
    settings->endpoint = value;
    return 0;
  case OPTION_PARAMETERS:
    return flat_json_read(value, &settings->classes.parameters, err);
  case OPTION_SNAPSHOT_PARAMETERS:
    return flat_json_read(value, &settings->classes.snapshot_parameters, err);
  case OPTION_SECRETS:
    return flat_json_read(value, &settings->classes.secrets, err);
  case OPTION_PREFIX:
    settings->prefix = value;
    return 0;
  case OPTION_SIZE:
    return need(text_to_bytes(value, &settings->size_bytes), value, err);
  case OPTION_TIMEOUT:
    return need(text_to_u64(value, 10, &settings->timeout_seconds), value, err);
  case OPTION_PID:
    return need(text_to_u64(value, 10, &settings->pid), value, err);
  case OPTION_HELP:
    settings->wants_help = true;
    return 0;
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

static int
run(int argc, char **argv, struct settings *settings, struct error **err)
{
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (parse_one(option, optarg, settings, err) < 0)
      return -1;
  }
  if (settings->wants_help)
    return fputs(help_text, stdout) < 0 ? -1 : 0;
  if (!settings->endpoint)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--endpoint is needed");
  CLEANUP(csi_subject_closep) struct subject *subject = NULL;
  if (csi_subject_open(settings->endpoint, &settings->classes, &subject, err) < 0)
    return -1;
  CLEANUP(phases_freep)
  struct phases *phases = phases_new(subject, settings->prefix, settings->size_bytes);
  const struct script script = {.phases = phases,
                                .timeout_ms = (int64_t)settings->timeout_seconds * 1000,
                                .pid = (pid_t)settings->pid};
  return script_run(&script, argv + optind, (size_t)(argc - optind), err);
}

int
main(int argc, char **argv)
{
  struct settings settings = {.prefix = "load", .size_bytes = 1ULL << 30, .timeout_seconds = 120};
  CLEANUP(error_freep) struct error *err = NULL;
  int r = run(argc, argv, &settings, &err);
  settings_clear(&settings);
  if (r < 0)
    (void)fprintf(stderr, "csi_load: %s\n", err ? err->message : "cannot write");
  return r < 0 ? 1 : 0;
}
