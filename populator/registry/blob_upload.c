/* SPDX-License-Identifier: Apache-2.0 */
/* A registry appends whatever a PATCH brings to what it has; many do not compare the offset that
 * the request names. So a PATCH is never repeated blindly: after a failure the registry is asked
 * how much it has. Some give an upload up altogether when a PATCH breaks in the middle (docker's,
 * up to version 2.8): that is ABORTED, and whoever can make the bytes once more begins anew. */
#include "populator/registry/blob_upload.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_url.h"

/* Registries that keep blobs in an object store want parts of at least 5 MiB. */
#define CHUNK_BYTES ((size_t)8 << 20)
/* Failures in a row without a byte of progress. */
#define FAILURES_MAX 6
/* Uploads of a small blob that may be given up by the registry. */
#define ATTEMPTS_MAX 3

struct blob_upload {
  struct registry_client *client;
  char *location; /* where the next part goes: the registry says so each time */
  char *chunk;    /* bytes that the registry does not have yet */
  size_t chunk_len;
  uint64_t offset; /* of the chunk's first byte in the blob */
  struct checksum checksum;
  uint64_t size; /* written so far */
  unsigned failures;
};

static void
upload_free(struct blob_upload *upload)
{
  free(upload->location);
  free(upload->chunk);
  free(upload);
}

/* ---- where parts go ----------------------------------------------------------------------------
 */

/* Keeps the address that an answer names. It may be another server's, which then gets to see no
 * credentials; but not one without TLS in place of one with it. */
static int
take_location(struct blob_upload *upload, const struct http_response *response, struct error **err)
{
  if (!response->location)
    return error_set(err, ERROR_DATA_LOSS, "the registry does not say where the blob goes");
  struct http_url base = {0}, next = {0};
  int r = -1;
  if (http_url_parse(response->url, &base, err) == 0 &&
      http_url_resolve(&base, response->location, &next, err) == 0) {
    if (next.is_tls || !base.is_tls) {
      free(upload->location);
      upload->location = TAKE(next.text);
      r = 0;
    } else {
      (void)error_set(err, ERROR_FAILED_PRECONDITION,
                      "the registry sends the blob to a server without TLS, '%s'", next.host);
    }
  }
  http_url_clear(&base);
  http_url_clear(&next);
  return r;
}

static int
open_session(struct blob_upload *upload, struct error **err)
{
  CLEANUP(freep) char *url = registry_client_url(upload->client, "blobs/uploads/");
  const struct http_request request = {.method = "POST", .url = url};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(upload->client, &request, &response, err) < 0)
    return -1;
  if (response.status != 202)
    return http_status_error(&request, &response, err);
  return take_location(upload, &response, err);
}

int
blob_upload_begin(struct registry_client *client, struct blob_upload **ret_upload,
                  struct error **err)
{
  struct blob_upload *upload = xcalloc(1, sizeof(*upload));
  upload->client = client;
  upload->chunk = xcalloc(CHUNK_BYTES, 1);
  checksum_init(&upload->checksum, CHECKSUM_SHA256);
  if (open_session(upload, err) < 0) {
    upload_free(upload);
    return error_wrap(err, "begin an upload");
  }
  *ret_upload = upload;
  return 0;
}

/* ---- chunks ------------------------------------------------------------------------------------
 */

/* The registry has everything before this offset. */
static int
acknowledge(struct blob_upload *upload, uint64_t received, struct error **err)
{
  if (received < upload->offset || received > upload->offset + upload->chunk_len)
    return error_set(err, ERROR_DATA_LOSS,
                     "the registry has %" PRIu64 " bytes of the blob, where %" PRIu64 " to %" PRIu64
                     " were sent",
                     received, upload->offset, upload->offset + upload->chunk_len);
  size_t done = (size_t)(received - upload->offset);
  if (done > 0)
    upload->failures = 0;
  upload->chunk_len -= done;
  memmove(upload->chunk, upload->chunk + done, upload->chunk_len);
  upload->offset = received;
  return 0;
}

/* "0-1023": 1024 bytes. "0-0" is what registries say of none, too; a chunk is never one byte long
 * unless the blob is. */
static int
parse_range(const char *range, uint64_t offset, uint64_t *ret_received)
{
  uint64_t last;
  if (!range || !text_starts_with(range, "0-") || text_to_u64(range + 2, 10, &last) < 0 ||
      last == UINT64_MAX)
    return -1;
  *ret_received = last == 0 && offset == 0 ? 0 : last + 1;
  return 0;
}

