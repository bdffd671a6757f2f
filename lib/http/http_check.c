/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_check.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static int
changed(struct error **err, const char *label, const char *what, const char *was, const char *is)
{
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the file changed while it was read: its %s was %s and is %s", label, what,
                   was, is ? is : "not given any more");
}

/* The size of the whole file as this answer tells it; UINT64_MAX when it does not. */
static uint64_t
total_of(const struct http_head *head)
{
  if (head->has_range)
    return head->range.total;
  return head->status == 200 && !head->content_encoding ? head->content_length : UINT64_MAX;
}

static int
check_total(const struct http_request *request, const struct http_head *head, const char *label,
            struct error **err)
{
  uint64_t total = total_of(head);
  if (!request->if_total || total == UINT64_MAX || total == request->if_total)
    return 0;
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the file changed while it was read: its size was %" PRIu64
                   " bytes and is %" PRIu64,
                   label, request->if_total, total);
}

static int
check_version(const struct http_request *request, const struct http_head *head, const char *label,
              struct error **err)
{
  const char *etag = request->if_match;
  if (etag && (!head->etag || !http_etag_matches(etag, head->etag)))
    return changed(err, label, "ETag", etag, head->etag);
  if (etag && http_etag_kind(etag) == HTTP_ETAG_STRONG &&
      http_etag_kind(head->etag) == HTTP_ETAG_STRONG)
    return check_total(request, head, label, err);
  const char *modified = request->if_unmodified_since;
  if (modified && (!head->last_modified || strcmp(modified, head->last_modified) != 0))
    return changed(err, label, "Last-Modified", modified, head->last_modified);
  return check_total(request, head, label, err);
}

static int
lie(struct error **err, const char *label, const char *what)
{
  return error_set(err, ERROR_DATA_LOSS, "%s: the server's answer cannot be right: %s", label,
                   what);
}

/* A server that encodes each part by itself gives no part of any file. */
static bool
is_encoding_wrong(const struct http_request *request, const struct http_head *head)
{
  const char *was = request->if_encoding;
  if (!head->content_encoding || (was && strcmp(was, "*") == 0))
    return false;
  return !was || strcasecmp(was, head->content_encoding) != 0;
}

/* Where the file ends, which need not be said (a total of '*') if it is known; else UINT64_MAX. */
static uint64_t
end_of(const struct http_request *request, const struct http_content_range *range)
{
  if (range->total != UINT64_MAX)
    return range->total;
  return request->if_total ? request->if_total : UINT64_MAX;
}

static int
check_range(const struct http_request *request, const struct http_head *head, const char *label,
            struct error **err)
{
  if (head->status == 200 && request->or_whole)
    return 0;
  if (head->status == 200)
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "%s: the server sends the whole file where a part of it was asked for", label);
  if (head->status != 206 || !head->has_range || !head->range.has_bytes)
    return lie(err, label, "a part of a file without Content-Range");
  const struct http_content_range *range = &head->range;
  if (!request->range_len && end_of(request, range) == UINT64_MAX)
    return lie(err, label, "the rest of a file without saying how large the file is");
  uint64_t last = request->range_len ? request->range_offset + request->range_len - 1
                                     : end_of(request, range) - 1;
  if (range->first != request->range_offset || range->last != last)
    return error_set(err, ERROR_DATA_LOSS,
                     "%s: the server's answer cannot be right: asked for the bytes from %" PRIu64
                     " to %" PRIu64 ", it sends those from %" PRIu64 " to %" PRIu64,
                     label, request->range_offset, last, range->first, range->last);
  if (head->content_length != UINT64_MAX && head->content_length != range->last - range->first + 1)
    return lie(err, label, "Content-Length and Content-Range do not agree");
  if (is_encoding_wrong(request, head))
    return lie(err, label, "a part of a file with a Content-Encoding that nobody asked for");
  return 0;
}

int
http_check_head(const struct http_request *request, const struct http_head *head, const char *label,
                struct error **err)
{
  if (head->fault)
    return lie(err, label, head->fault);
  if (head->status == 416)
    return check_total(request, head, label, err);
  if (check_version(request, head, label, err) < 0)
    return -1;
  if (request->has_range)
    return check_range(request, head, label, err);
  if (head->status == 206)
    return lie(err, label, "a part of a file where the whole was asked for");
  return 0;
}

bool
http_check_ignores_range(const struct http_request *request, const struct http_head *head)
{
  return request->has_range && !request->or_whole && head->status == 200 && !head->fault &&
         check_version(request, head, "", NULL) == 0;
}
