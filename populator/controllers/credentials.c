/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/credentials.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

/* A key of a Secret under one of its usual names, and the flag of the job that it becomes. */
struct key {
  const char *flag;
  const char *names[4];
  bool is_needed;
};

static const struct key http_keys[] = {
    {"user", {"username", "accessKeyId", "user"}, false},
    {"password", {"password", "secretKey"}, false},
    {"bearer-token", {"token"}, false},
};

static const struct key s3_keys[] = {
    {"s3-access-key", {"AWS_ACCESS_KEY_ID", "accessKeyId", "accessKey"}, true},
    {"s3-secret-key", {"AWS_SECRET_ACCESS_KEY", "secretKey"}, true},
    {"s3-session-token", {"AWS_SESSION_TOKEN"}, false},
};

static int
get(struct populator *populator, const struct kube_kind *kind, const char *ns, const char *name,
    const char *field, struct kube_object **ret_object, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, kind, ns, name, ret_object, &failure) == 0)
    return 0;
  if (failure->code == ERROR_NOT_FOUND)
    return error_set(err, ERROR_UNAVAILABLE, "%s: there is no %s '%s/%s'", field, kind->kind, ns,
                     name);
  return error_set(err, failure->code, "%s: %s", field, failure->message);
}

/* The value of a key, decoded; NULL when it is not there. To be freed. */
static char *
secret_value(const struct kube_object *secret, const char *name)
{
  const char *text = json_text(secret->json, "data", name);
  size_t len = text ? strlen(text) : 0;
  if (!text || len > INT_MAX)
    return NULL;
  char *value = xcalloc(len / 4 * 3 + 4, 1);
  if (EVP_DecodeBlock((unsigned char *)value, (const unsigned char *)text, (int)len) >= 0)
    return value;
  free(value);
  return NULL;
}

/* 1: it is there, 0: it is not and need not be. */
static int
add_key(const struct kube_object *secret, const struct key *key, const char *field,
        struct json_object *job, struct error **err)
{
  for (size_t i = 0; i < 4 && key->names[i]; i++) {
    char *value = secret_value(secret, key->names[i]);
    if (!value)
      continue;
    json_put_text(job, value, key->flag);
    explicit_bzero(value, strlen(value));
    free(value);
    return 1;
  }
  if (!key->is_needed)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT, "%s: Secret '%s/%s' has no key %s", field,
                   secret->ns, secret->name, key->names[0]);
}

int
credentials_add_secret(struct populator *populator, const char *ns, const char *name,
                       const char *field, enum credentials_kind kind, struct json_object *job,
                       struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *secret = NULL;
  if (!name || !*name)
    return 0;
  if (get(populator, &kube_secrets, ns, name, field, &secret, err) < 0)
    return -1;
  const struct key *keys = kind == CREDENTIALS_S3 ? s3_keys : http_keys;
  size_t count = kind == CREDENTIALS_S3 ? sizeof(s3_keys) / sizeof(s3_keys[0])
                                        : sizeof(http_keys) / sizeof(http_keys[0]);
  int found = 0;
  for (size_t i = 0; i < count; i++) {
    int r = add_key(secret, &keys[i], field, job, err);
    if (r < 0)
      return -1;
    found += r;
  }
  if (found > 0)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "%s: Secret '%s/%s' has none of the keys username, password and token", field,
                   ns, name);
}

int
credentials_add_headers(struct populator *populator, const char *ns, const char *name,
                        const char *field, struct json_object *job, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *secret = NULL;
  if (get(populator, &kube_secrets, ns, name, field, &secret, err) < 0)
    return -1;
  struct json_object *data = json_at(secret->json, "data");
  struct json_object *list = json_at(job, "header");
  if (!data)
    return 0;
  if (!list) {
    list = json_object_new_array();
    json_put_at(job, list, "header");
  }
  json_object_object_foreach(data, key, unused)
  {
    (void)unused;
    CLEANUP(freep) char *value = secret_value(secret, key);
    if (!value)
      continue;
    value[strcspn(value, "\r\n")] = '\0'; /* files end with a line feed */
    json_object_array_add(list, json_object_new_string(value));
    explicit_bzero(value, strlen(value));
  }
  return 0;
}

/* All files of the map are taken, whatever they are called. */
int
credentials_add_ca(struct populator *populator, const char *ns, const char *name, const char *field,
                   struct json_object *job, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *map = NULL;
  if (!name || !*name)
    return 0;
  if (get(populator, &kube_config_maps, ns, name, field, &map, err) < 0)
    return -1;
  struct buffer pem = {0};
  struct json_object *data = json_at(map->json, "data");
  if (data) {
    json_object_object_foreach(data, file, value)
    {
      (void)file;
      (void)buffer_append_text(&pem, json_object_get_string(value));
      (void)buffer_append_text(&pem, "\n");
    }
  }
  bool has_certificate = pem.data && strstr(pem.data, "-----BEGIN CERTIFICATE-----");
  if (has_certificate)
    json_put_text(job, pem.data, "ca-pem");
  buffer_clear(&pem);
  if (has_certificate)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT, "%s: ConfigMap '%s/%s' holds no PEM certificate",
                   field, ns, name);
}
