/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "populator/source/sources.h"

static const struct source_ops *const sources[] = {
    &source_http_ops,     &source_https_ops,       &source_s3_ops,
    &source_registry_ops, &source_oci_archive_ops, &source_docker_archive_ops,
    &source_nbd_ops,      &source_nbds_ops,        &source_nbd_unix_ops,
    &source_rbd_ops,      &source_file_ops,        &source_descriptor_ops,
    &source_upload_ops,
};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* "https:" in front of a URL; 0 when it begins with no such thing. One letter is none: "c:". */
static size_t
scheme_len(const char *url)
{
  size_t len = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
  return len > 1 && url[len] == ':' ? len + 1 : 0;
}

static bool
has_scheme(const struct source_ops *ops, const char *scheme, size_t len)
{
  return strlen(ops->scheme) == len && strncasecmp(ops->scheme, scheme, len) == 0;
}

/* "http:, https:" */
static char *
known_schemes(void)
{
  char *list = NULL;
  for (size_t i = 0; i < SOURCES; i++) {
    char *longer = xasprintf("%s%s%s", list ? list : "", list ? ", " : "", sources[i]->scheme);
    free(list);
    list = longer;
  }
  return list;
}

static int
open_any(const char *url, const struct source_options *options, struct source **ret_source,
         struct error **err)
{
  size_t len = scheme_len(url);
  if (len == 0)
    return source_file_ops.open(url, options, ret_source, err);
  for (size_t i = 0; i < SOURCES; i++) {
    if (has_scheme(sources[i], url, len))
      return sources[i]->open(url, options, ret_source, err);
  }
  CLEANUP(freep) char *known = known_schemes();
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "there is no source of the kind '%.*s'; known are %s, and a file's path (with "
                   "'./' in front where its name has a colon)",
                   (int)(len < 32 ? len : 32), url, known);
}

int
source_open(const char *url, const struct source_options *options, struct source **ret_source,
            struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  if (open_any(url, options, &source, err) < 0)
    return -1;
  const char *is = source->identity ? source->identity : "";
  if (options->identity && strcmp(is, options->identity) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "%s has changed since it was looked for: it is '%.256s' now, not '%.256s'",
                     source->label, is, options->identity);
  *ret_source = TAKE(source);
  return 0;
}

void
source_close(struct source *source)
{
  if (source)
    source->ops->close(source);
}

static void
container_free(struct source_container *container)
{
  if (!container)
    return;
  free(container->digest);
  free(container->platform);
  free(container->path);
  free(container->layer);
  free(container);
}

void
source_clear(struct source *source)
{
  free(source->label);
  free(source->identity);
  free(source->digest);
  string_map_clear(&source->env);
  container_free(source->container);
}
