/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3_upload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_probe.h"
#include "lib/http/http_send.h"
#include "lib/http/http_url.h"
#include "lib/http/s3_uploads.h"
#include "lib/http/s3_xml.h"

/* A store puts thousands of parts together before it answers. */
#define COMPLETE_STALL_S 300
/* A good answer with an error in it is one that may pass. */
#define COMPLETE_TRIES 4
/* A page of the list of parts: 1000 of them. */
#define LIST_MAX_BYTES ((uint64_t)4 << 20)

struct part {
  char *etag; /* NULL: the store has it not */
  uint64_t len;
};

struct s3_upload {
  struct http_client *client;
  struct s3_options options;
  char *bucket;
  char *key;
  char *url; /* of the object */
  char *id;
  char *encoded_id;
  bool is_repeated;      /* its creation was asked for more than once */
  pthread_mutex_t mutex; /* guards all below */
  struct part parts[S3_PARTS_MAX];
};

static struct s3_upload *
upload_new(struct http_client *client, const struct s3_options *options, const char *bucket,
           const char *key)
{
  struct s3_upload *upload = xcalloc(1, sizeof(*upload));
  upload->client = client;
  upload->options = *options;
  upload->bucket = xstrdup(bucket);
  upload->key = xstrdup(key);
  upload->url = s3_url(options, bucket, key);
  (void)pthread_mutex_init(&upload->mutex, NULL);
  return upload;
}

void
s3_upload_free(struct s3_upload *upload)
{
  if (!upload)
    return;
  for (size_t i = 0; i < S3_PARTS_MAX; i++)
    free(upload->parts[i].etag);
  (void)pthread_mutex_destroy(&upload->mutex);
  free(upload->bucket);
  free(upload->key);
  free(upload->url);
  free(upload->id);
  free(upload->encoded_id);
  free(upload);
}

static void
set_id(struct s3_upload *upload, char *id)
{
  upload->id = id;
  upload->encoded_id = http_url_encode(id, false);
}

/* Takes the ETag. */
static void
keep_part(struct s3_upload *upload, unsigned number, char *etag, uint64_t len)
{
  MUTEX_GUARD(&upload->mutex);
  struct part *part = &upload->parts[number - 1];
  free(part->etag);
  *part = (struct part){.etag = etag, .len = len};
}

/* Sends a request about this upload; any status but `wanted` is an error. The query must be sorted
 * and encoded, for the signature. */
static int
ask(struct s3_upload *upload, struct http_request *request, const char *query, long wanted,
    struct http_response *ret_response, struct error **err)
{
  CLEANUP(freep) char *url = xasprintf("%s?%s", upload->url, query);
  request->url = url;
  request->s3 = &upload->options;
  if (http_send(upload->client, request, ret_response, err) < 0)
    return -1;
  if (ret_response->status == wanted)
    return 0;
  (void)http_status_error(request, ret_response, err);
  http_response_clear(ret_response);
  return -1;
}

int
s3_upload_create(struct http_client *client, const struct s3_options *options, const char *bucket,
                 const char *key, struct s3_upload **ret_upload, struct error **err)
{
  CLEANUP(s3_upload_freep) struct s3_upload *upload = upload_new(client, options, bucket, key);
  struct http_request request = {.method = "POST", .is_counted = true};
  struct http_response response = {0};
  if (ask(upload, &request, "uploads=", 200, &response, err) < 0)
    return error_wrap(err, "begin an upload");
  upload->is_repeated = response.is_repeated;
  char *id = response.body.len ? s3_xml_text(s3_xml_span(response.body.data), "UploadId") : NULL;
  http_response_clear(&response);
  if (!id || !*id) {
    free(id);
    return error_set(err, ERROR_DATA_LOSS, "begin an upload: %s: the store gave no upload id",
                     upload->url);
  }
  set_id(upload, id);
  *ret_upload = TAKE(upload);
  return 0;
}

/* One <Part>. */
static int
list_part(struct s3_upload *upload, struct s3_span xml)
{
  CLEANUP(freep) char *number_text = s3_xml_text(xml, "PartNumber");
  CLEANUP(freep) char *size_text = s3_xml_text(xml, "Size");
  CLEANUP(freep) char *etag = s3_xml_text(xml, "ETag");
  uint64_t number;
  uint64_t size;
  if (!number_text || !size_text || !etag || text_to_u64(number_text, 10, &number) < 0 ||
      text_to_u64(size_text, 10, &size) < 0 || number < 1 || number > S3_PARTS_MAX)
    return -1;
  keep_part(upload, (unsigned)number, TAKE(etag), size);
  return 0;
}

