/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_source.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/credentials.h"
#include "populator/controllers/object_store.h"

static void
add_argument(struct json_object *job, const char *text)
{
  struct json_object *list = json_at(job, "arguments");
  if (!list) {
    list = json_object_new_array();
    json_put_at(job, list, "arguments");
  }
  json_object_array_add(list, json_object_new_string(text));
}

static int
check_scheme(const char *url, const char *field, const char *const *schemes, struct error **err)
{
  for (size_t i = 0; schemes[i]; i++) {
    if (text_starts_with(url, schemes[i]))
      return 0;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "%s: '%.128s' does not begin with %s", field, url,
                   schemes[0]);
}

static const char *
secret_of(const struct kube_object *image, struct json_object *source)
{
  const char *own = json_text(source, "secretRef");
  const char *named = json_text(source, "secretRef", "name");
  const char *common = json_text(image->json, "spec", "secretRef");
  const char *common_named = json_text(image->json, "spec", "secretRef", "name");
  return own ? own : named ? named : common ? common : common_named;
}

static int
add_url(struct populator *populator, const struct kube_object *image, struct json_object *source,
        const char *url, const char *field, const char *const *schemes, struct json_object *job,
        struct error **err)
{
  if (check_scheme(url, field, schemes, err) < 0)
    return -1;
  add_argument(job, url);
  return credentials_add_secret(populator, image->ns, secret_of(image, source), "spec.secretRef",
                                CREDENTIALS_HTTP, job, err);
}

static int
add_source(struct populator *populator, const struct kube_object *image, struct json_object *job,
           struct error **err)
{
  static const char *const http[] = {"http://", "https://", NULL};
  static const char *const docker[] = {"docker://", NULL};
  static const char *const nbd[] = {"nbd://", "nbds://", NULL};
  struct json_object *source = json_at(image->json, "spec", "source");
  struct json_object *store = json_at(source, "objectStore");
  const char *url;
  if ((url = json_text(source, "http")))
    return add_url(populator, image, source, url, "spec.source.http", http, job, err);
  if ((url = json_text(source, "registry", "url")))
    return add_url(populator, image, json_at(source, "registry"), url, "spec.source.registry.url",
                   docker, job, err);
  if ((url = json_text(source, "nbd", "url")))
    return add_url(populator, image, json_at(source, "nbd"), url, "spec.source.nbd.url", nbd, job,
                   err);
  if (store) {
    CLEANUP(freep) char *object = NULL;
    if (object_store_add(populator, image->ns, store, secret_of(image, store),
                         "spec.source.objectStore", &object, job, err) < 0)
      return -1;
    add_argument(job, object);
    return 0;
  }
  if (json_at(source, "hostPath"))
    return error_set(
        err, ERROR_INVALID_ARGUMENT,
        "spec.source.hostPath: files on nodes are not read; upload it or put it behind "
        "http");
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.source: one of http, objectStore, registry, nbd, upload, pvc is needed");
}

int
image_source_job(struct populator *populator, const struct kube_object *image,
                 struct json_object **ret_job, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  const char *certificates = json_text(image->json, "spec", "certConfigMap");
  if (add_source(populator, image, job, err) < 0 ||
      credentials_add_ca(populator, image->ns, certificates, "spec.certConfigMap", job, err) < 0)
    return -1;
  if (populator->allow_local_addresses)
    json_put_at(job, json_object_new_boolean(true), "allow-local-addresses");
  json_put_text(job, populator->clusters_file, "clusters");
  *ret_job = TAKE(job);
  return 0;
}

char *
image_source_text(const struct kube_object *image)
{
  struct json_object *source = json_at(image->json, "spec", "source");
  struct json_object *store = json_at(source, "objectStore");
  const char *url = json_text(source, "http");
  url = url ? url : json_text(source, "registry", "url");
  url = url ? url : json_text(source, "nbd", "url");
  if (store)
    return xasprintf("s3://%s/%s", json_text(store, "bucketName"), json_text(store, "objectName"));
  return xstrdup(url ? url : json_at(source, "upload") ? "upload" : "pvc");
}
