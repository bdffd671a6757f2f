/* SPDX-License-Identifier: Apache-2.0 */
/* imprint export */
#include <inttypes.h>
#include <string.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/interrupt.h"
#include "cli/progress_view.h"
#include "cli/source_flags.h"
#include "lib/base/memory.h"
#include "populator/transfer/export_run.h"

#define JOBS_MAX 64

static const char *format = "qcow2";
static const char *compress = "zlib";
static uint64_t jobs = 4;
static bool is_json;

static const struct flag flags[] = {
    {"format", FLAG_TEXT, &format, "FORMAT", "qcow2 (default) or raw", NULL},
    {"compress", FLAG_TEXT, &compress, "HOW", "zlib (default), zstd or none; for qcow2", NULL},
    {"jobs", FLAG_NUMBER, &jobs, "N", "threads that read and compress (default 4)", NULL},
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set export_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&export_flags, &source_flags, &ceph_flags,
                                              &confine_flags, NULL};

static int
parse_format(enum export_format *ret_format, struct error **err)
{
  static const struct {
    const char *format;
    const char *compress;
    enum export_format value;
  } table[] = {
      {"qcow2", "zlib", EXPORT_QCOW2_ZLIB},
      {"qcow2", "zstd", EXPORT_QCOW2_ZSTD},
      {"qcow2", "none", EXPORT_QCOW2},
  };
  if (strcmp(format, "raw") == 0) {
    *ret_format = EXPORT_RAW;
    return 0;
  }
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    if (strcmp(format, table[i].format) == 0 && strcmp(compress, table[i].compress) == 0) {
      *ret_format = table[i].value;
      return 0;
    }
  }
  return error_set(
      err, ERROR_INVALID_ARGUMENT,
      "--format is qcow2 or raw, --compress is zlib, zstd or none; not '%.32s', '%.32s'", format,
      compress);
}

/* What the user says of the destination is what he says of a source. */
static int
begin_confinement(const char *url, const struct image_spec *spec, struct sink_options *sink,
                  struct confinement **ret_confinement, struct error **err)
{
  struct source_options source;
  struct confine_needs needs = {0};
  source_flags_options(&source);
  *sink = (struct sink_options){.http = source.http,
                                .s3 = source.s3,
                                .registry_insecure = source.registry_insecure,
                                .registry_auth_file = source.registry_auth_file,
                                .platform = source.platform};
  int r = confine_needs_add_destination(&needs, url, &source, err);
  if (r == 0)
    r = ceph_flags_add_needs(spec, &needs, err);
  if (r == 0)
    r = confine_begin(&needs, ret_confinement, err);
  confine_needs_clear(&needs);
  cluster_config_clear(&source.ceph);
  return r;
}

static void
print_result(const struct progress *progress)
{
  if (is_json)
    (void)printf(
        "{\"event\":\"done\",\"verb\":\"export\",\"format\":\"%s\",\"written\":%" PRIuFAST64 "}\n",
        format, atomic_load(&progress->written));
}

static int
export_spec(struct image_spec *spec, const char *url, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  struct progress progress = {0};
  struct export_options options = {.workers = (unsigned)jobs, .progress = &progress, .url = url};
  if (jobs < 1 || jobs > JOBS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--jobs: a number from 1 to %d is needed",
                     JOBS_MAX);
  if (is_json && strcmp(url, "-") == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--json and the image cannot both go to standard output");
  if (parse_format(&options.format, err) < 0 ||
      begin_confinement(url, spec, &options.sink, &confinement, err) < 0 ||
      ceph_flags_open(spec, &location, err) < 0 ||
      confine_add_cluster(confinement, location->cluster, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  interrupt_cancels(&progress);
  struct progress_view *view = progress_view_start("export", &progress, is_json);
  int r = export_run(location, spec->image, spec->snapshot, &options, err);
  progress_view_stop(view);
  if (r == 0)
    print_result(&progress);
  return r;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  struct image_spec spec;
  if (image_spec_parse(arguments->items[0], &spec, err) < 0)
    return -1;
  int r = export_spec(&spec, arguments->items[1], err);
  if (r < 0)
    (void)error_wrap(err, "export '%.128s'", arguments->items[0]);
  image_spec_clear(&spec);
  return r;
}

const struct command command_export = {
    .name = "export",
    .usage = "POOL/IMAGE[@SNAPSHOT] DESTINATION",
    .summary = "Write an image out as qcow2 or raw",
    .text =
        "DESTINATION is a path, file:///PATH, - (standard output), http(s)://… (PUT), "
        "s3://BUCKET/KEY\n"
        "or docker://REGISTRY/REPOSITORY:TAG. Only what is allocated is read. Without @SNAPSHOT a\n"
        "snapshot is taken for it, so the image may be in use.\n",
    .sets = sets,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
