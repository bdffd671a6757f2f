/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_config.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/small_file.h"
#include "lib/kube/yaml.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

void
kube_config_clear(struct kube_config *config)
{
  free(config->server);
  free(config->ca_pem);
  free(config->cert_pem);
  if (config->key_pem)
    explicit_bzero(config->key_pem, strlen(config->key_pem));
  free(config->key_pem);
  if (config->token)
    explicit_bzero(config->token, strlen(config->token));
  free(config->token);
  free(config->token_file);
  free(config->ns);
  *config = (struct kube_config){0};
}

/* ---- a pod's service account --------------------------------------------------------------- */

static int
load_in_cluster(struct kube_config *config, struct error **err)
{
  const char *host = getenv("KUBERNETES_SERVICE_HOST");
  const char *port = getenv("KUBERNETES_SERVICE_PORT");
  if (!host || !port)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "this is not a pod (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig "
                     "file by --kubeconfig or KUBECONFIG");
  config->server = xasprintf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
  config->token_file = xstrdup(SERVICE_ACCOUNT "token");
  if (small_file_read(SERVICE_ACCOUNT "ca.crt", &config->ca_pem, err) < 0)
    return -1;
  return small_file_read_line(SERVICE_ACCOUNT "namespace", &config->ns, err);
}

/* ---- a kubeconfig file ----------------------------------------------------------------------- */

/* The member `what` of the entry with that name, of a list of {name, what: {…}}. */
static struct json_object *
named(struct json_object *root, const char *list, const char *name, const char *what)
{
  struct json_object *array = json_at(root, list);
  for (size_t i = 0; name && i < json_count(array); i++) {
    const char *entry = json_text(json_item(array, i), "name");
    if (entry && strcmp(entry, name) == 0)
      return json_at(json_item(array, i), what);
  }
  return NULL;
}

static int
decode_base64(const char *text, const char *field, char **ret_data, struct error **err)
{
  size_t len = strlen(text);
  CLEANUP(freep) char *data = xcalloc(len / 4 * 3 + 4, 1);
  int got = len > INT_MAX
                ? -1
                : EVP_DecodeBlock((unsigned char *)data, (const unsigned char *)text, (int)len);
  if (got < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s is not base64", field);
  *ret_data = TAKE(data);
  return 0;
}

/* A path in a kubeconfig file is meant from where the file is. */
static char *
beside(const char *file, const char *path)
{
  const char *slash = strrchr(file, '/');
  if (*path == '/' || !slash)
    return xstrdup(path);
  return xasprintf("%.*s/%s", (int)(slash - file), file, path);
}

/* PEM that stands in the file itself (FIELD-data), or in another one that FIELD names. */
static int
load_pem(const char *file, struct json_object *object, const char *field, char **ret_pem,
         struct error **err)
{
  CLEANUP(freep) char *data_field = xasprintf("%s-data", field);
  const char *data = json_text(object, data_field);
  if (data)
    return decode_base64(data, data_field, ret_pem, err);
  const char *path = json_text(object, field);
  if (!path)
    return 0;
  CLEANUP(freep) char *full = beside(file, path);
  return small_file_read(full, ret_pem, err);
}

static int
load_user(const char *file, struct json_object *user, struct kube_config *config,
          struct error **err)
{
  if (json_at(user, "exec") || json_at(user, "auth-provider"))
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "the user of the current context gets its credentials from a program (exec, "
                     "auth-provider): use a token or a client certificate");
  config->token = xstrdup(json_text(user, "token"));
  if (json_text(user, "tokenFile"))
    config->token_file = beside(file, json_text(user, "tokenFile"));
  if (load_pem(file, user, "client-certificate", &config->cert_pem, err) < 0)
    return -1;
  return load_pem(file, user, "client-key", &config->key_pem, err);
}

static int
load_context(const char *file, struct json_object *root, struct kube_config *config,
             struct error **err)
{
  const char *current = json_text(root, "current-context");
  struct json_object *context = named(root, "contexts", current, "context");
  struct json_object *cluster = named(root, "clusters", json_text(context, "cluster"), "cluster");
  struct json_object *user = named(root, "users", json_text(context, "user"), "user");
  const char *server = json_text(cluster, "server");
  if (!server)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "current-context '%s' leads to no cluster with a server",
                     current ? current : "");
  config->server = xstrdup(server);
  for (size_t len = strlen(server); len > 0 && config->server[len - 1] == '/'; len--)
    config->server[len - 1] = '\0';
  if (json_flag(cluster, "insecure-skip-tls-verify"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "insecure-skip-tls-verify is not done: give certificate-authority");
  const char *ns = json_text(context, "namespace");
  config->ns = xstrdup(ns ? ns : "default");
  if (load_pem(file, cluster, "certificate-authority", &config->ca_pem, err) < 0)
    return -1;
  return load_user(file, user, config, err);
}

static int
load_file(const char *path, struct kube_config *config, struct error **err)
{
  CLEANUP(freep) char *text = NULL;
  CLEANUP(json_object_putp) struct json_object *root = NULL;
  if (small_file_read(path, &text, err) < 0)
    return -1;
  if (yaml_parse(text, strlen(text), &root, err) < 0 || load_context(path, root, config, err) < 0)
    return error_wrap(err, "kubeconfig '%s'", path);
  return 0;
}

int
kube_config_load(const char *path, struct kube_config *ret_config, struct error **err)
{
  if (!path)
    path = getenv("KUBECONFIG");
  *ret_config = (struct kube_config){0};
  int r = path && *path ? load_file(path, ret_config, err) : load_in_cluster(ret_config, err);
  if (r < 0)
    kube_config_clear(ret_config);
  return r;
}
