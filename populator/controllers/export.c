/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineVolumeExport: a volume as an image file in an object store or a registry, once; or
 * kept here to be fetched, local_export.h. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/export_destination.h"
#include "populator/controllers/export_discard.h"
#include "populator/controllers/export_source.h"
#include "populator/controllers/local_export.h"
#include "populator/controllers/task.h"
#include "populator/objects/quantity.h"

#define SOURCE "volume:"

static void
add_format(const struct kube_object *object, struct json_object *job)
{
  const char *format = json_text(object->json, "spec", "format");
  struct json_object *compress = json_at(object->json, "spec", "compress");
  bool is_raw = format && strcmp(format, "raw") == 0;
  json_put_text(job, is_raw ? "raw" : "qcow2", "format");
  if (!is_raw && compress)
    json_put_text(job, json_object_get_boolean(compress) ? "zlib" : "none", "compress");
}

static int
make_job(struct populator *populator, const struct kube_object *object,
         struct json_object **ret_job, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  struct bound_volume volume = {0};
  if (export_source_find(populator, object, &volume, err) < 0)
    return -1;
  CLEANUP(freep) char *source = xasprintf(SOURCE "%s", volume.handle);
  bound_volume_clear(&volume);
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(source));
  json_put_at(job, arguments, "arguments");
  if (export_destination_add(populator, object, job, err) < 0)
    return -1;
  add_format(object, job);
  *ret_job = TAKE(job);
  return 0;
}

/* The volume is what it is cleaned up after by. */
static void
describe(struct json_object *job, struct json_object *status)
{
  struct json_object *arguments = json_at(job, "arguments");
  json_put_text(status, json_object_get_string(json_item(arguments, 0)) + strlen(SOURCE),
                "volumeHandle");
  json_put_text(status, json_object_get_string(json_item(arguments, 1)), "destination");
}

static void
conclude(struct json_object *result, struct json_object *status)
{
  char size[QUANTITY_TEXT_BYTES];
  int64_t bytes = json_number(result, "bytes");
  const char *digest = json_text(result, "digest");
  if (bytes > 0)
    json_put_text(status, quantity_text((uint64_t)bytes, size), "size");
  if (digest)
    json_put_text(status, digest, "digest");
}

static const struct task task = {
    .controller = &export_controller,
    .verb = TASK_EXPORT,
    .pending = "VmvExportIsInPending",
    .creating = "VmvExportIsCreating",
    .completed = "vmvExportIsCompleted",
    .error = "VmvExportIsInError",
    .done = "all of it is at its destination",
    .tells_ready = true,
    .job = make_job,
    .describe = describe,
    .conclude = conclude,
    .clean_up = export_discard,
};

static int
reconcile(struct populator *populator, const struct kube_object *object, int64_t *ret_again_ms,
          struct error **err)
{
  if (local_export_is(object))
    return local_export_reconcile(populator, object, ret_again_ms, err);
  return task_reconcile(&task, populator, object, ret_again_ms, err);
}

const struct controller export_controller = {
    .name = "export", .kind = &virtual_machine_volume_exports, .reconcile = reconcile};

void
export_changed(void *context, const struct kube_object *before, const struct kube_object *after)
{
  const struct kube_object *object = after ? after : before;
  populator_wake(context, &export_controller, object->ns, object->name);
}