/* The registry does not know the upload any more, or has lost what it had of it. */
static bool
is_given_up(const struct http_response *response)
{
  return response->status == 404 || response->status == 410 ||
         (response->status == 400 && response->body.data &&
          strstr(response->body.data, "BLOB_UPLOAD_INVALID"));
}

static int
given_up(struct error **err)
{
  return error_set(err, ERROR_ABORTED, "the registry has given the upload up");
}

/* After a failure: what the registry has, and where it goes on. */
static int
ask_status(struct blob_upload *upload, struct error **err)
{
  const struct http_request request = {.url = upload->location};
  CLEANUP(http_response_clear) struct http_response response = {0};
  uint64_t received;
  if (registry_client_send(upload->client, &request, &response, err) < 0)
    return -1;
  if (is_given_up(&response) || response.status == 416)
    return given_up(err);
  if (response.status != 204)
    return http_status_error(&request, &response, err);
  if (parse_range(response.upload_range, upload->offset, &received) < 0)
    return error_set(err, ERROR_DATA_LOSS, "the registry does not say how much of a blob it has");
  if (response.location && take_location(upload, &response, err) < 0)
    return -1;
  return received < upload->offset ? given_up(err) : acknowledge(upload, received, err);
}

/* One attempt. -1 with UNAVAILABLE: ask, and try again. */
static int
patch(struct blob_upload *upload, struct error **err)
{
  CLEANUP(freep)
  char *range = xasprintf("Content-Range: %" PRIu64 "-%" PRIu64, upload->offset,
                          upload->offset + upload->chunk_len - 1);
  const char *const headers[] = {range, "Content-Type: application/octet-stream", NULL};
  const struct http_request request = {.method = "PATCH",
                                       .url = upload->location,
                                       .headers = headers,
                                       .body = upload->chunk,
                                       .body_len = upload->chunk_len,
                                       .is_once = true};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(upload->client, &request, &response, err) < 0)
    return -1;
  if (is_given_up(&response))
    return given_up(err);
  if (response.status == 416) /* it has another end than we think */
    return error_set(err, ERROR_UNAVAILABLE, "the registry has another part of the blob");
  if (response.status != 202 && response.status != 204)
    return http_status_error(&request, &response, err);
  if (take_location(upload, &response, err) < 0)
    return -1;
  return acknowledge(upload, upload->offset + upload->chunk_len, err);
}

static void
pause_after_failure(const struct blob_upload *upload)
{
  long ms = (long)registry_client_retry_ms(upload->client) << (upload->failures - 1);
  const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  (void)nanosleep(&pause, NULL);
}

static int
send_chunk(struct blob_upload *upload, struct error **err)
{
  while (upload->chunk_len > 0) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (patch(upload, &failure) == 0)
      continue;
    if (failure->code != ERROR_UNAVAILABLE || ++upload->failures > FAILURES_MAX)
      return error_set(err, failure->code, "%s", failure->message);
    pause_after_failure(upload);
    if (ask_status(upload, err) < 0)
      return error_wrap(err, "%s", failure->message);
  }
  return 0;
}

int
blob_upload_write(struct blob_upload *upload, const void *data, size_t len, struct error **err)
{
  checksum_update(&upload->checksum, data, len);
  upload->size += len;
  while (len > 0) {
    size_t room = CHUNK_BYTES - upload->chunk_len;
    size_t part = len < room ? len : room;
    memcpy(upload->chunk + upload->chunk_len, data, part);
    upload->chunk_len += part;
    data = (const char *)data + part;
    len -= part;
    if (upload->chunk_len == CHUNK_BYTES && send_chunk(upload, err) < 0)
      return error_wrap(err, "upload");
  }
  return 0;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

int
blob_upload_exists(struct registry_client *client, const struct oci_descriptor *blob,
                   bool *ret_exists, struct error **err)
{
  CLEANUP(freep) char *rest = xasprintf("blobs/%s", blob->digest);
  CLEANUP(freep) char *url = registry_client_url(client, rest);
  const struct http_request request = {.method = "HEAD", .url = url};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  if (response.status != 200 && response.status != 404)
    return http_status_error(&request, &response, err);
  *ret_exists = response.status == 200 &&
                (response.content_length == UINT64_MAX || response.content_length == blob->size);
  return 0;
}

int
blob_upload_mount(struct registry_client *client, const struct oci_descriptor *blob,
                  const char *from, bool *ret_is_mounted, struct error **err)
{
  CLEANUP(freep) char *encoded = http_url_encode(from, false);
  CLEANUP(freep)
  char *rest = xasprintf("blobs/uploads/?mount=%s&from=%s", blob->digest, encoded);
  CLEANUP(freep) char *url = registry_client_url(client, rest);
  const struct http_request request = {.method = "POST", .url = url};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(client, &request, &response, err) < 0)
    return -1;
  *ret_is_mounted = response.status == 201;
  if (response.status == 202) { /* it has begun an upload instead, which nobody wants */
    struct blob_upload *unwanted = xcalloc(1, sizeof(*unwanted));
    unwanted->client = client;
    if (take_location(unwanted, &response, NULL) == 0)
      blob_upload_abort(unwanted);
    else
      upload_free(unwanted);
  }
  return 0;
}

