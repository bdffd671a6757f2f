/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confine_needs.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/ceph/daemons.h"
#include "lib/http/file_url.h"
#include "lib/http/http_proxy.h"
#include "lib/http/http_url.h"
#include "populator/registry/reference.h"
#include "populator/sink/archive_name.h"
#include "populator/transfer/sandbox_network.h"

/* What curl takes for a proxy that names no port. */
#define PROXY_PORT "1080"
#define TLS_PROXY_PORT "443"

/* ---- lists -------------------------------------------------------------------------------------
 */

static void
add_path(struct confine_paths *paths, const char *path)
{
  paths->items = xrealloc(paths->items, paths->count + 2, sizeof(paths->items[0]));
  paths->items[paths->count++] = xstrdup(path);
  paths->items[paths->count] = NULL;
}

static void
clear_paths(struct confine_paths *paths)
{
  for (size_t i = 0; i < paths->count; i++)
    free(paths->items[i]);
  free(paths->items);
}

void
confine_needs_clear(struct confine_needs *needs)
{
  net_policy_clear(&needs->network);
  clear_paths(&needs->read);
  clear_paths(&needs->write);
  *needs = (struct confine_needs){0};
}

void
confine_needs_add_file(struct confine_needs *needs, const char *path)
{
  if (path && *path)
    add_path(&needs->read, path);
}

static void
add_folder_of(struct confine_paths *paths, const char *path)
{
  CLEANUP(freep) char *copy = xstrdup(path);
  add_path(paths, dirname(copy));
}

static bool
has_scheme(const char *url, const char *scheme)
{
  return strncasecmp(url, scheme, strlen(scheme)) == 0;
}

/* ---- hosts -------------------------------------------------------------------------------------
 */

/* "http://user:password@proxy:3128", "proxy:3128", "socks5h://proxy". */
static int
add_proxy(struct net_policy *policy, const char *proxy, bool allow_local, struct error **err)
{
  if (http_proxy_check(proxy, err) < 0)
    return -1;
  const char *scheme_end = strstr(proxy, "://");
  const char *rest = scheme_end ? scheme_end + 3 : proxy;
  size_t len = strcspn(rest, "/");
  const char *at = memrchr(rest, '@', len);
  const char *host = at ? at + 1 : rest;
  size_t host_len = len - (size_t)(host - rest);
  const char *close = memrchr(host, ']', host_len);
  bool has_port =
      memchr(close ? close : host, ':', host_len - (close ? (size_t)(close - host) : 0)) != NULL;
  const char *port = has_scheme(proxy, "https://") ? ":" TLS_PROXY_PORT : ":" PROXY_PORT;
  CLEANUP(freep)
  char *url = xasprintf("http://%.*s%s/", (int)host_len, host, has_port ? "" : port);
  return sandbox_network_add_url(policy, url, allow_local, err);
}

/* A proxy resolves what it is asked for by itself. */
static int
add_web(struct confine_needs *needs, const char *url, const struct source_options *options,
        struct error **err)
{
  struct http_url parsed;
  if (http_url_parse(url, &parsed, NULL) < 0)
    return 0; /* whoever opens it says what is wrong */
  const char *proxy = http_proxy_for(&parsed, options->http.proxy);
  bool allow_local = options->http.allow_local_addresses;
  int r = proxy ? add_proxy(&needs->network, proxy, allow_local, err)
                : sandbox_network_add_url(&needs->network, parsed.text, allow_local, err);
  http_url_clear(&parsed);
  confine_needs_add_file(needs, options->http.ca_bundle);
  return r;
}

static int
add_registry(struct confine_needs *needs, const char *url, const struct source_options *options,
             struct error **err)
{
  struct reference reference;
  confine_needs_add_file(needs, options->registry_auth_file);
  if (reference_parse(url, &reference, NULL) < 0)
    return 0;
  CLEANUP(freep)
  char *web = xasprintf("%s://%s/", options->registry_insecure ? "http" : "https",
                        reference_server(&reference));
  reference_clear(&reference);
  return add_web(needs, web, options, err);
}

static int
add_store(struct confine_needs *needs, const char *url, const struct source_options *options,
          struct error **err)
{
  CLEANUP(freep) char *bucket = NULL;
  const char *key;
  if (s3_name_parse(url, &bucket, &key, NULL) < 0)
    return 0;
  CLEANUP(freep) char *web = s3_url(&options->s3, bucket, key);
  return add_web(needs, web, options, err);
}

/* A folder may stand for the file in it: see disk_connection.c. */
static int
add_disk_server(struct confine_needs *needs, const char *url, const struct source_options *options,
                struct error **err)
{
  if (has_scheme(url, "nbds:") && options->http.ca_bundle) {
    confine_needs_add_file(needs, options->http.ca_bundle);
    add_folder_of(&needs->read, options->http.ca_bundle);
  }
  return sandbox_network_add_url(&needs->network, url, false, err);
}

