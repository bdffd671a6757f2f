/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "populator/sink/sinks.h"

static const struct sink_ops *const sinks[] = {
    &sink_file_ops, &sink_http_ops,       &sink_https_ops,       &sink_nbd_ops,
    &sink_nbds_ops, &sink_nbd_unix_ops,   &sink_oci_archive_ops, &sink_registry_ops,
    &sink_s3_ops,   &sink_descriptor_ops,
};

#define SINKS (sizeof(sinks) / sizeof(sinks[0]))

/* With the colon; 0: it is a path, or "-". One letter is none. */
static size_t
scheme_len(const char *url)
{
  size_t len = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
  return len > 1 && url[len] == ':' ? len + 1 : 0;
}

/* "file:, http:" */
static char *
known_schemes(void)
{
  char *list = NULL;
  for (size_t i = 0; i < SINKS; i++) {
    char *longer = xasprintf("%s%s%s", list ? list : "", list ? ", " : "", sinks[i]->scheme);
    free(list);
    list = longer;
  }
  return list;
}

/* An RBD image is none of these: populator/transfer/export_copy.h makes it. */
static const struct sink_ops *
find(const char *url, struct error **err)
{
  size_t len = scheme_len(url);
  if (len == 0)
    return &sink_file_ops;
  for (size_t i = 0; i < SINKS; i++) {
    if (strlen(sinks[i]->scheme) == len && strncasecmp(sinks[i]->scheme, url, len) == 0)
      return sinks[i];
  }
  CLEANUP(freep) char *known = known_schemes();
  (void)error_set(err, ERROR_INVALID_ARGUMENT,
                  "there is no destination of the kind '%.*s'; known are %s, rbd:, and a file's "
                  "path (with './' in front where its name has a colon)",
                  (int)(len < 32 ? len : 32), url, known);
  return NULL;
}

enum sink_kind
sink_kind_of(const char *url)
{
  const struct sink_ops *ops = find(url, NULL);
  return ops ? ops->kind : SINK_FILE;
}

int
sink_open(const char *url, const struct sink_options *options, uint64_t estimate,
          struct sink **ret_sink, struct error **err)
{
  const struct sink_ops *ops = find(url, err);
  return ops ? ops->open(url, options, estimate, ret_sink, err) : -1;
}

int
sink_discard(const char *url, const struct sink_options *options, const char *record,
             struct error **err)
{
  const struct sink_ops *ops = find(url, err);
  if (!ops)
    return -1;
  return ops->discard ? ops->discard(url, options, record, err) : 0;
}
