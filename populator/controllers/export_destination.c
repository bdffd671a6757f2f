/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/export_destination.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/credentials.h"
#include "populator/controllers/object_store.h"

/* Whether a bucket can stand before it: "bucket.s3.example.com", not an address. */
static bool
has_bucket(const char *host, const char *end)
{
  const char *dot = memchr(host, '.', (size_t)(end - host));
  return *host != '[' && dot && dot > host && dot + 1 < end &&
         strspn(host, "0123456789.") < strcspn(host, ":/"); /* no IPv4 */
}

/* "https://HOST/BUCKET/OBJECT" as the store's address and "s3://BUCKET/OBJECT"; of
 * "https://BUCKET.HOST/OBJECT", with one part behind the host, the same: stores that know buckets
 * by names of hosts know them by paths as well. */
static int
split_s3_url(const char *url, char **ret_endpoint, char **ret_object, struct error **err)
{
  const char *host = strstr(url, "://");
  const char *path = host ? strchr(host + 3, '/') : NULL;
  if (path && strchr(path + 1, '/')) {
    *ret_endpoint = xstrndup(url, (size_t)(path - url));
    *ret_object = xasprintf("s3://%s", path + 1);
    return 0;
  }
  if (!path || !path[1] || !has_bucket(host + 3, path))
    return error_set(
        err, ERROR_INVALID_ARGUMENT,
        "spec.destination.s3.url: https://HOST/BUCKET/OBJECT, https://BUCKET.HOST/OBJECT "
        "or s3://BUCKET/OBJECT is needed, not '%.128s'",
        url);
  host += 3;
  const char *rest = strchr(host, '.') + 1;
  *ret_endpoint = xasprintf("%.*s%.*s", (int)(host - url), url, (int)(path - rest), rest);
  *ret_object = xasprintf("s3://%.*s%s", (int)(rest - 1 - host), host, path);
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
add_place(struct populator *populator, const struct kube_object *object, char **ret_url,
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
                                             .secret = json_text(store, "secretRef"),
                                             .secret_field = "spec.objectStore.secretRef"};
    return object_store_add(populator, &place, ret_url, job, err);
  }
  if (s3)
    return add_s3(populator, object, s3, ret_url, job, err);
  if (registry) {
    const char *url = json_text(registry, "url");
    if (!url || !text_starts_with(url, "docker://")) /* the worker knows others, as rbd: */
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "spec.destination.registry.url: docker://REGISTRY/REPOSITORY is needed");
    *ret_url = xstrdup(url);
    return credentials_add_secret(populator, object->ns, json_text(registry, "secretRef"),
                                  "spec.destination.registry.secretRef", CREDENTIALS_HTTP, job,
                                  err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.objectStore, or one of spec.destination, is needed");
}

int
export_destination_add(struct populator *populator, const struct kube_object *object,
                       struct json_object *job, struct error **err)
{
  CLEANUP(freep) char *url = NULL;
  int r = add_place(populator, object, &url, job, err);
  if (url)
    json_object_array_add(json_at(job, "arguments"), json_object_new_string(url));
  if (r < 0)
    return -1;
  populator_add_network(populator, job);
  return credentials_add_ca(populator, object->ns, json_text(object->json, "spec", "certConfigMap"),
                            "spec.certConfigMap", job, err);
}
