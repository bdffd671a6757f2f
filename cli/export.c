/* SPDX-License-Identifier: Apache-2.0 */
/* imprint export */
#include <inttypes.h>
#include <string.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine_export.h"
#include "cli/export_flags.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/progress_view.h"
#include "cli/retry_view.h"
#include "cli/source_flags.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_writer.h"
#include "populator/transfer/export_copy.h"
#include "populator/transfer/export_run.h"

static bool is_json;

static const struct flag flags[] = {
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set export_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {
    &export_format_flags, &container_disk_flags, &export_flags, &source_flags,
    &ceph_flags,          &confine_flags,        NULL};

static void
print_result(const char *url, const struct progress *progress, uint64_t bytes, const char *digest)
{
  if (is_json) {
    (void)printf(
        "{\"event\":\"done\",\"verb\":\"export\",\"format\":\"%s\",\"written\":%" PRIuFAST64
        ",\"bytes\":%" PRIu64,
        export_flags_format(url), atomic_load(&progress->written), bytes);
    if (digest)
      (void)printf(",\"digest\":\"%s\"", digest);
    (void)puts("}");
  } else if (digest) {
    (void)puts(digest);
  }
}

static int
export_spec(struct image_spec *spec, const char *url, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *digest = NULL;
  uint64_t bytes = 0;
  struct progress progress = {0};
  struct export_options options;
  if (is_json && strcmp(url, "-") == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--json and the image cannot both go to standard output");
  if (export_flags_options(url, &options, err) < 0 ||
      confine_export_image(spec, url, &confinement, &location, err) < 0)
    return -1;
  if (export_copy_is(url))
    image_writer_hand_over(location, failure_end);
  options.sink.http.on_retry = retry_view(is_json);
  options.progress = &progress;
  options.sink.ret_digest = &digest;
  options.ret_bytes = &bytes;
  interrupt_cancels(&progress);
  struct progress_view *view = progress_view_start("export", &progress, is_json);
  int r = export_run(location, spec->image, spec->snapshot, &options, err);
  progress_view_stop(view);
  if (r == 0)
    print_result(url, &progress, bytes, digest);
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

static const struct command_example examples[] = {
    {"A compressed qcow2 file, from an image that may be in use",
     "imprint export vms/debian-12 debian-12.qcow2"},
    {"Into an S3 store, with zstd", "imprint export vms/debian-12@base s3://backup/debian-12.qcow2 "
                                    "--compress zstd --s3-endpoint https://s3.example.com"},
    {"A raw image through a pipe",
     "imprint export vms/debian-12 - --format raw | ssh host 'cat > disk.img'"},
    {"Another image, in another pool", "imprint export vms/debian-12@base rbd:archive/debian-12"},
    {"Onto the disk of an NBD server", "imprint export vms/debian-12 nbd://disks.example.com/root"},
    {0},
};

const struct command command_export = {
    .name = "export",
    .usage = "POOL/IMAGE[@SNAPSHOT]|volume:HANDLE|snapshot:HANDLE DESTINATION",
    .schemes = COMMAND_DESTINATIONS,
    .summary = "Write an image out as qcow2 or raw",
    .text =
        "DESTINATION is a path, file:///PATH, - (standard output), fd:NUMBER (a pipe that is\n"
        "open), http(s)://… (PUT), s3://BUCKET/KEY, docker://REGISTRY/REPOSITORY:TAG,\n"
        "oci-archive:PATH[:NAME], nbd://…, nbds://…, nbd+unix://… or rbd:POOL/IMAGE. Only what is\n"
        "allocated is read. Without @SNAPSHOT a snapshot is taken for it, so the image may be in\n"
        "use. Into a registry and an archive goes a container disk, as imprint push makes it; its\n"
        "digest is printed. An NBD server's disk, which has to be large enough, and an RBD image,\n"
        "which is made in the same cluster, get the bytes of the image themselves (raw).\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
