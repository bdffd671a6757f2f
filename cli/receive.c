/* SPDX-License-Identifier: Apache-2.0 */
/* imprint receive */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/progress_view.h"
#include "lib/ceph/image_writer.h"
#include "populator/transfer/receive.h"

static uint64_t size;
static uint64_t offset;
static uint64_t fd;
static bool is_json;

static const struct flag flags[] = {
    {"size", FLAG_BYTES, &size, "SIZE", "of all that is sent, those before --offset included",
     NULL},
    {"offset", FLAG_NUMBER, &offset, "BYTES", "where the first byte belongs (default 0)", NULL},
    {"fd", FLAG_NUMBER, &fd, "N", "descriptor that the bytes come by (default 0)", NULL},
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set receive_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&receive_flags, &ceph_flags, &confine_flags, NULL};

static int
open_target(struct image_spec *spec, struct confinement **ret_confinement,
            struct location **ret_location, struct error **err)
{
  struct confine_needs needs = {0};
  int r = ceph_flags_add_needs(spec, &needs, err);
  if (r == 0)
    r = ceph_flags_open_confined(spec, &needs, ret_confinement, ret_location, err);
  confine_needs_clear(&needs);
  return r;
}

/* Whoever sends need not begin before that. */
static void
tell_ready(void)
{
  (void)printf("{\"event\":\"ready\",\"verb\":\"receive\"}\n");
  (void)fflush(stdout);
}

static int
receive_to(struct image_spec *spec, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  struct progress progress = {0};
  if (size == 0 || offset > size)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--size is needed, and --offset must not be behind it");
  if (open_target(spec, &confinement, &location, err) < 0)
    return -1;
  image_writer_hand_over(location, failure_end);
  const struct receive_options options = {.location = location,
                                          .image = spec->image,
                                          .fd = (int)fd,
                                          .offset = offset,
                                          .size = size,
                                          .progress = &progress,
                                          .on_ready = is_json ? tell_ready : NULL};
  interrupt_cancels(&progress);
  struct progress_view *view = progress_view_start("receive", &progress, is_json);
  int r = receive_run(&options, err);
  progress_view_stop(view);
  if (r == 0 && is_json)
    (void)printf("{\"event\":\"done\",\"verb\":\"receive\",\"position\":%" PRIuFAST64
                 ",\"fetched\":%" PRIuFAST64 "}\n",
                 atomic_load(&progress.position), atomic_load(&progress.fetched));
  return r;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  struct image_spec spec;
  if (image_spec_parse(arguments->items[0], &spec, err) < 0)
    return -1;
  int r = receive_to(&spec, err);
  if (r < 0)
    (void)error_wrap(err, "receive into '%.128s'", arguments->items[0]);
  image_spec_clear(&spec);
  return r;
}

static const struct command_example examples[] = {
    {"An upload, as it is sent",
     "imprint receive volume:HANDLE --size 512Mi --clusters clusters.json <disk.img"},
    {0},
};

const struct command command_receive = {
    .name = "receive",
    .usage = "POOL/IMAGE|volume:HANDLE",
    .summary = "Put a file that is sent into an RBD image, as it is",
    .text = "The file comes on standard input, from --offset on, and stands in the image as it is "
            "sent;\n"
            "the image, which must be there, gets its size. Zeros are left out. With --json the "
            "position\n"
            "of each line tells how much of it is safely in Ceph: from there a later call can go "
            "on, and\n"
            "nothing behind it is kept. What is in the file is for a later import from "
            "volume:HANDLE or\n"
            "rbd:POOL/IMAGE to find out.\n",
    .examples = examples,
    .sets = sets,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