/* ---- files -------------------------------------------------------------------------------------
 */

/* NULL when it names no file: whoever opens it says what is wrong. */
static char *
path_of(const char *url)
{
  char *path = NULL;
  return file_url_path(url, &path, NULL) < 0 ? NULL : path;
}

/* oci-archive:PATH[:NAME]: which colon it is, is for the source to find out. */
static void
add_archive(struct confine_needs *needs, const char *text)
{
  CLEANUP(freep) char *path = xstrdup(text);
  add_path(&needs->read, path);
  for (char *colon = strrchr(path, ':'); colon; colon = strrchr(path, ':')) {
    *colon = '\0';
    confine_needs_add_file(needs, path);
  }
}

/* A file is written beside its name and then renamed, so its folder is needed: that of the file
 * itself, where the name is a link. A pipe or a device is what it is. */
static void
add_written(struct confine_needs *needs, const char *path)
{
  struct stat found;
  CLEANUP(freep) char *real = realpath(path, NULL);
  if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
    add_path(&needs->write, path);
  else
    add_folder_of(&needs->write, real ? real : path);
}

/* Of a file, or an archive, that is to be made; NULL as above. */
static char *
written_path(const char *url)
{
  char *path = NULL;
  const char *name;
  if (!has_scheme(url, ARCHIVE_NAME_SCHEME))
    return path_of(url);
  return archive_name_parse(url, &path, &name, NULL) < 0 ? NULL : path;
}

/* ---- what there is -----------------------------------------------------------------------------
 */

/* Everything that is reached over a network; *ret_is_remote: whether it was. */
static int
add_remote(struct confine_needs *needs, const char *url, const struct source_options *options,
           bool *ret_is_remote, struct error **err)
{
  static const struct {
    const char *scheme;
    int (*add)(struct confine_needs *needs, const char *url, const struct source_options *options,
               struct error **err);
  } kinds[] = {
      {"http:", add_web},
      {"https:", add_web},
      {"s3:", add_store},
      {"docker:", add_registry},
      {"nbd:", add_disk_server},
      {"nbds:", add_disk_server},
      {"nbd+unix:", add_disk_server},
  };
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    *ret_is_remote = has_scheme(url, kinds[i].scheme);
    if (*ret_is_remote)
      return kinds[i].add(needs, url, options, err);
  }
  return 0;
}

int
confine_needs_add_source(struct confine_needs *needs, const char *url,
                         const struct source_options *options, struct error **err)
{
  static const char *const archives[] = {"oci-archive:", "docker-archive:"};
  bool is_remote;
  if (add_remote(needs, url, options, &is_remote, err) < 0)
    return -1;
  for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++) {
    if (has_scheme(url, archives[i])) {
      add_archive(needs, url + strlen(archives[i]));
      return 0;
    }
  }
  if (has_scheme(url, "rbd:"))
    return confine_needs_add_cluster(needs, &options->ceph, err);
  if (has_scheme(url, "fd:") || has_scheme(url, "upload:")) /* it is open */
    return 0;
  CLEANUP(freep) char *path = is_remote ? NULL : path_of(url);
  if (path && strcmp(path, "-") != 0)
    confine_needs_add_file(needs, path);
  return 0;
}

int
confine_needs_add_destination(struct confine_needs *needs, const char *url,
                              const struct source_options *options, struct error **err)
{
  bool is_remote;
  if (add_remote(needs, url, options, &is_remote, err) < 0)
    return -1;
  /* A descriptor is open, and so is the cluster, whose image is what is exported. */
  bool is_open = has_scheme(url, "fd:") || has_scheme(url, "rbd:");
  CLEANUP(freep) char *path = is_remote || is_open ? NULL : written_path(url);
  if (path && strcmp(path, "-") != 0)
    add_written(needs, path);
  return 0;
}

int
confine_needs_add_cluster(struct confine_needs *needs, const struct cluster_config *config,
                          struct error **err)
{
  struct daemons daemons;
  CLEANUP(freep) char *key_files = NULL;
  if (daemons_of_config(config, &daemons, &key_files, err) < 0)
    return -1;
  sandbox_network_add_monitors(&needs->network, &daemons);
  daemons_clear(&daemons);
  confine_needs_add_file(needs, config->conf_file);
  for (char *at = key_files; at && *at;) {
    char *end = at + strcspn(at, ", ;");
    bool is_last = *end == '\0';
    *end = '\0';
    confine_needs_add_file(needs, at);
    at = is_last ? end : end + 1;
  }
  return 0;
}
