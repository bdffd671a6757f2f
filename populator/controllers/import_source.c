/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/import_source.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/credentials.h"

/* The worker knows more kinds of URLs than users may name, as rbd: and files; so each is held to
 * its form here too, whoever made the definitions of the kinds. */

struct place {
  struct populator *populator;
  const char *ns;
  struct json_object *source; /* of http, s3 or registry */
  const char *field;          /* where that stands: "spec.source.http" */
};

/* Credentials of the member called so. */
static int
add_secret(const struct place *place, enum credentials_kind kind, struct json_object *job,
           struct error **err)
{
  CLEANUP(freep) char *field = xasprintf("%s.secretRef", place->field);
  return credentials_add_secret(place->populator, place->ns, json_text(place->source, "secretRef"),
                                field, kind, job, err);
}

static void
add_to_list(struct json_object *job, const char *name, const char *text)
{
  struct json_object *list = json_at(job, name);
  if (!list) {
    list = json_object_new_array();
    json_put_at(job, list, name);
  }
  json_object_array_add(list, json_object_new_string(text));
}

/* ---- http -------------------------------------------------------------------------------------
 */

static int
add_headers(const struct place *place, struct json_object *job, struct error **err)
{
  struct json_object *plain = json_at(place->source, "extraHeaders");
  struct json_object *secret = json_at(place->source, "secretExtraHeaders");
  for (size_t i = 0; i < json_count(plain); i++)
    add_to_list(job, "header", json_object_get_string(json_item(plain, i)));
  CLEANUP(freep) char *field = xasprintf("%s.secretExtraHeaders", place->field);
  for (size_t i = 0; i < json_count(secret); i++) {
    const char *name = json_object_get_string(json_item(secret, i));
    if (credentials_add_headers(place->populator, place->ns, name, field, job, err) < 0)
      return -1;
  }
  return 0;
}

static int
add_http(const struct place *place, struct json_object *job, struct error **err)
{
  const char *url = json_text(place->source, "url");
  if (!text_starts_with(url, "http://") && !text_starts_with(url, "https://"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s.url: '%.128s' does not begin with http:// or https://", place->field, url);
  add_to_list(job, "arguments", url);
  if (add_headers(place, job, err) < 0)
    return -1;
  return add_secret(place, CREDENTIALS_HTTP, job, err);
}

/* ---- s3 ---------------------------------------------------------------------------------------
 */

/* "https://store.example/bucket/key" names the store, the bucket and the object. */
static int
add_s3_url(const struct place *place, struct json_object *job, struct error **err)
{
  const char *url = json_text(place->source, "url");
  if (text_starts_with(url, "s3://")) {
    add_to_list(job, "arguments", url);
    return 0;
  }
  const char *host = strstr(url, "://");
  const char *path = host ? strchr(host + 3, '/') : NULL;
  const char *key = path ? strchr(path + 1, '/') : NULL;
  if (!key || key == path + 1 || !key[1])
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "%s.url: '%.128s' is not of the form https://STORE/BUCKET/OBJECT",
                     place->field, url);
  CLEANUP(freep) char *endpoint = xstrndup(url, (size_t)(path - url));
  CLEANUP(freep) char *object = xasprintf("s3://%s", path + 1);
  json_put_text(job, endpoint, "s3-endpoint");
  json_put_at(job, json_object_new_boolean(true), "s3-path-style");
  add_to_list(job, "arguments", object);
  return 0;
}

/* Keys of one store are never sent to another: those of the installation go to its store only. */
static int
add_s3(const struct place *place, struct json_object *job, struct error **err)
{
  if (add_s3_url(place, job, err) < 0)
    return -1;
  return add_secret(place, CREDENTIALS_S3, job, err);
}

/* ---- registry ---------------------------------------------------------------------------------
 */

static int
add_registry(const struct place *place, struct json_object *job, struct error **err)
{
  const char *url = json_text(place->source, "url");
  const char *architecture = json_text(place->source, "platform", "architecture");
  if (!text_starts_with(url, "docker://"))
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s.url: '%.128s' does not begin with docker://",
                     place->field, url);
  add_to_list(job, "arguments", url);
  if (architecture && *architecture)
    json_put_text(job, architecture, "platform");
  return add_secret(place, CREDENTIALS_HTTP, job, err);
}

static const struct form {
  const char *member;
  int (*add)(const struct place *place, struct json_object *job, struct error **err);
} forms[] = {{"http", add_http}, {"s3", add_s3}, {"registry", add_registry}};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

const char *
import_source_url(struct json_object *source)
{
  for (size_t i = 0; i < FORMS; i++) {
    const char *url = json_text(source, forms[i].member, "url");
    if (url)
      return url;
  }
  return NULL;
}

static int
add_source(struct populator *populator, const char *ns, struct json_object *source,
           const char *field, struct json_object *job, struct error **err)
{
  for (size_t i = 0; i < FORMS; i++) {
    CLEANUP(freep) char *member = xasprintf("%s.%s", field, forms[i].member);
    const struct place place = {populator, ns, json_at(source, forms[i].member), member};
    if (!json_text(place.source, "url"))
      continue;
    CLEANUP(freep) char *certificates_field = xasprintf("%s.certConfigMap", member);
    const char *certificates = json_text(place.source, "certConfigMap");
    if (forms[i].add(&place, job, err) < 0)
      return -1;
    return credentials_add_ca(populator, ns, certificates, certificates_field, job, err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "%s: one of http, s3 and registry with a url is needed", field);
}

int
import_source_job(struct populator *populator, const char *ns, struct json_object *source,
                  const char *field, struct json_object **ret_job, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = json_object_new_object();
  if (add_source(populator, ns, source, field, job, err) < 0)
    return -1;
  populator_add_network(populator, job);
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, populator->clusters_file, "clusters");
  *ret_job = TAKE(job);
  return 0;
}
