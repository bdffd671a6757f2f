/* SPDX-License-Identifier: Apache-2.0 */
/* floor: the phases of csi_load, done by librbd alone. */
#include <getopt.h>
#include <stdio.h>

#include "bench/librbd_subject.h"
#include "bench/script.h"
#include "lib/base/text.h"

#define TIMEOUT_MS 120000

static const char help_text[] =
    "Usage: floor --conf=FILE --pool=POOL [OPTION]... [PHASE:IN_FLIGHT:COUNT[:CAP_SECONDS]]...\n"
    "\n"
    "Runs the phases, or those that it reads from stdin, a line each, and prints a JSON object "
    "for\n"
    "each. Phases: those of csi_load, and purge, which empties the trash of the pool.\n"
    "\n"
    "  --user=NAME     Ceph user without client. (default admin)\n"
    "  --keyring=FILE  with the user's key (default: as the configuration says)\n"
    "  --prefix=NAME   what all names begin with (default floor)\n"
    "  --size=BYTES    of a volume, also 1Gi (default)\n"
    "  --idle          only connect and open an image, until stdin ends\n";

enum {
  OPTION_CONF = 1,
  OPTION_POOL,
  OPTION_USER,
  OPTION_KEYRING,
  OPTION_PREFIX,
  OPTION_SIZE,
  OPTION_IDLE,
  OPTION_HELP,
};

static const struct option long_options[] = {
    {"conf", required_argument, NULL, OPTION_CONF},
    {"pool", required_argument, NULL, OPTION_POOL},
    {"user", required_argument, NULL, OPTION_USER},
    {"keyring", required_argument, NULL, OPTION_KEYRING},
    {"prefix", required_argument, NULL, OPTION_PREFIX},
    {"size", required_argument, NULL, OPTION_SIZE},
    {"idle", no_argument, NULL, OPTION_IDLE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct settings {
  struct librbd_place place;
  const char *prefix;
  uint64_t size_bytes;
  bool is_idle;
  bool wants_help;
};

static int
parse_one(int option, const char *value, struct settings *settings, struct error **err)
{
  switch (option) {
  case OPTION_CONF:
    settings->place.conf_file = value;
    return 0;
  case OPTION_POOL:
    settings->place.pool = value;
    return 0;
  case OPTION_USER:
    settings->place.user = value;
    return 0;
  case OPTION_KEYRING:
    settings->place.keyring = value;
    return 0;
  case OPTION_PREFIX:
    settings->prefix = value;
    return 0;
  case OPTION_SIZE:
    if (text_to_bytes(value, &settings->size_bytes) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a number", value);
    return 0;
  case OPTION_IDLE:
    settings->is_idle = true;
    return 0;
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
  if (!settings->place.conf_file || !settings->place.pool)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--conf and --pool are needed");
  CLEANUP(librbd_subject_closep) struct subject *subject = NULL;
  if (librbd_subject_open(&settings->place, &subject, err) < 0)
    return -1;
  if (settings->is_idle)
    return librbd_subject_idle(subject, settings->prefix, err);
  CLEANUP(phases_freep)
  struct phases *phases = phases_new(subject, settings->prefix, settings->size_bytes);
  const struct script script = {.phases = phases, .timeout_ms = TIMEOUT_MS};
  return script_run(&script, argv + optind, (size_t)(argc - optind), err);
}

int
main(int argc, char **argv)
{
  struct settings settings = {.place.user = "admin", .prefix = "floor", .size_bytes = 1ULL << 30};
  CLEANUP(error_freep) struct error *err = NULL;
  int r = run(argc, argv, &settings, &err);
  if (r < 0)
    (void)fprintf(stderr, "floor: %s\n", err ? err->message : "cannot write");
  return r < 0 ? 1 : 0;
}
