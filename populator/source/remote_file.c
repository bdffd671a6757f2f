/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/remote_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_header.h"
#include "lib/http/http_url.h"
#include "populator/source/http_body.h"

struct remote_file {
  struct source source;
  struct http_client *client;
  char *url;
  char *etag;
  char *last_modified;
  char *encoding; /* Content-Encoding */
  struct s3_options s3;
  struct http_request request; /* points to the above */
};

/* What a server said, as a text that can stand in JSON: headers may hold any bytes. To be freed. */
static char *
as_text(const char *said)
{
  return text_is_utf8(said, strlen(said)) ? xstrdup(said) : http_url_encode(said, false);
}

/* The ETag of another file may be the same, and Last-Modified is a second long: the size goes with
 * both. Whoever keeps an identity keeps the URL beside it. */
static char *
identity_of(const struct remote_file *file)
{
  uint64_t size = file->source.size;
  if (size == SOURCE_SIZE_UNKNOWN)
    return NULL;
  bool has_etag = file->etag && http_etag_kind(file->etag) == HTTP_ETAG_STRONG;
  const char *said = has_etag ? file->etag : file->last_modified;
  if (!said)
    return NULL;
  CLEANUP(freep) char *text = as_text(said);
  return xasprintf("%s:%s size:%" PRIu64, has_etag ? "etag" : "modified", text, size);
}

/* Those that are taken off by what reads images, as if the file itself were compressed. Anything
 * else would be taken for the disk. */
static int
check_encoding(const struct remote_file *file, struct error **err)
{
  static const char *const known[] = {"gzip", "x-gzip", "zstd"};
  for (size_t i = 0; file->encoding && i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcasecmp(file->encoding, known[i]) == 0)
      return 0;
  }
  if (!file->encoding)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the server sends it with Content-Encoding '%s', which cannot be undone",
                   file->source.label, file->encoding);
}

/* What is encoded on the way has another size each time; what is stored so, and can be read in
 * ranges, is a file like any other. */
static int
learn(struct remote_file *file, struct http_response *answer, struct error **err)
{
  file->etag = TAKE(answer->etag);
  file->last_modified = TAKE(answer->last_modified);
  file->encoding = TAKE(answer->content_encoding);
  bool is_stored = answer->accepts_ranges || !file->encoding;
  file->source.size = is_stored ? answer->content_length : SOURCE_SIZE_UNKNOWN;
  file->source.can_seek = answer->accepts_ranges;
  file->source.is_end_unproven = answer->is_unframed;
  file->source.can_resume = file->source.can_seek;
  file->source.identity = identity_of(file);
  file->request.if_match = file->etag;
  file->request.if_unmodified_since = file->last_modified;
  file->request.if_encoding = file->encoding;
  if (file->source.size != SOURCE_SIZE_UNKNOWN)
    file->request.if_total = file->source.size;
  return check_encoding(file, err);
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
  file->request = (struct http_request){.method = "GET", .url = file->url, .or_unframed = true};
  if (s3) {
    file->s3 = *s3;
    file->request.s3 = &file->s3;
  }
  source->label = http_request_label(&file->request);
  struct http_response answer = {0};
  if (http_probe(file->client, &file->request, &answer, err) < 0)
    return -1;
  int r = learn(file, &answer, err);
  http_response_clear(&answer);
  if (r < 0)
    return -1;
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
  CLEANUP(error_freep) struct error *failure = NULL;
  if (http_read_at(file->client, &file->request, buf, len, offset, &failure) == 0)
    return 0;
  if (failure->code != ERROR_UNIMPLEMENTED)
    return error_set(err, failure->code, "%s", failure->message);
  /* It has sent parts before. Nothing is wrong with the file, so what was made of it is kept. */
  atomic_store(&source->has_lost_seek, true);
  return error_set(err, ERROR_UNAVAILABLE, "%s, though it has sent parts before", failure->message);
}

int
remote_file_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
                   struct error **err)
{
  struct remote_file *file = (struct remote_file *)source;
  bool is_unframed = false;
  if (http_body_open(file->client, &file->request, offset, ret_stream, &is_unframed, err) < 0)
    return -1;
  source->is_end_unproven = is_unframed; /* what counts is the answer that is read */
  return 0;
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
  free(file->encoding);
  source_clear(source);
  free(file);
}
