/* SPDX-License-Identifier: Apache-2.0 */
/* imprint import */
#include <inttypes.h>
#include <unistd.h>

#include "cli/beneath.h"
#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/progress_view.h"
#include "cli/retry_view.h"
#include "cli/source_flags.h"
#include "cli/volume_source.h"
#include "lib/ceph/image_writer.h"
#include "lib/sandbox/sanitizer.h"
#include "populator/transfer/import_done.h"
#include "populator/transfer/target.h"

#define JOBS_MAX 64

static uint64_t size;
static const char *checksum;
static const char *format = "auto";
static const char *snapshot;
static const char *data_pool;
static uint64_t jobs = 4;
static bool is_existing;
static const char *token;
static bool is_digest;
static bool is_json;

static const struct flag flags[] = {
    {"size", FLAG_BYTES, &size, "SIZE", "of the RBD image (default: as large as the content)",
     NULL},
    {"checksum", FLAG_TEXT, &checksum, "sha256:…", "of the source; sha512:… too", NULL},
    {"digest", FLAG_SWITCH, &is_digest, NULL,
     "make the source's SHA-256 for the result where no other digest is known", NULL},
    {"format", FLAG_TEXT, &format, "auto|raw|qcow2|vmdk|vdi|vhd|vhdx|qed",
     "what the image must be (default auto)", NULL},
    {"snapshot", FLAG_TEXT, &snapshot, "NAME", "snapshot to make when all is there", NULL},
    {"data-pool", FLAG_TEXT, &data_pool, "POOL", "pool for the data alone", NULL},
    {"existing", FLAG_SWITCH, &is_existing, NULL,
     "fill an image that is there, in place of making one; what it holds is lost", NULL},
    {"token", FLAG_TEXT, &token, "TEXT",
     "with --existing: an import that ended with the same token is not repeated", NULL},
    {"jobs", FLAG_NUMBER, &jobs, "N", "connections and threads (default 4)", NULL},
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set import_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&import_flags, &source_flags,  &beneath_flags,
                                              &ceph_flags,   &confine_flags, NULL};

/* Whoever sends need not begin before that. */
static void
tell_ready(uint64_t offset)
{
  (void)printf("{\"event\":\"ready\",\"verb\":\"import\",\"offset\":%" PRIu64 "}\n", offset);
  (void)fflush(stdout);
}

static void
print_result(const struct import_result *result, const struct progress *progress)
{
  if (!is_json)
    return;
  if (result->is_part) {
    (void)printf("{\"event\":\"paused\",\"verb\":\"import\",\"safe\":%" PRIuFAST64 "}\n",
                 atomic_load(&progress->safe));
    return;
  }
  (void)printf("{\"event\":\"done\",\"verb\":\"import\",\"format\":\"%s\",\"virtualSize\":%" PRIu64
               ",\"resumedAt\":%" PRIu64 ",\"fetched\":%" PRIuFAST64 ",\"written\":%" PRIuFAST64,
               result->format, result->virtual_size, result->resumed_at,
               atomic_load(&progress->fetched), atomic_load(&progress->written));
  if (*result->digest)
    (void)printf(",\"digest\":\"%s\"", result->digest);
  (void)puts("}");
}

/* The last act: until then whoever calls again is told the same. A result that did not get through
 * was not told. Whoever only asks for the exit status has it when we are gone, so we go at once: to
 * let go of everything in order takes milliseconds, and only who looks for leaks needs it. */
static void
end_told(struct location *location, const struct import_result *result)
{
  if (!*result->untold || fflush(stdout) != 0 || ferror(stdout))
    return;
  import_done_told(location, result);
  if (!SANDBOX_HAS_SANITIZER)
    _exit(0);
}

static int
begin_confinement(const char *url, const struct image_spec *spec,
                  const struct source_options *source, struct confinement **ret_confinement,
                  struct error **err)
{
  struct confine_needs needs = {0};
  int r = volume_source_add_needs(url, source, &needs, err);
  if (r == 0)
    r = ceph_flags_add_needs(spec, &needs, err);
  if (r == 0)
    r = confine_begin(&needs, ret_confinement, err);
  confine_needs_clear(&needs);
  return r;
}

