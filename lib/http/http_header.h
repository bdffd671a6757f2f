/* SPDX-License-Identifier: Apache-2.0 */
/* The values of single header fields, read strictly: they come from anyone. */
#ifndef LIB_HTTP_HTTP_HEADER_H
#define LIB_HTTP_HTTP_HEADER_H

#include <stdbool.h>
#include <stdint.h>

/* "bytes 0-99/1000", "bytes 0-99/" with '*', "bytes *" with "/1000". */
struct http_content_range {
  bool has_bytes; /* first and last are given */
  uint64_t first;
  uint64_t last;  /* the last byte itself */
  uint64_t total; /* UINT64_MAX: not said */
};

/* -1 when it is anything else, or contradicts itself. */
int http_content_range_parse(const char *value, struct http_content_range *ret_range);

/* What an entity tag is good for. */
enum http_etag_kind {
  HTTP_ETAG_NONE,   /* not one, or of characters that no tag has */
  HTTP_ETAG_WEAK,   /* W/"…", or without its quotes: says that the content means the same */
  HTTP_ETAG_STRONG, /* "…": the same tag, the same bytes */
};

enum http_etag_kind http_etag_kind(const char *etag);
/* The weak comparison: the same but for W/ and for quotes. */
bool http_etag_matches(const char *a, const char *b);

/* Seconds from `now` on: "120", or a date; 0 for one that is over. -1 when it is neither. */
int http_retry_after_parse(const char *value, int64_t now, uint64_t *ret_seconds);

#endif
