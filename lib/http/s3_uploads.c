/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3_uploads.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/http/http_response.h"
#include "lib/http/http_send.h"
#include "lib/http/http_url.h"
#include "lib/http/s3_xml.h"

/* A page of the list: 1000 uploads. */
#define LIST_MAX_BYTES ((uint64_t)4 << 20)
/* No store has that many of one object, but one that lies. */
#define IDS_MAX 10000

bool
s3_upload_ids_have(const struct s3_upload_ids *ids, const char *id)
{
  for (size_t i = 0; i < ids->count; i++) {
    if (strcmp(ids->items[i], id) == 0)
      return true;
  }
  return false;
}

void
s3_upload_ids_clear(struct s3_upload_ids *ids)
{
  for (size_t i = 0; i < ids->count; i++)
    free(ids->items[i]);
  free(ids->items);
  *ids = (struct s3_upload_ids){0};
}

static void
keep(struct s3_upload_ids *ids, char *id)
{
  ids->items = xrealloc(ids->items, ids->count + 1, sizeof(char *));
  ids->items[ids->count++] = id;
}

/* Where the next page begins; both are empty at the beginning. */
struct marker {
  char *key;
  char *id;
};

static void
marker_clear(struct marker *marker)
{
  free(TAKE(marker->key));
  free(TAKE(marker->id));
}

/* The query must be sorted and encoded, for the signature. */
static char *
query_of(const char *key, const struct marker *marker)
{
  CLEANUP(freep) char *prefix = http_url_encode(key, false);
  if (!marker->key)
    return xasprintf("max-uploads=1000&prefix=%s&uploads=", prefix);
  CLEANUP(freep) char *from_key = http_url_encode(marker->key, false);
  CLEANUP(freep) char *from_id = http_url_encode(marker->id ? marker->id : "", false);
  return xasprintf("key-marker=%s&max-uploads=1000&prefix=%s&upload-id-marker=%s&uploads=",
                   from_key, prefix, from_id);
}

/* The key is a prefix of others: theirs are passed over. False when the list makes no sense. */
static bool
read_page(struct s3_span xml, const char *key, struct s3_upload_ids *ids, struct marker *marker)
{
  struct s3_span upload;
  for (struct s3_span rest = xml; s3_xml_find(rest, "Upload", &upload, &rest);) {
    CLEANUP(freep) char *its_key = s3_xml_text(upload, "Key");
    CLEANUP(freep) char *id = s3_xml_text(upload, "UploadId");
    if (!its_key || !id || ids->count >= IDS_MAX)
      return false;
    if (strcmp(its_key, key) == 0 && !s3_upload_ids_have(ids, id))
      keep(ids, TAKE(id));
  }
  CLEANUP(freep) char *is_truncated = s3_xml_text(xml, "IsTruncated");
  struct marker next = {.key = s3_xml_text(xml, "NextKeyMarker"),
                        .id = s3_xml_text(xml, "NextUploadIdMarker")};
  bool is_more = is_truncated && strcmp(is_truncated, "true") == 0;
  bool is_same = next.key && marker->key && strcmp(next.key, marker->key) == 0 &&
                 (!next.id || !marker->id || strcmp(next.id, marker->id) == 0);
  marker_clear(marker);
  /* Keys come in order: behind ours there is none of ours. */
  if (is_more && next.key && strcmp(next.key, key) <= 0 && !is_same)
    *marker = next;
  else
    marker_clear(&next);
  return !is_more || !is_same;
}

static int
ask(struct http_client *client, const struct s3_options *options, const char *method,
    const char *url, long wanted, struct http_response *ret_response, struct error **err)
{
  struct http_request request = {
      .method = method, .url = url, .s3 = options, .max_body = LIST_MAX_BYTES};
  if (http_send(client, &request, ret_response, err) < 0)
    return -1;
  if (ret_response->status == wanted)
    return 0;
  (void)http_status_error(&request, ret_response, err);
  http_response_clear(ret_response);
  return -1;
}

static int
list(struct http_client *client, const struct s3_options *options, const char *bucket,
     const char *key, struct s3_upload_ids *ids, struct error **err)
{
  CLEANUP(freep) char *address = s3_url(options, bucket, NULL);
  CLEANUP(marker_clear) struct marker marker = {0};
  do {
    CLEANUP(freep) char *query = query_of(key, &marker);
    CLEANUP(freep) char *url = xasprintf("%s?%s", address, query);
    struct http_response response = {0};
    if (ask(client, options, "GET", url, 200, &response, err) < 0)
      return error_wrap(err, "list the uploads of an object");
    bool is_sound =
        response.body.len > 0 && read_page(s3_xml_span(response.body.data), key, ids, &marker);
    http_response_clear(&response);
    if (!is_sound)
      return error_set(err, ERROR_DATA_LOSS, "list the uploads of an object: %s: malformed answer",
                       address);
  } while (marker.key);
  return 0;
}

int
s3_uploads_list(struct http_client *client, const struct s3_options *options, const char *bucket,
                const char *key, struct s3_upload_ids *ret_ids, struct error **err)
{
  struct s3_upload_ids ids = {0};
  if (list(client, options, bucket, key, &ids, err) < 0) {
    s3_upload_ids_clear(&ids);
    return -1;
  }
  *ret_ids = ids;
  return 0;
}

int
s3_uploads_abort(struct http_client *client, const struct s3_options *options, const char *bucket,
                 const char *key, const char *id, struct error **err)
{
  CLEANUP(freep) char *address = s3_url(options, bucket, key);
  CLEANUP(freep) char *encoded_id = http_url_encode(id, false);
  CLEANUP(freep) char *url = xasprintf("%s?uploadId=%s", address, encoded_id);
  CLEANUP(error_freep) struct error *failure = NULL;
  struct http_response response = {0};
  if (ask(client, options, "DELETE", url, 204, &response, &failure) < 0) {
    if (failure->code == ERROR_NOT_FOUND)
      return 0;
    return error_set(err, failure->code, "abort an upload: %s", failure->message);
  }
  http_response_clear(&response);
  return 0;
}
