/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/registry_client.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_url.h"
#include "populator/registry/document.h"
#include "populator/transfer/checksum.h"

/* Tags are asked for in pages of this many. */
#define TAGS_PAGE 1000
#define TAGS_MAX 200000
#define TAGS_BYTES_MAX ((uint64_t)16 << 20)

/* As lib/http's own. */
#define RETRY_FIRST_MS 200

/* What can be read. Without it a registry gives the oldest kind there is. */
static const char *const manifest_headers[] = {
    "Accept: " OCI_TYPE_INDEX,
    "Accept: " OCI_TYPE_MANIFEST,
    "Accept: " OCI_TYPE_DOCKER_INDEX,
    "Accept: " OCI_TYPE_DOCKER_MANIFEST,
    NULL,
};

struct registry_client {
  char *origin; /* "https://host:5000/" */
  char *base;   /* "https://host:5000/v2/repository/" */
  struct registry_auth *auth;
  unsigned retry_ms;
};

/* ---- life --------------------------------------------------------------------------------------
 */

/* The answer to the question whether it speaks this version also tells what it wants to see, before
 * anything large is sent. */
static int
ping(struct registry_client *client, struct error **err)
{
  CLEANUP(freep) char *url = xasprintf("%sv2/", client->origin);
  CLEANUP(registry_access_clear) struct registry_access access = {0};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_auth_access(client->auth, &access, err) < 0)
    return -1;
  const struct http_request request = {.url = url, .bearer = access.bearer};
  if (http_send(access.http, &request, &response, err) < 0)
    return -1;
  if (response.status == 401)
    return registry_auth_refused(client->auth, &access, response.www_authenticate, err);
  if (response.status == 404)
    return error_set(err, ERROR_NOT_FOUND, "%s: there is no container registry (API version 2)",
                     url);
  /* Some answer other things to whoever asks for nothing in particular. */
  return response.status < 500 ? 0 : http_status_error(&request, &response, err);
}

int
registry_client_open(const struct reference *reference, const struct registry_options *options,
                     const char *actions, struct registry_client **ret_client, struct error **err)
{
  CLEANUP(registry_client_closep) struct registry_client *client = xcalloc(1, sizeof(*client));
  client->origin =
      xasprintf("%s://%s/", options->insecure ? "http" : "https", reference_server(reference));
  client->retry_ms = options->http.retry_first_ms ? options->http.retry_first_ms : RETRY_FIRST_MS;
  client->base = xasprintf("%sv2/%s/", client->origin, reference->repository);
  if (registry_auth_new(reference, options, actions, &client->auth, err) < 0 ||
      ping(client, err) < 0)
    return -1;
  *ret_client = TAKE(client);
  return 0;
}

void
registry_client_close(struct registry_client *client)
{
  if (!client)
    return;
  registry_auth_free(client->auth);
  free(client->origin);
  free(client->base);
  free(client);
}

struct registry_auth *
registry_client_auth(struct registry_client *client)
{
  return client->auth;
}

unsigned
registry_client_retry_ms(const struct registry_client *client)
{
  return client->retry_ms;
}

char *
registry_client_url(const struct registry_client *client, const char *rest)
{
  return xasprintf("%s%s", client->base, rest);
}

/* As URLs are compared, not as text: "https://HOST:443/" is "https://host/". */
static bool
is_ours(const struct registry_client *client, const char *url)
{
  struct http_url ours, asked;
  if (http_url_parse(client->origin, &ours, NULL) < 0)
    return false;
  bool result = http_url_parse(url, &asked, NULL) == 0;
  if (result) {
    result = http_url_same_server(&ours, &asked);
    http_url_clear(&asked);
  }
  http_url_clear(&ours);
  return result;
}

int
registry_client_send(struct registry_client *client, const struct http_request *request,
                     struct http_response *ret_response, struct error **err)
{
  if (!is_ours(client, request->url))
    return http_send(registry_auth_elsewhere(client->auth), request, ret_response, err);
  for (unsigned try = 0;; try++) {
    CLEANUP(registry_access_clear) struct registry_access access = {0};
    CLEANUP(http_response_clear) struct http_response response = {0};
    if (registry_auth_access(client->auth, &access, err) < 0)
      return -1;
    struct http_request sent = *request;
    sent.bearer = access.bearer;
    if (http_send(access.http, &sent, &response, err) < 0)
      return -1;
    if (response.status != 401 || try > 0) {
      *ret_response = response;
      response = (struct http_response){0};
      return 0;
    }
    if (registry_auth_refused(client->auth, &access, response.www_authenticate, err) < 0)
      return -1;
  }
}

/* ---- manifests ---------------------------------------------------------------------------------
 */

void
registry_document_clear(struct registry_document *document)
{
  buffer_clear(&document->body);
  free(document->media_type);
  free(document->digest);
  *document = (struct registry_document){0};
}

/* The digest it was asked for by, or the one the registry says, or the one it has. */
static int
settle_digest(const char *version, const struct http_response *response, char **ret_digest,
              struct error **err)
{
  const char *given = strchr(version, ':') ? version : response->docker_digest;
  if (given && oci_digest_check(given, response->body.data, response->body.len, err) < 0)
    return error_wrap(err, "manifest '%s'", version);
  *ret_digest = given ? xstrdup(given) : oci_digest_of(response->body.data, response->body.len);
  return 0;
}

