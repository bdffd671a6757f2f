/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_setup.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "lib/http/http_header.h"
#include "lib/http/http_pushed.h"
#include "lib/http/s3_sign.h"

#define CONNECT_TIMEOUT_MS 15000L
#define BUFFER_BYTES (256L << 10)
/* A part of an upload waits so long for "100 Continue" before it is sent all the same; a body that
 * is pushed, and cannot be sent again, for longer. */
#define EXPECT_TIMEOUT_MS 200L
#define EXPECT_PUSHED_TIMEOUT_MS 1000L

static const char *
method_of(const struct http_request *request)
{
  return request->method ? request->method : "GET";
}

bool
http_setup_is_head(const struct http_request *request)
{
  return strcmp(method_of(request), "HEAD") == 0;
}

bool
http_setup_is_reading(const struct http_request *request)
{
  return http_setup_is_head(request) || strcmp(method_of(request), "GET") == 0;
}

static bool
is_one_line(const char *text)
{
  return !text || !strpbrk(text, "\r\n");
}

static bool
are_lines(const char *const *headers)
{
  for (; headers && *headers; headers++) {
    if (!is_one_line(*headers))
      return false;
  }
  return true;
}

/* curl leaves out what it cannot send. */
static bool
have_names(const char *const *headers)
{
  for (; headers && *headers; headers++) {
    size_t len = strcspn(*headers, ": \t");
    if (len == 0 || (*headers)[len] != ':')
      return false;
  }
  return true;
}

int
http_setup_check(const struct http_client *client, const struct http_request *request,
                 struct error **err)
{
  const struct http_options *options = &client->options;
  if (!are_lines(options->headers) || !are_lines(request->headers))
    return error_set(err, ERROR_INVALID_ARGUMENT, "a header has a line break in it");
  if (!have_names(options->headers))
    return error_set(err, ERROR_INVALID_ARGUMENT, "a header is not like 'Name: value'");
  if (!is_one_line(options->bearer) || !is_one_line(request->bearer))
    return error_set(err, ERROR_INVALID_ARGUMENT, "the bearer token has a line break in it");
  return request->s3 ? s3_sign_check(request->s3, err) : 0;
}

static void
add(struct curl_slist **headers, const char *line)
{
  struct curl_slist *longer = curl_slist_append(*headers, line);
  if (!longer)
    abort(); /* out of memory */
  *headers = longer;
}

static void
add_all(struct curl_slist **headers, const char *const *lines)
{
  for (; lines && *lines; lines++)
    add(headers, *lines);
}

static void
add_value(struct curl_slist **headers, const char *name, const char *value)
{
  CLEANUP(freep) char *line = xasprintf("%s: %s", name, value);
  add(headers, line);
}

static bool
names_header(const struct curl_slist *headers, const char *name)
{
  size_t len = strlen(name);
  for (; headers; headers = headers->next) {
    if (strncasecmp(headers->data, name, len) == 0 && headers->data[len] == ':')
      return true;
  }
  return false;
}

/* A weak ETag cannot be sent: no server would find it to match. */
static void
add_conditions(struct curl_slist **headers, const struct http_request *request)
{
  if (request->if_match && http_etag_kind(request->if_match) == HTTP_ETAG_STRONG)
    add_value(headers, "If-Match", request->if_match);
  else if (request->if_unmodified_since)
    add_value(headers, "If-Unmodified-Since", request->if_unmodified_since);
}

static struct curl_slist *
headers_of(const struct http_hop *hop)
{
  const struct http_request *request = hop->request;
  struct curl_slist *headers = NULL;
  add(&headers, "Accept-Encoding: identity"); /* bytes as they are stored, or ranges mean nothing */
  if (hop->is_trusted)
    add_all(&headers, hop->client->options.headers);
  add_all(&headers, request->headers);
  add_conditions(&headers, request);
  if ((request->body || request->pushed) && !names_header(headers, "Content-Type"))
    add(&headers, "Content-Type: application/octet-stream");
  if (request->pushed) /* what is sent cannot be sent again: the server may refuse before that */
    add(&headers, "Expect: 100-continue");
  else if (!request->s3) /* curl would take the line for one to be signed */
    add(&headers, "Expect:");
  return headers;
}