/* A page of the list; *marker moves to the next, or to 0 behind the last. */
static int
list_page(struct s3_upload *upload, struct s3_span xml, uint64_t *marker)
{
  struct s3_span part;
  for (struct s3_span rest = xml; s3_xml_find(rest, "Part", &part, &rest);) {
    if (list_part(upload, part) < 0)
      return -1;
  }
  CLEANUP(freep) char *is_truncated = s3_xml_text(xml, "IsTruncated");
  if (!is_truncated || strcmp(is_truncated, "true") != 0) {
    *marker = 0;
    return 0;
  }
  CLEANUP(freep) char *next = s3_xml_text(xml, "NextPartNumberMarker");
  uint64_t value;
  if (!next || text_to_u64(next, 10, &value) < 0 || value <= *marker || value > S3_PARTS_MAX)
    return -1; /* it would never end */
  *marker = value;
  return 0;
}

static int
list_parts(struct s3_upload *upload, struct error **err)
{
  uint64_t marker = 0;
  do {
    CLEANUP(freep)
    char *query = xasprintf("max-parts=1000&part-number-marker=%llu&uploadId=%s",
                            (unsigned long long)marker, upload->encoded_id);
    struct http_request request = {.method = "GET", .max_body = LIST_MAX_BYTES};
    struct http_response response = {0};
    if (ask(upload, &request, query, 200, &response, err) < 0)
      return error_wrap(err, "list the parts of an upload");
    int r = response.body.len ? list_page(upload, s3_xml_span(response.body.data), &marker) : -1;
    http_response_clear(&response);
    if (r < 0)
      return error_set(err, ERROR_DATA_LOSS, "list the parts of an upload: %s: malformed answer",
                       upload->url);
  } while (marker > 0);
  return 0;
}

int
s3_upload_open(struct http_client *client, const struct s3_options *options, const char *bucket,
               const char *key, const char *id, struct s3_upload **ret_upload, struct error **err)
{
  CLEANUP(s3_upload_freep) struct s3_upload *upload = upload_new(client, options, bucket, key);
  set_id(upload, xstrdup(id));
  if (list_parts(upload, err) < 0)
    return -1;
  *ret_upload = TAKE(upload);
  return 0;
}

const char *
s3_upload_id(const struct s3_upload *upload)
{
  return upload->id;
}

bool
s3_upload_is_repeated(const struct s3_upload *upload)
{
  return upload->is_repeated;
}

uint64_t
s3_upload_part_len(struct s3_upload *upload, unsigned number)
{
  if (number < 1 || number > S3_PARTS_MAX)
    return 0;
  MUTEX_GUARD(&upload->mutex);
  return upload->parts[number - 1].len;
}

int
s3_upload_part(struct s3_upload *upload, unsigned number, const void *data, size_t len,
               struct error **err)
{
  if (number < 1 || number > S3_PARTS_MAX)
    return error_set(err, ERROR_OUT_OF_RANGE, "upload part %u: an upload has %d parts at most",
                     number, S3_PARTS_MAX);
  CLEANUP(freep)
  char *query = xasprintf("partNumber=%u&uploadId=%s", number, upload->encoded_id);
  struct http_request request = {.method = "PUT", .body = data, .body_len = len};
  struct http_response response = {0};
  if (ask(upload, &request, query, 200, &response, err) < 0)
    return error_wrap(err, "upload part %u", number);
  char *etag = TAKE(response.etag);
  http_response_clear(&response);
  if (!etag)
    return error_set(err, ERROR_DATA_LOSS, "upload part %u: %s: the store gave no ETag", number,
                     upload->url);
  keep_part(upload, number, etag, len);
  return 0;
}

struct sum {
  unsigned parts;
  uint64_t bytes;
};

