/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_error.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/s3_xml.h"

/* Of a body in a message. */
#define EXCERPT_MAX 200

bool
http_error_is_transient(CURLcode code)
{
  switch (code) {
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_CONNECT:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_PARTIAL_FILE:
  case CURLE_PROXY:
    return true;
  default:
    return http_error_is_hopeless(code);
  }
}

bool
http_error_is_hopeless(CURLcode code)
{
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_UNSUPPORTED_PROTOCOL ||
         code == CURLE_WEIRD_SERVER_REPLY;
}

bool
http_status_is_transient(long status)
{
  return status == 408 || status == 425 || status == 429 ||
         (status >= 500 && status < 600 && status != 501 && status != 505);
}

static enum error_code
code_of_curl(CURLcode code)
{
  switch (code) {
  case CURLE_URL_MALFORMAT:
  case CURLE_BAD_FUNCTION_ARGUMENT:
    return ERROR_INVALID_ARGUMENT;
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_CERTPROBLEM:
    return ERROR_FAILED_PRECONDITION;
  case CURLE_UNSUPPORTED_PROTOCOL: /* not HTTP: the scheme was checked before */
  case CURLE_WEIRD_SERVER_REPLY:
  case CURLE_BAD_CONTENT_ENCODING:
  case CURLE_OUT_OF_MEMORY: /* what curl says of a header that is too long for it */
    return ERROR_DATA_LOSS;
  default:
    return http_error_is_transient(code) ? ERROR_UNAVAILABLE : ERROR_INTERNAL;
  }
}

static const char *
advice_of(CURLcode code)
{
  switch (code) {
  case CURLE_PEER_FAILED_VERIFICATION:
    return "; if its certificate comes from a CA of your own, give that as the CA bundle "
           "(certConfigMap in Kubernetes)";
  case CURLE_SSL_CACERT_BADFILE:
    return "; the CA bundle must be a file of PEM certificates";
  default:
    return "";
  }
}

int
http_error_set(struct error **err, CURLcode code, const char *detail, const char *label)
{
  const char *text = detail && *detail ? detail : curl_easy_strerror(code);
  return error_set(err, code_of_curl(code), "%s: %s%s", label, text, advice_of(code));
}

static enum error_code
code_of_status(long status)
{
  switch (status) {
  case 400:
    return ERROR_INVALID_ARGUMENT;
  case 401:
  case 407:
    return ERROR_UNAUTHENTICATED;
  case 403:
    return ERROR_PERMISSION_DENIED;
  case 404:
  case 410:
    return ERROR_NOT_FOUND;
  case 409:
    return ERROR_ABORTED;
  case 405:
  case 501:
  case 505:
    return ERROR_UNIMPLEMENTED;
  case 412:
    return ERROR_FAILED_PRECONDITION;
  case 413:
  case 507:
    return ERROR_RESOURCE_EXHAUSTED;
  case 416:
    return ERROR_OUT_OF_RANGE;
  default:
    return http_status_is_transient(status) ? ERROR_UNAVAILABLE : ERROR_UNKNOWN;
  }
}

static const char *
name_of_status(long status)
{
  switch (status) {
  case 401:
    return " (credentials are needed, or wrong)";
  case 403:
    return " (forbidden)";
  case 404:
    return " (not found)";
  case 407:
    return " (the proxy wants credentials)";
  case 412:
    return " (the file has changed)";
  case 416:
    return " (the range is not there)";
  case 429:
    return " (too many requests)";
  default:
    return "";
  }
}

/* The beginning of a text on one line, or "" when it is not text; at most EXCERPT_MAX bytes, cut
 * between characters. To be freed. */
static char *
excerpt_of(const char *text)
{
  size_t len = strnlen(text, EXCERPT_MAX);
  for (unsigned cut = 0; cut < 4 && len > 0 && !text_is_utf8(text, len); cut++)
    len--;
  if (!text_is_utf8(text, len))
    return xstrdup("");
  char *excerpt = xstrndup(text, len);
  size_t end = 0;
  for (size_t i = 0; i < len; i++) {
    bool is_blank = (unsigned char)excerpt[i] <= ' ' || excerpt[i] == 0x7f;
    if (!is_blank)
      excerpt[end++] = excerpt[i];
    else if (end > 0 && excerpt[end - 1] != ' ')
      excerpt[end++] = ' ';
  }
  excerpt[end] = '\0';
  return excerpt;
}

/* What a body tells about the reason of a refusal; a web page tells nothing. To be freed. */
static char *
reason_of(const struct buffer *body)
{
  if (!body || body->len == 0 || memchr(body->data, '\0', body->len))
    return xstrdup("");
  CLEANUP(freep) char *from_store = s3_xml_error(body->data);
  if (!from_store && body->data[0] == '<')
    return xstrdup("");
  return excerpt_of(from_store ? from_store : body->data);
}

int
http_status_error_set(struct error **err, long status, const char *label, const struct buffer *body)
{
  CLEANUP(freep) char *reason = reason_of(body);
  return error_set(err, code_of_status(status), "%s: the server answered %ld%s%s%s", label, status,
                   name_of_status(status), *reason ? ": " : "", reason);
}

int
http_proxy_error_set(struct error **err, long status, const char *label)
{
  return error_set(err, code_of_status(status), "%s: the proxy answered %ld%s", label, status,
                   name_of_status(status));
}
