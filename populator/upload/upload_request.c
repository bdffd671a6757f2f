/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define NAME_MAX_CHARS 253
#define TOKEN_MAX_CHARS 65536
#define PREFIX "/v1/namespaces/"
#define EXPORTS "exports"
#define METHOD_PUT "PUT"

void
upload_request_clear(struct upload_request *request)
{
  free(request->ns);
  free(request->name);
  *request = (struct upload_request){0};
}

/* ---- the path ---------------------------------------------------------------------------------
 */

/* As Kubernetes takes them: so there are no dots alone, no slashes, and nothing to be escaped. */
static bool
is_name(const char *text)
{
  size_t len = strlen(text);
  char before = '.';
  if (len == 0 || len > NAME_MAX_CHARS)
    return false;
  for (size_t i = 0; i < len; i++) {
    bool is_letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9');
    bool is_mark = text[i] == '-' || text[i] == '.';
    if (!is_letter && (!is_mark || before == '.' || (before == '-' && text[i] == '.')))
      return false;
    before = text[i];
  }
  return before != '.' && before != '-';
}

static int
parse_path(const char *path, struct upload_request *request, struct error **err)
{
  const char *ns = text_starts_with(path, PREFIX) ? path + strlen(PREFIX) : "";
  const char *collection = strchr(ns, '/');
  const char *name = collection ? strchr(collection + 1, '/') : NULL;
  if (name) {
    CLEANUP(freep) char *text = xstrndup(collection + 1, (size_t)(name - collection - 1));
    request->kind = upload_kind_find(text);
    request->is_export = strcmp(text, EXPORTS) == 0;
    request->ns = xstrndup(ns, (size_t)(collection - ns));
    request->name = xstrdup(name + 1);
    if ((request->kind || request->is_export) && is_name(request->ns) &&
        !strchr(request->ns, '.') && is_name(request->name))
      return 0;
  }
  return error_set(err, ERROR_NOT_FOUND,
                   "there are only /v1/namespaces/NAMESPACE/images/NAME, "
                   "/v1/namespaces/NAMESPACE/datavolumes/NAME and "
                   "/v1/namespaces/NAMESPACE/exports/NAME here");
}

/* ---- fields -----------------------------------------------------------------------------------
 */

static int
parse_token(const char *field, const char **ret_token, struct error **err)
{
  static const char scheme[] = "Bearer ";
  if (!field || strncasecmp(field, scheme, strlen(scheme)) != 0 || !field[strlen(scheme)] ||
      strlen(field) > TOKEN_MAX_CHARS)
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "Authorization: Bearer TOKEN is needed, a token of the Kubernetes API server");
  *ret_token = field + strlen(scheme);
  return 0;
}

/* A number and what stands behind it, which must be `end`. */
static bool
take_number(const char **text, char end, uint64_t *ret_value)
{
  size_t len = strspn(*text, "0123456789");
  CLEANUP(freep) char *digits = xstrndup(*text, len);
  if (len == 0 || (*text)[len] != end || text_to_u64(digits, 10, ret_value) < 0)
    return false;
  *text += len + (end ? 1 : 0);
  return true;
}

/* "bytes FIRST-LAST/TOTAL" */
static int
parse_range(const char *field, struct upload_request *request, struct error **err)
{
  static const char unit[] = "bytes ";
  uint64_t last;
  const char *text = field + strlen(unit);
  if (text_starts_with(field, unit) && take_number(&text, '-', &request->first) &&
      take_number(&text, '/', &last) && take_number(&text, '\0', &request->total) &&
      request->first <= last && last < request->total &&
      request->length == last - request->first + 1)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "Content-Range: 'bytes FIRST-LAST/TOTAL' is needed, of as many bytes as "
                   "Content-Length tells");
}

bool
upload_request_lacks_length(const struct upload_head *head)
{
  return strcmp(head->method, METHOD_PUT) == 0 &&
         (!head->content_length || head->transfer_encoding);
}

static int
parse_extent(const struct upload_head *head, struct upload_request *request, struct error **err)
{
  if (upload_request_lacks_length(head))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "Content-Length is needed, and no Transfer-Encoding: how much is sent must be "
                     "known from the beginning, so send a file, not a pipe");
  if (text_to_u64(head->content_length, 10, &request->length) < 0 || request->length == 0 ||
      request->length > INT64_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "Content-Length: a number of bytes is needed, and not 0");
  request->total = request->length;
  return head->content_range ? parse_range(head->content_range, request, err) : 0;
}

static bool
is_hex(const char *text, size_t len)
{
  return strlen(text) == len && strspn(text, "0123456789abcdefABCDEF") == len;
}

static int
parse_checksum(const char *field, const char **ret_checksum, struct error **err)
{
  bool is_sound = !field || (text_starts_with(field, "sha256:") && is_hex(field + 7, 64)) ||
                  (text_starts_with(field, "sha512:") && is_hex(field + 7, 128));
  if (!is_sound)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "X-Checksum: sha256: or sha512: and the hexadecimal digits are needed");
  *ret_checksum = field;
  return 0;
}

/* "wait=60" among what is preferred; the rest is none of ours. */
static unsigned
parse_wait(const char *field)
{
  for (const char *at = field; at && *at; at += strcspn(at, ","), at += *at == ',') {
    uint64_t seconds;
    at += strspn(at, " \t");
    if (strncasecmp(at, "wait=", 5) != 0)
      continue;
    CLEANUP(freep) char *digits = xstrndup(at + 5, strspn(at + 5, "0123456789"));
    if (text_to_u64(digits, 10, &seconds) == 0)
      return seconds < UPLOAD_WAIT_MAX_S ? (unsigned)seconds : UPLOAD_WAIT_MAX_S;
  }
  return 0;
}

int
upload_request_parse(const struct upload_head *head, struct upload_request *ret_request,
                     struct error **err)
{
  struct upload_request request = {.is_put = strcmp(head->method, METHOD_PUT) == 0,
                                   .is_head = strcmp(head->method, "HEAD") == 0};
  bool is_known = request.is_put || request.is_head || strcmp(head->method, "GET") == 0;
  int r = parse_path(head->path, &request, err);
  if (r == 0 && request.is_export && (request.is_put || !is_known))
    r = error_set(err, ERROR_UNIMPLEMENTED, "GET gives the export");
  if (r == 0 && !is_known)
    r = error_set(err, ERROR_UNIMPLEMENTED, "PUT sends, GET and HEAD tell how far it is");
  if (r == 0)
    r = parse_token(head->authorization, &request.token, err);
  if (r == 0 && request.is_put)
    r = parse_extent(head, &request, err);
  if (r == 0)
    r = parse_checksum(head->checksum, &request.checksum, err);
  request.wait_s = parse_wait(head->prefer);
  if (r < 0)
    upload_request_clear(&request);
  else
    *ret_request = request;
  return r;
}
