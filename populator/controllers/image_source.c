/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_source.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/controllers/credentials.h"
#include "populator/controllers/object_store.h"
#include "populator/controllers/upload_record.h"

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

/* The Secret's name, alone or as a reference. */
static const char *
secret_at(struct json_object *owner)
{
  const char *name = json_text(owner, "secretRef");
  return name ? name : json_text(owner, "secretRef", "name");
}

/* The source's own Secret, or else the image's. *ret_field is to be freed: where it stands. */
static const char *
secret_of(const struct kube_object *image, const char *member, char **ret_field)
{
  const char *own = secret_at(json_at(image->json, "spec", "source", member));
  *ret_field = own ? xasprintf("spec.source.%s.secretRef", member) : xstrdup("spec.secretRef");
  return own ? own : secret_at(json_at(image->json, "spec"));
}

/* Sources that are a URL. */
static const struct url_source {
  const char *member;
  const char *field;
  const char *schemes[3];
} url_sources[] = {
    {"http", "spec.source.http", {"http://", "https://"}},
    {"registry", "spec.source.registry.url", {"docker://"}},
    {"nbd", "spec.source.nbd.url", {"nbd://", "nbds://"}},
};

#define URL_SOURCES (sizeof(url_sources) / sizeof(url_sources[0]))

/* The URL of the source, if it is of this form: http is one itself, the others have one. */
static const char *
url_of(struct json_object *source, const struct url_source *form)
{
  const char *url = json_text(source, form->member);
  return url ? url : json_text(source, form->member, "url");
}

static int
add_url(struct populator *populator, const struct kube_object *image, const struct url_source *form,
        struct json_object *job, struct error **err)
{
  struct json_object *source = json_at(image->json, "spec", "source");
  const char *url = url_of(source, form);
  if (check_scheme(url, form->field, form->schemes, err) < 0)
    return -1;
  const char *architecture = json_text(json_at(source, form->member), "platform", "architecture");
  add_argument(job, url);
  if (architecture)
    json_put_text(job, architecture, "platform");
  CLEANUP(freep) char *secret_field = NULL;
  const char *secret = secret_of(image, form->member, &secret_field);
  return credentials_add_secret(populator, image->ns, secret, secret_field, CREDENTIALS_HTTP, job,
                                err);
}

static int
add_object(struct populator *populator, const struct kube_object *image, struct json_object *store,
           struct json_object *job, struct error **err)
{
  CLEANUP(freep) char *secret_field = NULL;
  const char *secret = secret_of(image, "objectStore", &secret_field);
  const struct object_store_place place = {.store = store,
                                           .field = "spec.source.objectStore",
                                           .ns = image->ns,
                                           .secret = secret,
                                           .secret_field = secret_field};
  CLEANUP(freep) char *url = NULL;
  if (object_store_add(populator, &place, &url, job, err) < 0)
    return -1;
  add_argument(job, url);
  return 0;
}

/* What was sent. */
static int
add_upload(const struct kube_object *image, struct json_object *job, struct error **err)
{
  CLEANUP(freep) char *url = NULL;
  CLEANUP(freep) char *token = NULL;
  if (upload_record_source(image, &url, &token, err) < 0)
    return -1;
  add_argument(job, url);
  return 0;
}

/* Of its import: one that has ended with it is not repeated. To be freed. */
static int
make_token(const struct kube_object *image, char **ret_token, struct error **err)
{
  CLEANUP(freep) char *url = NULL;
  if (upload_record_is_source(image))
    return upload_record_source(image, &url, ret_token, err);
  *ret_token = xasprintf("%s %" PRId64, image->uid, image->generation);
  return 0;
}

static int
add_source(struct populator *populator, const struct kube_object *image, struct json_object *job,
           struct error **err)
{
  struct json_object *source = json_at(image->json, "spec", "source");
  struct json_object *store = json_at(source, "objectStore");
  for (size_t i = 0; i < URL_SOURCES; i++) {
    if (url_of(source, &url_sources[i]))
      return add_url(populator, image, &url_sources[i], job, err);
  }
  if (store)
    return add_object(populator, image, store, job, err);
  if (upload_record_is_source(image))
    return add_upload(image, job, err);
  if (json_text(source, "hostPath", "path")) {
    add_argument(job, json_text(source, "hostPath", "path"));
    json_put_text(job, populator->host_images, "beneath");
    return 0;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "spec.source: one of http, objectStore, hostPath, registry and nbd is needed");
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
  populator_add_network(populator, job);
  json_put_text(job, populator->clusters_file, "clusters");
  *ret_job = TAKE(job);
  return 0;
}

int
image_source_import_job(struct populator *populator, const struct kube_object *image,
                        struct json_object **ret_job, struct error **err)
{
  struct upload_record upload;
  upload_record_look(image, &upload);
  const char *wanted = json_text(image->json, "spec", "checksum");
  const char *checksum = wanted ? wanted : upload.checksum;
  CLEANUP(freep) char *token = NULL;
  struct json_object *job;
  if (make_token(image, &token, err) < 0 || image_source_job(populator, image, &job, err) < 0)
    return -1;
  CLEANUP(freep)
  char *target = xasprintf("volume:%s", json_text(image->json, "status", "volumeHandle"));
  add_argument(job, target);
  json_put_at(job, json_object_new_boolean(true), "existing");
  json_put_text(job, token, "token");
  if (checksum)
    json_put_text(job, checksum, "checksum");
  else if (json_at(image->json, "spec", "source", "http") ||
           json_at(image->json, "spec", "source", "objectStore"))
    json_put_at(job, json_object_new_boolean(true),
                "digest"); /* a file that is read whole anyway */
  *ret_job = job;
  return 0;
}

/* Without user, password and query: each may be a secret. To be freed. */
static char *
label_of(const char *url)
{
  const char *scheme_end = strstr(url, "://");
  const char *host = scheme_end ? scheme_end + 3 : url;
  const char *at = memrchr(host, '@', strcspn(host, "/?#"));
  const char *rest = at ? at + 1 : host;
  return xasprintf("%.*s%.*s", (int)(host - url), url, (int)strcspn(rest, "?#"), rest);
}

char *
image_source_text(const struct kube_object *image)
{
  struct json_object *source = json_at(image->json, "spec", "source");
  struct json_object *store = json_at(source, "objectStore");
  for (size_t i = 0; i < URL_SOURCES; i++) {
    const char *url = url_of(source, &url_sources[i]);
    if (url)
      return label_of(url);
  }
  if (store)
    return xasprintf("s3://%s/%s", json_text(store, "bucketName"), json_text(store, "objectName"));
  const char *claim = json_text(source, "pvc", "name");
  const char *path = json_text(source, "hostPath", "path");
  if (claim)
    return xasprintf("pvc/%s", claim);
  if (path)
    return xasprintf("%s:%s", json_text(source, "hostPath", "nodeName"), path);
  return xstrdup("upload");
}