/* Connects, and shuts the door behind it. */
static int
open_ends(struct import_options *options, struct image_spec *spec, struct confinement *confinement,
          char **ret_url, struct location **ret_location, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  if (ceph_flags_open(spec, &location, err) < 0 ||
      confine_add_cluster(confinement, location->cluster, err) < 0 ||
      ceph_flags_confine_source(options->url, spec, confinement, err) < 0 ||
      volume_source_resolve(options->url, confinement, &options->source, ret_url, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  *ret_location = TAKE(location);
  return 0;
}

static int
import_with(struct import_options *options, struct image_spec *spec, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *url = NULL;
  struct progress *progress = options->progress;
  struct import_result result;
  if (begin_confinement(options->url, spec, &options->source, &confinement, err) < 0 ||
      open_ends(options, spec, confinement, &url, &location, err) < 0)
    return -1;
  image_writer_hand_over(location, failure_end);
  options->url = url;
  options->location = location;
  options->image = spec->image;
  options->foreign = confinement_foreign(confinement);
  interrupt_cancels(progress);
  struct progress_view *view = progress_view_start("import", progress, is_json);
  int r = import_run(options, &result, err);
  progress_view_stop(view);
  if (r == 0) {
    print_result(&result, progress);
    end_told(location, &result);
  }
  return r;
}

static int
import_to(const char *url, struct image_spec *spec, struct error **err)
{
  CLEANUP(freep) char *source = NULL;
  struct progress progress = {0};
  struct import_options options = {
      .url = url,
      .layout = {.features = TARGET_FEATURES_DEFAULT, .data_pool = data_pool},
      .is_existing = is_existing,
      .token = token,
      .size = size,
      .checksum = checksum,
      .wants_digest = is_digest,
      .format = format,
      .snapshot = snapshot,
      .workers = (unsigned)jobs,
      .progress = &progress};
  if (spec->snapshot)
    return error_set(err, ERROR_INVALID_ARGUMENT, "a snapshot cannot be imported into");
  if (token && !is_existing)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--token: it goes with --existing");
  if (jobs < 1 || jobs > JOBS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--jobs: a number from 1 to %d is needed",
                     JOBS_MAX);
  if (beneath_source(url, &source, err) < 0)
    return -1;
  options.url = source;
  source_flags_options(&options.source);
  options.source.http.on_retry = retry_view(is_json);
  options.source.on_ready = is_json ? tell_ready : NULL;
  int r = import_with(&options, spec, err);
  cluster_config_clear(&options.source.ceph);
  return r;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  struct image_spec spec;
  if (image_spec_parse(arguments->items[1], &spec, err) < 0)
    return -1;
  int r = import_to(arguments->items[0], &spec, err);
  if (r < 0)
    (void)error_wrap(err, "import to '%.128s'", arguments->items[1]);
  image_spec_clear(&spec);
  return r;
}

static const struct command_example examples[] = {
    {"A cloud image, with its checksum, and a snapshot to clone from",
     "imprint import https://cloud.debian.org/images/debian-12.qcow2 vms/debian-12 --checksum "
     "sha256:… --snapshot base"},
    {"An object of an S3 store, into a larger image",
     "imprint import s3://images/windows.vhdx vms/windows --s3-endpoint https://s3.example.com "
     "--size 64Gi"},
    {"A container disk", "imprint import docker://quay.io/containerdisks/fedora:41 vms/fedora"},
    {"What another program writes", "xzcat disk.img.xz | imprint import - vms/disk"},
    {0},
};

const struct command command_import = {
    .name = "import",
    .usage = "SOURCE POOL/IMAGE",
    .schemes = COMMAND_SOURCES,
    .summary = "Bring an image into RBD",
    .text =
        "SOURCE is a path, file:///PATH, - (standard input), http(s)://…, s3://BUCKET/KEY,\n"
        "docker://REGISTRY/REPOSITORY:TAG, oci-archive:PATH, docker-archive:PATH, nbd://…, "
        "nbds://…,\n"
        "nbd+unix://…, rbd:POOL/IMAGE@SNAPSHOT or volume:HANDLE. What it is, is told by its "
        "content: raw, qcow2,\n"
        "vmdk, vdi, vhd, vhdx or qed, also inside gzip, xz, zstd or a tar archive. It is read "
        "once\n"
        "and written straight into RBD; zeros are not written. Killed at any moment and called\n"
        "again, it goes on. upload:FD:SIZE:NAME is a file of so many bytes that is sent in\n"
        "pieces, one a call: with --json, the event ready tells from which byte on, and safe\n"
        "in later ones how much need not be sent again.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
