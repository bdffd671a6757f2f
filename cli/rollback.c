/* SPDX-License-Identifier: Apache-2.0 */
/* imprint rollback */
#include <stdio.h>
#include <string.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/progress_view.h"
#include "csi/volume/volume_id.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/rollback.h"

static uint64_t size;
static bool is_json;

static const struct flag flags[] = {
    {"size", FLAG_BYTES, &size, "SIZE", "of the image afterwards (default: as it is)", NULL},
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set rollback_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&rollback_flags, &ceph_flags, NULL};

/* librbd tells percents. */
static int
on_progress(void *context, int percent)
{
  struct progress *progress = context;
  atomic_store(&progress->total, 100);
  atomic_store(&progress->position, (uint64_t)percent);
  return 0; /* never stopped half-way: the image would be half of each */
}

/* A handle must be of a snapshot of this very volume. */
static int
snap_of_handle(const char *text, const char *image_id, uint64_t *ret_snap_id, struct error **err)
{
  struct snapshot_id snapshot;
  if (snapshot_id_decode(text, &snapshot, err) < 0)
    return -1;
  if (strcmp(snapshot.volume.image_id, image_id) != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the snapshot is of another volume");
  *ret_snap_id = snapshot.snap_id;
  return 0;
}

static int
roll_back(struct image_spec *spec, const char *snapshot, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *image_id = NULL;
  struct progress progress = {0};
  struct rollback rollback = {.size_bytes = size, .progress = on_progress, .context = &progress};
  if (ceph_flags_open(spec, &location, err) < 0 ||
      directory_id_of(location, spec->image, &image_id, err) < 0 ||
      snap_of_handle(snapshot, image_id, &rollback.snap_id, err) < 0)
    return -1;
  rollback.image_id = image_id;
  struct progress_view *view = progress_view_start("rollback", &progress, is_json);
  int r = rollback_image(location, &rollback, err);
  progress_view_stop(view);
  if (r == 0 && is_json)
    (void)puts("{\"event\":\"done\",\"verb\":\"rollback\"}");
  return r;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  struct image_spec spec;
  if (image_spec_parse(arguments->items[0], &spec, err) < 0)
    return -1;
  int r = roll_back(&spec, arguments->items[1], err);
  if (r < 0)
    (void)error_wrap(err, "roll back '%.128s'", arguments->items[0]);
  image_spec_clear(&spec);
  return r;
}

static const struct command_example examples[] = {
    {"A volume of Kubernetes",
     "imprint rollback volume:HANDLE SNAPSHOT-HANDLE --clusters clusters.json"},
    {0},
};

const struct command command_rollback = {
    .name = "rollback",
    .usage = "POOL/IMAGE|volume:HANDLE SNAPSHOT-HANDLE",
    .summary = "Take a volume back to one of its snapshots",
    .text = "In place; what was written since is lost. SNAPSHOT-HANDLE is what the\n"
            "VolumeSnapshotContent has in status.snapshotHandle. Refused while anybody has the\n"
            "volume open.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
