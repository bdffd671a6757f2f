/* SPDX-License-Identifier: Apache-2.0 */
/* VirtualMachineVolumeExport: a volume as an image file in an object store or a registry, once; or
 * kept here to be fetched, local_export.h. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/credentials.h"
#include "populator/controllers/export_source.h"
#include "populator/controllers/local_export.h"
#include "populator/controllers/object_store.h"
#include "populator/controllers/task.h"

/* "https://HOST/BUCKET/OBJECT" as the store's address and "s3://BUCKET/OBJECT". */
static int
split_s3_url(const char *url, char **ret_endpoint, char **ret_object, struct error **err)
{
  const char *host = strstr(url, "://");
  const char *bucket = host ? strchr(host + 3, '/') : NULL;
  if (!bucket || !strchr(bucket + 1, '/'))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "spec.destination.s3.url: https://HOST/BUCKET/OBJECT or s3://BUCKET/OBJECT is "
                     "needed, not '%.128s'",
                     url);
  *ret_endpoint = xstrndup(url, (size_t)(bucket - url));
  *ret_object = xasprintf("s3://%s", bucket + 1);
  return 0;
}

static int
add_s3(struct populator *populator, const struct kube_object *object, struct json_object *s3,
       char **ret_url, struct json_object *job, struct error **err)
{
  const char *url = json_text(s3, "url");
  if (!url)
    return error_set(err, ERROR_INVALID_ARGUMENT, "spec.destination.s3.url is needed");
  if (text_starts_with(url, "s3://")) {
    *ret_url = xstrdup(url);
  } else {
    CLEANUP(freep) char *endpoint = NULL;
    if (split_s3_url(url, &endpoint, ret_url, err) < 0)
      return -1;
    json_put_text(job, endpoint, "s3-endpoint");
    json_put_at(job, json_object_new_boolean(true), "s3-path-style");
  }
  return credentials_add_secret(populator, object->ns, json_text(s3, "secretRef"),
                                "spec.destination.s3.secretRef", CREDENTIALS_S3, job, err);
}

/* spec.objectStore, spec.destination.s3 or .registry. */
static int
add_destination(struct populator *populator, const struct kube_object *object, char **ret_url,
                struct json_object *job, struct error **err)
{
  struct json_object *spec = json_at(object->json, "spec");
  struct json_object *store = json_at(spec, "objectStore");
  struct json_object *s3 = json_at(spec, "destination", "s3");
  struct json_object *registry = json_at(spec, "destination", "registry");
  if (store) {
    const struct object_store_place place = {.store = store,
                                             .field = "spec.objectStore",
                                             .ns = object->ns,
                                             .secret = json_text(store, "secretRef")};
    return object_store_add(populator, &place, ret_url, job, err);
  }
  if (s3)
    return add_s3(populator, object, s3, ret_url, job, err);
  if (registry) {
    const char *url = json_text(registry, "url");
    *ret_url = xstrdup(url ? url : "");
    return credentials_add_secret(populator, object->ns, json_text(registry, "secretRef"),
                                  "spec.destination.registry.secretRef", CREDENTIALS_HTTP, job,
                                  err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.objectStore, or one of spec.destination, is needed");
}

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
  CLEANUP(freep) char *url = NULL;
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  struct bound_volume volume = {0};
  if (export_source_find(populator, object, &volume, err) < 0)
    return -1;
  CLEANUP(freep) char *source = xasprintf("volume:%s", volume.handle);
  bound_volume_clear(&volume);
  if (add_destination(populator, object, &url, job, err) < 0 ||
      credentials_add_ca(populator, object->ns, json_text(object->json, "spec", "certConfigMap"),
                         "spec.certConfigMap", job, err) < 0)
    return -1;
  add_format(object, job);
  if (populator->allow_local_addresses)
    json_put_at(job, json_object_new_boolean(true), "allow-local-addresses");
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(source));
  json_object_array_add(arguments, json_object_new_string(url));
  json_put_at(job, arguments, "arguments");
  *ret_job = TAKE(job);
  return 0;
}

static const struct task task = {
    .controller = &export_controller,
    .verb = "export",
    .pending = "VmvExportIsInPending",
    .creating = "VmvExportIsCreating",
    .completed = "vmvExportIsCompleted",
    .error = "VmvExportIsInError",
    .job = make_job,
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
