/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/remote_file.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/http/http_header.h"
#include "populator/source/http_body.h"

struct remote_file {
  struct source source;
  struct http_client *client;
  char *url;
  char *etag;
  char *last_modified;
  struct s3_options s3;
  struct http_request request; /* points to the above */
};

/* The ETag of another file may be the same, and Last-Modified is a second long: the size goes with
 * both. Whoever keeps an identity keeps the URL beside it. */
static char *
identity_of(const struct remote_file *file)
{
  uint64_t size = file->source.size;
  if (size == SOURCE_SIZE_UNKNOWN)
    return NULL;
  if (file->etag && http_etag_kind(file->etag) == HTTP_ETAG_STRONG)
    return xasprintf("etag:%s size:%" PRIu64, file->etag, size);
  if (file->last_modified)
    return xasprintf("modified:%s size:%" PRIu64, file->last_modified, size);
  return NULL;
}

static void
learn(struct remote_file *file, struct http_response *answer)
{
  file->etag = TAKE(answer->etag);
  file->last_modified = TAKE(answer->last_modified);
  bool is_encoded = answer->content_encoding != NULL;
  file->source.size = is_encoded ? SOURCE_SIZE_UNKNOWN : answer->content_length;
  file->source.can_seek = answer->accepts_ranges && !is_encoded;
  file->source.can_resume = file->source.can_seek;
  file->source.identity = identity_of(file);
  file->request.if_match = file->etag;
  file->request.if_unmodified_since = file->last_modified;
  if (file->source.size != SOURCE_SIZE_UNKNOWN)
    file->request.if_total = file->source.size;
}

int
remote_file_open(const struct source_ops *ops, const char *url,
                 const struct source_options *options, const struct s3_options *s3,
                 struct source **ret_source, struct error **err)
{
  struct remote_file *file = xcalloc(1, sizeof(*file));
  CLEANUP(source_closep) struct source *source = &file->source;
  source->ops = ops;
  file->client = http_client_new(&options->http);
  file->url = xstrdup(url);
  file->request = (struct http_request){.method = "GET", .url = file->url};
  if (s3) {
    file->s3 = *s3;
    file->request.s3 = &file->s3;
  }
  source->label = http_request_label(&file->request);
  struct http_response answer = {0};
  if (http_probe(file->client, &file->request, &answer, err) < 0)
    return -1;
  learn(file, &answer);
  http_response_clear(&answer);
  *ret_source = TAKE(source);
  return 0;
}

int
remote_file_read_at(struct source *source, void *buf, size_t len, uint64_t offset,
                    struct error **err)
{
  struct remote_file *file = (struct remote_file *)source;
  if (len == 0)
    return 0;
  return http_read_at(file->client, &file->request, buf, len, offset, err);
}

int
remote_file_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
                   struct error **err)
{
  struct remote_file *file = (struct remote_file *)source;
  return http_body_open(file->client, &file->request, offset, ret_stream, err);
}

void
remote_file_cancel(struct source *source)
{
  http_client_cancel(((struct remote_file *)source)->client);
}

void
remote_file_close(struct source *source)
{
  struct remote_file *file = (struct remote_file *)source;
  http_client_free(file->client);
  free(file->url);
  free(file->etag);
  free(file->last_modified);
  source_clear(source);
  free(file);
}