/* "type/subtype; parameters" */
static char *
bare_type(const char *content_type)
{
  return content_type ? xstrndup(content_type, strcspn(content_type, "; \t")) : NULL;
}

int
registry_client_manifest(struct registry_client *client, const char *version,
                         struct registry_document *ret_document, struct error **err)
{
  CLEANUP(freep) char *url = xasprintf("%smanifests/%s", client->base, version);
  const struct http_request request = {
      .url = url, .headers = manifest_headers, .max_body = OCI_DOCUMENT_BYTES_MAX};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  if (response.status != 200)
    return http_status_error(&request, &response, err);
  char *digest;
  if (settle_digest(version, &response, &digest, err) < 0)
    return -1;
  *ret_document = (struct registry_document){
      .body = response.body, .media_type = bare_type(response.content_type), .digest = digest};
  response.body = (struct buffer){0};
  return 0;
}

int
registry_client_resolve(struct registry_client *client, const char *version, char **ret_digest,
                        struct error **err)
{
  CLEANUP(freep) char *url = xasprintf("%smanifests/%s", client->base, version);
  const struct http_request request = {.method = "HEAD", .url = url, .headers = manifest_headers};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  enum checksum_kind kind;
  if (response.status == 200 && response.docker_digest &&
      checksum_parse(response.docker_digest, &kind, NULL) == 0) {
    *ret_digest = TAKE(response.docker_digest);
    return 0;
  }
  /* a registry without HEAD, or one that does not tell */
  CLEANUP(registry_document_clear) struct registry_document document = {0};
  if (registry_client_manifest(client, version, &document, err) < 0)
    return -1;
  *ret_digest = TAKE(document.digest);
  return 0;
}

int
registry_client_blob(struct registry_client *client, const struct oci_descriptor *blob,
                     struct buffer *ret_body, struct error **err)
{
  CLEANUP(freep) char *url = xasprintf("%sblobs/%s", client->base, blob->digest);
  if (blob->size > OCI_DOCUMENT_BYTES_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s: too large for a description of an image",
                     blob->digest);
  const struct http_request request = {.url = url, .max_body = OCI_DOCUMENT_BYTES_MAX};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  if (response.status != 200)
    return http_status_error(&request, &response, err);
  if (oci_descriptor_check(blob, response.body.data, response.body.len, err) < 0)
    return -1;
  *ret_body = response.body;
  response.body = (struct buffer){0};
  return 0;
}

/* ---- tags --------------------------------------------------------------------------------------
 */

struct tags {
  char **items;
  size_t count;
};

void
registry_tags_free(char **tags)
{
  for (size_t i = 0; tags && tags[i]; i++)
    free(tags[i]);
  free(tags);
}

static int
compare_tags(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, and drops what is there twice; what is left. */
static size_t
sort_tags(char **items, size_t count)
{
  size_t kept = 0;
  if (count > 0)
    qsort(items, count, sizeof(char *), compare_tags);
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && strcmp(items[kept - 1], items[i]) == 0)
      free(items[i]);
    else
      items[kept++] = items[i];
  }
  return kept;
}

static int
add_page(struct tags *tags, const struct buffer *body, size_t *ret_page_count, struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  struct json_object *array;
  if (document_parse(body->data, body->len, &document, err) < 0 ||
      document_array(document, "tags", &array, err) < 0)
    return -1;
  size_t count = document_count(array);
  if (tags->count + count > TAGS_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "the repository has more than %d tags",
                     TAGS_MAX);
  tags->items = xrealloc(tags->items, tags->count + count + 1, sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    const char *tag;
    tags->items[tags->count] = NULL;
    if (document_string_at(array, i, &tag, err) < 0)
      return -1;
    tags->items[tags->count++] = xstrdup(tag);
  }
  tags->items[tags->count] = NULL;
  *ret_page_count = count;
  return 0;
}

static int
fetch_page(struct registry_client *client, const char *last, struct tags *tags,
           size_t *ret_page_count, struct error **err)
{
  CLEANUP(freep) char *encoded = http_url_encode(last, false);
  CLEANUP(freep)
  char *url =
      xasprintf("%stags/list?n=%d%s%s", client->base, TAGS_PAGE, *last ? "&last=" : "", encoded);
  const struct http_request request = {.url = url, .max_body = TAGS_BYTES_MAX};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  if (response.status != 200)
    return http_status_error(&request, &response, err);
  return add_page(tags, &response.body, ret_page_count, err);
}

/* A page is asked for by the last tag of the one before. It may be shorter than was asked for, so
 * it is over when nothing new comes: that also holds for a registry that does not know pages and
 * gives all of them each time. */
int
registry_client_tags(struct registry_client *client, char ***ret_tags, struct error **err)
{
  struct tags tags = {.items = xcalloc(1, sizeof(char *))};
  size_t page = 0, known = 0;
  CLEANUP(freep) char *last = xstrdup("");
  do {
    known = tags.count;
    if (fetch_page(client, last, &tags, &page, err) < 0) {
      registry_tags_free(tags.items);
      return error_wrap(err, "list the tags");
    }
    free(last);
    last = xstrdup(page > 0 ? tags.items[tags.count - 1] : "");
    tags.count = sort_tags(tags.items, tags.count);
    tags.items[tags.count] = NULL;
  } while (page > 0 && tags.count > known);
  *ret_tags = tags.items;
  return 0;
}
