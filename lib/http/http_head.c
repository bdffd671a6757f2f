/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

void
http_head_init(struct http_head *head)
{
  *head = (struct http_head){.content_length = UINT64_MAX};
}

void
http_head_clear(struct http_head *head)
{
  free(head->etag);
  free(head->last_modified);
  free(head->content_type);
  free(head->content_encoding);
  free(head->location);
  free(head->www_authenticate);
  free(head->docker_digest);
  free(head->upload_range);
  free(head->retry_after);
  http_head_init(head);
}

static void
fault(struct http_head *head, const char *why)
{
  if (!head->fault)
    head->fault = why;
}

/* Takes the value on when it is the first; -1 when it is another one than before. */
static int
keep_first(char **member, char **value)
{
  if (*member)
    return strcmp(*member, *value) == 0 ? 0 : -1;
  *member = TAKE(*value);
  return 0;
}

static void
on_etag(struct http_head *head, char **value)
{
  if (http_etag_kind(*value) != HTTP_ETAG_NONE && keep_first(&head->etag, value) < 0)
    fault(head, "two ETags");
}

static void
on_last_modified(struct http_head *head, char **value)
{
  if (keep_first(&head->last_modified, value) < 0)
    fault(head, "two Last-Modified");
}

static void
on_content_type(struct http_head *head, char **value)
{
  (void)keep_first(&head->content_type, value);
}

/* Neither says anything of the bytes that come: "aws-chunked" was the frame of an upload, and some
 * stores keep it with the object. */
static bool
is_no_encoding(const char *token, size_t len)
{
  static const char *const none[] = {"", "identity", "aws-chunked"};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
    if (strlen(none[i]) == len && strncasecmp(token, none[i], len) == 0)
      return true;
  }
  return false;
}

/* A list; what counts of it is kept as one text. */
static void
on_content_encoding(struct http_head *head, char **value)
{
  for (const char *at = *value; *at;) {
    at += strspn(at, ", \t");
    size_t len = strcspn(at, ", \t");
    if (!is_no_encoding(at, len)) {
      char *kept = head->content_encoding;
      head->content_encoding =
          xasprintf("%s%s%.*s", kept ? kept : "", kept ? ", " : "", (int)len, at);
      free(kept);
    }
    at += len;
  }
}

static void
on_location(struct http_head *head, char **value)
{
  if (keep_first(&head->location, value) < 0)
    fault(head, "two Locations");
}

static void
on_www_authenticate(struct http_head *head, char **value)
{
  if (!head->www_authenticate) {
    head->www_authenticate = TAKE(*value);
    return;
  }
  char *joined = xasprintf("%s, %s", head->www_authenticate, *value);
  free(head->www_authenticate);
  head->www_authenticate = joined;
}

static void
on_docker_digest(struct http_head *head, char **value)
{
  if (keep_first(&head->docker_digest, value) < 0)
    fault(head, "two digests");
}

static void
on_range(struct http_head *head, char **value)
{
  (void)keep_first(&head->upload_range, value);
}

static void
on_retry_after(struct http_head *head, char **value)
{
  (void)keep_first(&head->retry_after, value);
}

static void
on_content_length(struct http_head *head, char **value)
{
  uint64_t length;
  if (text_to_u64(*value, 10, &length) < 0 || length == UINT64_MAX)
    fault(head, "a malformed Content-Length");
  else if (head->content_length != UINT64_MAX && head->content_length != length)
    fault(head, "two Content-Lengths");
  else
    head->content_length = length;
}

static void
on_content_range(struct http_head *head, char **value)
{
  struct http_content_range range;
  if (http_content_range_parse(*value, &range) < 0)
    fault(head, "a malformed Content-Range");
  else if (head->has_range)
    fault(head, "two Content-Ranges");
  else
    head->range = range, head->has_range = true;
}

static void
on_accept_ranges(struct http_head *head, char **value)
{
  head->accepts_ranges = strcasecmp(*value, "bytes") == 0;
}

static void
on_transfer_encoding(struct http_head *head, char **value)
{
  head->is_chunked = strcasestr(*value, "chunked") != NULL;
}

static const struct {
  const char *name;
  void (*on)(struct http_head *head, char **value); /* may take the value */
} fields[] = {
    {"Accept-Ranges", on_accept_ranges},
    {"Content-Encoding", on_content_encoding},
    {"Content-Length", on_content_length},
    {"Content-Range", on_content_range},
    {"Content-Type", on_content_type},
    {"Docker-Content-Digest", on_docker_digest},
    {"ETag", on_etag},
    {"Last-Modified", on_last_modified},
    {"Location", on_location},
    {"Range", on_range},
    {"Retry-After", on_retry_after},
    {"Transfer-Encoding", on_transfer_encoding},
    {"WWW-Authenticate", on_www_authenticate},
};

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks at both ends are not part of it. */
static char *
value_of(const char *from, size_t len)
{
  while (len > 0 && is_blank(*from))
    from++, len--;
  while (len > 0 && is_blank(from[len - 1]))
    len--;
  return xstrndup(from, len);
}

/* What may end up in a message or in a further request. */
static bool
is_printable(const char *value)
{
  for (; *value; value++) {
    unsigned char c = (unsigned char)*value;
    if ((c < ' ' && c != '\t') || c == 0x7f)
      return false;
  }
  return true;
}

static void
on_field(struct http_head *head, const char *line, size_t len)
{
  const char *colon = memchr(line, ':', len);
  if (!colon)
    return;
  size_t name_len = (size_t)(colon - line);
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    if (strlen(fields[i].name) != name_len || strncasecmp(line, fields[i].name, name_len) != 0)
      continue;
    CLEANUP(freep) char *value = value_of(colon + 1, len - name_len - 1);
    if (is_printable(value))
      fields[i].on(head, &value);
    else
      fault(head, "control characters in a header");
  }
}

/* "HTTP/1.1 206 Partial Content" */
static void
on_status(struct http_head *head, const char *line, size_t len)
{
  http_head_clear(head);
  const char *blank = memchr(line, ' ', len);
  for (size_t i = 1; blank && i <= 3; i++) {
    const char *digit = blank + i;
    if (digit >= line + len || *digit < '0' || *digit > '9') {
      head->status = 0;
      fault(head, "a malformed status line");
      return;
    }
    head->status = head->status * 10 + (*digit - '0');
  }
}

void
http_head_line(struct http_head *head, const char *line, size_t len)
{
  if (head->is_complete)
    return;
  if (len >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
    on_status(head, line, len);
    return;
  }
  head->bytes += len;
  if (head->bytes > HTTP_HEAD_MAX_BYTES)
    fault(head, "too many headers");
  else if (len == 0 || line[0] == '\r' || line[0] == '\n')
    head->is_complete = head->status >= 200;
  else
    on_field(head, line, len);
}

bool
http_head_is_unframed(const struct http_head *head)
{
  return head->content_length == UINT64_MAX && !head->is_chunked && head->status != 206;
}