/* Names it. The answer to a request that did its work may get lost: then the blob is there. */
static int
complete(struct blob_upload *upload, const struct oci_descriptor *blob, struct error **err)
{
  CLEANUP(freep)
  char *url = xasprintf("%s%cdigest=%s", upload->location,
                        strchr(upload->location, '?') ? '&' : '?', blob->digest);
  const struct http_request request = {.method = "PUT", .url = url, .is_once = true};
  for (;;) {
    CLEANUP(error_freep) struct error *failure = NULL;
    CLEANUP(http_response_clear) struct http_response response = {0};
    if (registry_client_send(upload->client, &request, &response, &failure) == 0) {
      if (response.status == 201 || response.status == 204)
        return 0;
      (void)(is_given_up(&response) ? given_up(&failure)
                                    : http_status_error(&request, &response, &failure));
    }
    bool exists = false;
    if (blob_upload_exists(upload->client, blob, &exists, err) < 0)
      return -1;
    if (exists)
      return 0;
    if (failure->code != ERROR_UNAVAILABLE || ++upload->failures > FAILURES_MAX)
      return error_set(err, failure->code, "%s", failure->message);
    pause_after_failure(upload);
  }
}

int
blob_upload_finish(struct blob_upload *upload, struct oci_descriptor *ret_blob, struct error **err)
{
  CLEANUP(blob_upload_abortp) struct blob_upload *unfinished = upload;
  CLEANUP(oci_descriptor_clear) struct oci_descriptor blob = {.size = upload->size};
  char digest[CHECKSUM_TEXT_MAX];
  if (send_chunk(upload, err) < 0)
    return error_wrap(err, "upload");
  checksum_text(&upload->checksum, digest);
  blob.digest = xstrdup(digest);
  if (complete(upload, &blob, err) < 0)
    return error_wrap(err, "complete an upload");
  upload_free(TAKE(unfinished));
  *ret_blob = blob;
  blob = (struct oci_descriptor){0};
  return 0;
}

void
blob_upload_pass_to(struct blob_upload *upload, struct registry_client *client)
{
  upload->client = client;
}

void
blob_upload_abort(struct blob_upload *upload)
{
  if (!upload)
    return;
  const struct http_request request = {
      .method = "DELETE", .url = upload->location, .is_once = true};
  CLEANUP(http_response_clear) struct http_response response = {0};
  (void)registry_client_send(upload->client, &request, &response, NULL);
  upload_free(upload);
}

static int
put_once(struct registry_client *client, const void *data, size_t len,
         struct oci_descriptor *ret_blob, struct error **err)
{
  struct blob_upload *upload;
  if (blob_upload_begin(client, &upload, err) < 0)
    return -1;
  if (blob_upload_write(upload, data, len, err) < 0) {
    blob_upload_abort(upload);
    return -1;
  }
  return blob_upload_finish(upload, ret_blob, err);
}

int
blob_upload_put(struct registry_client *client, const void *data, size_t len,
                struct oci_descriptor *ret_blob, struct error **err)
{
  CLEANUP(oci_descriptor_clear)
  struct oci_descriptor blob = {.digest = oci_digest_of(data, len), .size = len};
  bool exists = false;
  if (blob_upload_exists(client, &blob, &exists, err) < 0)
    return -1;
  if (exists) {
    *ret_blob = blob;
    blob = (struct oci_descriptor){0};
    return 0;
  }
  for (unsigned attempt = 1;; attempt++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (put_once(client, data, len, ret_blob, &failure) == 0)
      return 0;
    if (failure->code != ERROR_ABORTED || attempt == ATTEMPTS_MAX)
      return error_set(err, failure->code, "%s", failure->message);
  }
}