static void
set_credentials(CURL *easy, const struct http_hop *hop)
{
  const struct http_options *options = &hop->client->options;
  const char *bearer = hop->request->bearer;
  const char *user = hop->user;
  const char *password = hop->password;
  if (!bearer && !user) {
    bearer = options->bearer;
    user = bearer ? NULL : options->user;
    password = bearer ? NULL : options->password;
  }
  if (bearer) {
    (void)curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    (void)curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, bearer);
  } else if (user) {
    (void)curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    (void)curl_easy_setopt(easy, CURLOPT_USERNAME, user);
    (void)curl_easy_setopt(easy, CURLOPT_PASSWORD, password ? password : "");
  }
}

static void
set_method(CURL *easy, const struct http_request *request)
{
  const char *method = method_of(request);
  if (http_setup_is_head(request)) {
    (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request->pushed) {
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->pushed->len);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, EXPECT_PUSHED_TIMEOUT_MS);
    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, http_pushed_read);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, request->pushed);
  } else if (request->body || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) {
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
  }
  (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void
set_range(CURL *easy, const struct http_hop *hop)
{
  const struct http_request *request = hop->request;
  if (!request->has_range || hop->is_whole)
    return;
  CLEANUP(freep) char *range = NULL;
  if (request->range_len)
    range = xasprintf("%" PRIu64 "-%" PRIu64, request->range_offset,
                      request->range_offset + request->range_len - 1);
  else
    range = xasprintf("%" PRIu64 "-", request->range_offset);
  (void)curl_easy_setopt(easy, CURLOPT_RANGE, range);
}

static void
set_identity(CURL *easy, const struct http_options *options)
{
  if (!options->identity_cert_pem || !options->identity_key_pem)
    return;
  struct curl_blob cert = {.data = (void *)options->identity_cert_pem,
                           .len = strlen(options->identity_cert_pem),
                           .flags = CURL_BLOB_NOCOPY};
  struct curl_blob key = {.data = (void *)options->identity_key_pem,
                          .len = strlen(options->identity_key_pem),
                          .flags = CURL_BLOB_NOCOPY};
  (void)curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &cert);
  (void)curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
}

static void
set_tls(CURL *easy, const struct http_client *client)
{
  (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (client->trust.len == 0)
    return;
  struct curl_blob pem = {.data = client->trust.data, .len = client->trust.len};
  (void)curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &pem);
  (void)curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &pem);
}

/* HTTP/1.1 only: version 2 would put all parallel ranges into one connection, and buffers without a
 * useful bound while a stream is paused.
 * A request that must not be done twice goes on a new connection: on one that was used before, curl
 * sends it again by itself when the server hangs up without a word. */
static void
set_connection(CURL *easy, const struct http_hop *hop)
{
  (void)curl_easy_setopt(easy, CURLOPT_URL, hop->url->text);
  (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT,
                         hop->is_fresh || hop->request->is_once || hop->request->is_counted ? 1L
                                                                                            : 0L);
  (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
  (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
  (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "imprint/" IMPRINT_VERSION);
  (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  (void)curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, EXPECT_TIMEOUT_MS);
  (void)curl_easy_setopt(easy, CURLOPT_PROXY, hop->proxy ? hop->proxy : "");
  (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
}

void
http_setup(CURL *easy, const struct http_hop *hop, struct curl_slist **ret_headers)
{
  const struct http_request *request = hop->request;
  curl_easy_reset(easy);
  set_connection(easy, hop);
  set_tls(easy, hop->client);
  if (hop->is_trusted)
    set_identity(easy, &hop->client->options);
  set_method(easy, request);
  set_range(easy, hop);
  struct curl_slist *headers = headers_of(hop);
  if (request->s3 && hop->is_trusted) {
    CLEANUP(freep) char *hash = s3_sign_body(request->body, request->body_len, hop->url->is_tls);
    add_value(&headers, "x-amz-content-sha256", hash);
    if (request->s3->session_token)
      add_value(&headers, "x-amz-security-token", request->s3->session_token);
    s3_sign(easy, request->s3);
  } else if (hop->is_trusted) {
    set_credentials(easy, hop);
  }
  (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  *ret_headers = headers;
}