/* The list of all parts as the store wants to see it. */
static void
write_list(struct s3_upload *upload, struct buffer *xml, struct sum *ret_sum)
{
  MUTEX_GUARD(&upload->mutex);
  struct sum sum = {0};
  (void)buffer_append_text(
      xml, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
  for (unsigned i = 0; i < S3_PARTS_MAX; i++) {
    const struct part *part = &upload->parts[i];
    if (!part->etag)
      continue;
    CLEANUP(freep) char *etag = s3_xml_escape(part->etag);
    CLEANUP(freep)
    char *line = xasprintf("<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", i + 1, etag);
    (void)buffer_append_text(xml, line);
    sum.parts++;
    sum.bytes += part->len;
  }
  (void)buffer_append_text(xml, "</CompleteMultipartUpload>");
  *ret_sum = sum;
}

/* Whether an ETag tells the number of parts, as that of an object made of parts does, and tells
 * another one. */
static bool
is_of_other_parts(const char *etag, unsigned parts)
{
  const char *dash = strrchr(etag, '-');
  if (!dash)
    return false;
  CLEANUP(freep) char *digits = xstrndup(dash + 1, strcspn(dash + 1, "\""));
  uint64_t count;
  return text_to_u64(digits, 10, &count) == 0 && count != parts;
}

/* An answer that got lost: the request is repeated, and the store knows the upload no more. Then
 * the object must be there, of so many bytes and, as its ETag says, of so many parts. */
static bool
is_there(struct s3_upload *upload, const struct sum *sum)
{
  struct http_request request = {.url = upload->url, .s3 = &upload->options};
  struct http_response response = {0};
  if (http_probe(upload->client, &request, &response, NULL) < 0)
    return false;
  CLEANUP(freep) char *ending = xasprintf("-%u\"", sum->parts);
  size_t len = strlen(ending);
  size_t etag_len = response.etag ? strlen(response.etag) : 0;
  bool result = response.content_length == sum->bytes && etag_len > len &&
                strcmp(response.etag + etag_len - len, ending) == 0;
  http_response_clear(&response);
  return result;
}

/* A store may begin to answer 200 before it knows how the matter ends. */
static int
check_completed(const struct s3_upload *upload, const struct http_response *response,
                unsigned parts, struct error **err)
{
  if (response->body.len == 0)
    return 0;
  CLEANUP(freep) char *reason = s3_xml_error(response->body.data);
  if (reason)
    return error_set(err,
                     text_starts_with(reason, "NoSuchUpload") ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE,
                     "%s: %s", upload->url, reason);
  CLEANUP(freep) char *etag = s3_xml_text(s3_xml_span(response->body.data), "ETag");
  if (etag && is_of_other_parts(etag, parts))
    return error_set(err, ERROR_DATA_LOSS, "%s: the object's ETag is %s, but it has %u parts",
                     upload->url, etag, parts);
  return 0;
}

/* *ret_may_pass: the store has taken the request and failed at it. */
static int
complete_once(struct s3_upload *upload, const struct buffer *xml, unsigned parts,
              bool *ret_may_pass, struct error **err)
{
  static const char *const headers[] = {"Content-Type: application/xml", NULL};
  struct http_request request = {.method = "POST",
                                 .headers = headers,
                                 .body = xml->data,
                                 .body_len = xml->len,
                                 .stall_s = COMPLETE_STALL_S};
  CLEANUP(freep) char *query = xasprintf("uploadId=%s", upload->encoded_id);
  struct http_response response = {0};
  *ret_may_pass = false;
  if (ask(upload, &request, query, 200, &response, err) < 0)
    return -1;
  CLEANUP(error_freep) struct error *failure = NULL;
  int r = check_completed(upload, &response, parts, &failure);
  http_response_clear(&response);
  if (r == 0)
    return 0;
  *ret_may_pass = failure->code == ERROR_UNAVAILABLE;
  return error_set(err, failure->code, "%s", failure->message);
}

int
s3_upload_complete(struct s3_upload *upload, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer xml = {0};
  struct sum sum;
  write_list(upload, &xml, &sum);
  for (unsigned try = 1;; try++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    bool may_pass;
    if (complete_once(upload, &xml, sum.parts, &may_pass, &failure) == 0)
      return 0;
    unsigned pause_ms = upload->client->options.retry_first_ms << try;
    if (may_pass && try < COMPLETE_TRIES && http_client_sleep(upload->client, pause_ms))
      continue;
    if ((may_pass || failure->code == ERROR_NOT_FOUND) && is_there(upload, &sum))
      return 0;
    return error_set(err, failure->code, "complete an upload: %s", failure->message);
  }
}

int
s3_upload_abort(struct s3_upload *upload, struct error **err)
{
  return s3_uploads_abort(upload->client, &upload->options, upload->bucket, upload->key, upload->id,
                          err);
}
