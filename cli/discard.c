/* SPDX-License-Identifier: Apache-2.0 */
/* imprint discard */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine_export.h"
#include "cli/export_flags.h"
#include "cli/source_flags.h"
#include "lib/base/memory.h"
#include "populator/transfer/export_run.h"

static bool is_json;
static bool is_last;

static const struct flag flags[] = {
    {"forget", FLAG_SWITCH, &is_last, NULL,
     "what cannot be removed is told, and not known any more", NULL},
    {"json", FLAG_SWITCH, &is_json, NULL, "the result as JSON", NULL},
};

static const struct flag_set discard_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&discard_flags, &source_flags, &ceph_flags,
                                              &confine_flags, NULL};

static void
print_result(const char *left)
{
  if (!is_json) {
    if (left)
      (void)fprintf(stderr, "imprint discard: %s\n", left);
    return;
  }
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, "event", json_object_new_string("done"));
  json_object_object_add(object, "verb", json_object_new_string("discard"));
  if (left)
    json_object_object_add(object, "left", json_object_new_string(left));
  (void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
  json_object_put(object);
}

static int
discard(struct image_spec *spec, const char *url, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(freep) char *left = NULL;
  struct export_options options;
  spec->is_allowed_gone = true;
  if (export_flags_options(url, &options, err) < 0 ||
      confine_discard(spec, url, &confinement, &location, err) < 0 ||
      export_discard(location, spec->image, &options, is_last, &left, err) < 0)
    return -1;
  print_result(left);
  return 0;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  struct image_spec spec;
  if (image_spec_parse(arguments->items[0], &spec, err) < 0)
    return -1;
  int r = discard(&spec, arguments->items[1], err);
  image_spec_clear(&spec);
  return r;
}

static const struct command_example examples[] = {
    {"What an export that was killed has left in the store",
     "imprint discard vms/debian-12 s3://backup/debian-12.qcow2 "
     "--s3-endpoint https://s3.example.com"},
    {0},
};

const struct command command_discard = {
    .name = "discard",
    .usage = "POOL/IMAGE|volume:HANDLE DESTINATION",
    .schemes = COMMAND_DESTINATIONS,
    .summary = "Remove what an export that was broken off has left",
    .text =
        "The export's unfinished upload or RBD image, its snapshot and its record in the pool are\n"
        "removed. The image and the destination are named as for imprint export; the image may\n"
        "be gone. An export to the same destination does this by itself.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
