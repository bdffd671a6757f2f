/* SPDX-License-Identifier: Apache-2.0 */
/* The input is the head of an answer, as lines, and each line also the value of each field. What is
 * taken makes sense: a range lies inside its total, a tag matches itself, a head that has no fault
 * holds nothing that could not go into a message. */
#include <string.h>
#include <strings.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/http/http_challenge.h"
#include "lib/http/http_head.h"
#include "lib/http/http_header.h"
#include "tests/fuzz/fuzz.h"

static void
try_content_range(const char *value)
{
  struct http_content_range range;
  if (http_content_range_parse(value, &range) < 0)
    return;
  CHECK(range.has_bytes || range.total != UINT64_MAX);
  if (range.has_bytes)
    CHECK(range.first <= range.last && range.last < range.total);
  char again[128];
  if (!range.has_bytes)
    (void)snprintf(again, sizeof(again), "bytes */%llu", (unsigned long long)range.total);
  else if (range.total == UINT64_MAX)
    (void)snprintf(again, sizeof(again), "bytes %llu-%llu/*", (unsigned long long)range.first,
                   (unsigned long long)range.last);
  else
    (void)snprintf(again, sizeof(again), "bytes %llu-%llu/%llu", (unsigned long long)range.first,
                   (unsigned long long)range.last, (unsigned long long)range.total);
  struct http_content_range other;
  CHECK(http_content_range_parse(again, &other) == 0);
  CHECK(other.has_bytes == range.has_bytes && other.first == range.first &&
        other.last == range.last && other.total == range.total);
}

static void
try_etag(const char *value)
{
  enum http_etag_kind kind = http_etag_kind(value);
  CHECK((kind != HTTP_ETAG_NONE) == http_etag_matches(value, value));
  if (kind != HTTP_ETAG_STRONG)
    return;
  CLEANUP(freep) char *weak = xasprintf("W/%s", value);
  CHECK(http_etag_kind(weak) == HTTP_ETAG_WEAK);
  CHECK(http_etag_matches(value, weak));
  CHECK(!strpbrk(value, " \t\r\n"));
}

static void
try_challenge(const char *value, const char *scheme)
{
  struct http_challenge challenge = {0};
  if (http_challenge_find(value, scheme, &challenge) < 0) {
    CHECK(!challenge.realm && !challenge.service && !challenge.scope);
    return;
  }
  size_t len = strlen(value);
  CHECK(strcasestr(value, scheme));
  CHECK(!challenge.realm || strlen(challenge.realm) < len);
  CHECK(!challenge.service || strlen(challenge.service) < len);
  CHECK(!challenge.scope || strlen(challenge.scope) < len);
  http_challenge_clear(&challenge);
}

static void
try_value(const char *value)
{
  uint64_t seconds;
  try_content_range(value);
  try_etag(value);
  (void)http_retry_after_parse(value, 1000000000, &seconds);
  try_challenge(value, "Bearer");
  try_challenge(value, "Basic");
}

static bool
is_printable(const char *text)
{
  for (; text && *text; text++) {
    if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
      return false;
  }
  return true;
}

static void
check_head(const struct http_head *head)
{
  CHECK(head->status >= 0 && head->status <= 999);
  CHECK(!head->is_complete || head->status >= 200);
  CHECK(is_printable(head->etag) && is_printable(head->last_modified) &&
        is_printable(head->location) && is_printable(head->content_type) &&
        is_printable(head->www_authenticate) && is_printable(head->docker_digest));
  CHECK(!head->etag || http_etag_kind(head->etag) != HTTP_ETAG_NONE);
  CHECK(!head->content_encoding || strcasecmp(head->content_encoding, "identity") != 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  struct http_head head;
  http_head_init(&head);
  for (const char *at = text; *at;) {
    size_t len = strcspn(at, "\n");
    size_t line_len = len + (at[len] == '\n');
    http_head_line(&head, at, line_len);
    check_head(&head);
    CLEANUP(freep) char *value = xstrndup(at, len);
    try_value(value);
    at += line_len;
  }
  http_head_clear(&head);
  return 0;
}
