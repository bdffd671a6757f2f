/* SPDX-License-Identifier: Apache-2.0 */
/* lib/http takes broken connections up again. What it cannot do is get another token when the one
 * it was given has expired in the meantime: that is done here. */
#include "populator/registry/registry_blob.h"

#include "lib/base/memory.h"

struct blob_stream {
  struct stream stream;
  struct registry_client *client;
  char *url;
  uint64_t position;
  struct registry_access access;
  struct http_stream *http; /* NULL: there is nothing to be read */
};

static struct blob_stream *
blob_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct blob_stream, stream);
}

static char *
blob_url(struct registry_client *client, const struct oci_descriptor *blob)
{
  CLEANUP(freep) char *rest = xasprintf("blobs/%s", blob->digest);
  return registry_client_url(client, rest);
}

/* ---- with a new token when the old one is refused ----------------------------------------------
 */

typedef int blob_attempt(void *context, const struct registry_access *access,
                         const struct http_request *request, struct error **err);

/* Runs the attempt, and once more when it was refused. *ret_access is what it succeeded with. */
static int
with_access(struct registry_client *client, const char *url, blob_attempt *attempt, void *context,
            struct registry_access *ret_access, struct error **err)
{
  for (unsigned try = 0;; try++) {
    CLEANUP(registry_access_clear) struct registry_access access = {0};
    CLEANUP(error_freep) struct error *failure = NULL;
    if (registry_auth_access(registry_client_auth(client), &access, err) < 0)
      return -1;
    const struct http_request request = {.url = url, .bearer = access.bearer};
    if (attempt(context, &access, &request, &failure) == 0) {
      *ret_access = access;
      access = (struct registry_access){0};
      return 0;
    }
    if (failure->code != ERROR_UNAUTHENTICATED || try > 0)
      return error_set(err, failure->code, "%s", failure->message);
    if (registry_auth_refused(registry_client_auth(client), &access, NULL, err) < 0)
      return -1;
  }
}

/* ---- stream ------------------------------------------------------------------------------------
 */

static int
open_attempt(void *context, const struct registry_access *access,
             const struct http_request *request, struct error **err)
{
  struct blob_stream *blob = context;
  return http_stream_open(access->http, request, blob->position, &blob->http, err);
}

static int
open_here(struct blob_stream *blob, struct error **err)
{
  http_stream_close(TAKE(blob->http));
  registry_access_clear(&blob->access);
  return with_access(blob->client, blob->url, open_attempt, blob, &blob->access, err);
}

static ssize_t
blob_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct blob_stream *blob = blob_of(stream);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!blob->http)
    return 0;
  ssize_t got = http_stream_read(blob->http, buf, len, &failure);
  if (got < 0 && failure->code == ERROR_UNAUTHENTICATED) {
    /* a connection broke, and by now the token is too old to take it up again */
    if (registry_auth_refused(registry_client_auth(blob->client), &blob->access, NULL, err) < 0 ||
        open_here(blob, err) < 0)
      return -1;
    got = http_stream_read(blob->http, buf, len, err);
  } else if (got < 0) {
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (got > 0)
    blob->position += (uint64_t)got;
  return got;
}

static int
blob_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, blob_of(stream)->position);
  return 0;
}

static void
blob_close(struct stream *stream)
{
  struct blob_stream *blob = blob_of(stream);
  http_stream_close(blob->http);
  registry_access_clear(&blob->access);
  free(blob->url);
  free(blob);
}

static const struct stream_ops blob_ops = {
    .name = "blob",
    .read = blob_read,
    .save = blob_save,
    .close = blob_close,
};

int
registry_blob_stream(struct registry_client *client, const struct oci_descriptor *blob,
                     uint64_t offset, struct stream **ret_stream, struct error **err)
{
  struct blob_stream *made = xcalloc(1, sizeof(*made));
  made->stream.ops = &blob_ops;
  CLEANUP(stream_closep) struct stream *stream = &made->stream;
  made->client = client;
  made->url = blob_url(client, blob);
  made->position = offset;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (offset < blob->size && open_here(made, &failure) < 0) {
    if (offset == 0 || failure->code != ERROR_UNIMPLEMENTED)
      return error_set(err, failure->code, "%s", failure->message);
    made->position = 0; /* no ranges there: what is in front has to be read again */
    if (open_here(made, err) < 0 || stream_skip(stream, offset, err) < 0)
      return -1;
  }
  *ret_stream = TAKE(stream);
  return 0;
}

/* ---- pieces ------------------------------------------------------------------------------------
 */

struct piece {
  void *buf;
  size_t len;
  uint64_t offset;
};

static int
read_attempt(void *context, const struct registry_access *access,
             const struct http_request *request, struct error **err)
{
  const struct piece *piece = context;
  return http_read_at(access->http, request, piece->buf, piece->len, piece->offset, err);
}

int
registry_blob_read_at(struct registry_client *client, const struct oci_descriptor *blob, void *buf,
                      size_t len, uint64_t offset, struct error **err)
{
  CLEANUP(freep) char *url = blob_url(client, blob);
  CLEANUP(registry_access_clear) struct registry_access access = {0};
  struct piece piece = {.buf = buf, .len = len, .offset = offset};
  return with_access(client, url, read_attempt, &piece, &access, err);
}

/* The first byte, and whether the size is the one that it should be. */
static int
probe_attempt(void *context, const struct registry_access *access,
              const struct http_request *request, struct error **err)
{
  return http_probe(access->http, request, context, err);
}

bool
registry_blob_can_read_at(struct registry_client *client, const struct oci_descriptor *blob)
{
  CLEANUP(freep) char *url = blob_url(client, blob);
  CLEANUP(registry_access_clear) struct registry_access access = {0};
  CLEANUP(http_response_clear) struct http_response response = {0};
  return with_access(client, url, probe_attempt, &response, &access, NULL) == 0 &&
         response.accepts_ranges && response.content_length == blob->size;
}
