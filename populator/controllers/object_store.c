/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/object_store.h"

#include "lib/base/memory.h"
#include "populator/controllers/credentials.h"

/* Where no store is named, it is the installation's. Its keys are never sent to another one, but
 * those of the user may go there. */
static int
add_own(struct populator *populator, const struct object_store_place *place,
        struct json_object *job, struct error **err)
{
  const char *endpoint = json_text(place->store, "endpoint");
  const char *region = json_text(place->store, "region");
  const struct object_store *installed = &populator->object_store;
  if (!endpoint && installed->endpoint) {
    endpoint = installed->endpoint;
    region = region ? region : installed->region;
  }
  if (endpoint)
    json_put_text(job, endpoint, "s3-endpoint");
  if (region)
    json_put_text(job, region, "s3-region");
  json_put_at(job, json_object_new_boolean(endpoint != NULL), "s3-path-style");
  return credentials_add_secret(populator, place->ns, place->secret, place->secret_field,
                                CREDENTIALS_S3, job, err);
}

static int
add_installed(struct populator *populator, const char *field, struct json_object *job,
              struct error **err)
{
  const struct object_store *store = &populator->object_store;
  if (!store->endpoint)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s: no object store is set up in this installation: name endpoint and "
                     "secretRef",
                     field);
  json_put_text(job, store->endpoint, "s3-endpoint");
  if (store->region)
    json_put_text(job, store->region, "s3-region");
  json_put_at(job, json_object_new_boolean(true), "s3-path-style");
  return credentials_add_secret(populator, kube_client_namespace(populator->client), store->secret,
                                "the installation's object store", CREDENTIALS_S3, job, err);
}

int
object_store_add(struct populator *populator, const struct object_store_place *place,
                 char **ret_url, struct json_object *job, struct error **err)
{
  const char *bucket = json_text(place->store, "bucketName");
  const char *object = json_text(place->store, "objectName");
  if (!bucket || !*bucket || !object || !*object)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: bucketName and objectName are needed",
                     place->field);
  bool is_own = json_text(place->store, "endpoint") || place->secret;
  *ret_url = xasprintf("s3://%s/%s", bucket, object);
  return is_own ? add_own(populator, place, job, err)
                : add_installed(populator, place->field, job, err);
}
