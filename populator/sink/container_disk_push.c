/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/container_disk_push.h"

#include <stdatomic.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/registry/blob_upload.h"
#include "populator/registry/oci_image.h"
#include "populator/registry/oci_platform.h"
#include "populator/registry/registry_client.h"
#include "populator/sink/disk_layer.h"
#include "populator/sink/layer_writer.h"

#define COPY_BYTES ((size_t)1 << 20)
/* Uploads that may be given up by the registry. */
#define ATTEMPTS_MAX 3

/* A layer that is only looked at. */
struct measure {
  struct checksum checksum;
  uint64_t size;
};

struct container_disk_push {
  struct push_options options;
  struct reference reference;
  struct oci_platform platform;
  struct registry_client *client;
  atomic_bool is_cancelled;
  uint64_t size;              /* of the disk */
  struct blob_upload *upload; /* from begin on */
  struct layer_writer *layer;
  struct measure measure;
  struct oci_descriptor known; /* a layer that the registry has; no digest: none */
  char diff_id[CHECKSUM_TEXT_MAX];
};

static const char *
disk_name(const struct push_options *options)
{
  return options->name ? options->name : DISK_LAYER_DEFAULT_NAME;
}

/* ---- life --------------------------------------------------------------------------------------
 */

void
container_disk_push_cancel(struct container_disk_push *push)
{
  atomic_store(&push->is_cancelled, true);
  registry_auth_cancel(registry_client_auth(push->client));
}

/* A client that was cancelled sends no more, not even that an upload is not wanted. */
static void
abort_upload(struct container_disk_push *push)
{
  CLEANUP(registry_client_closep) struct registry_client *client = NULL;
  if (push->upload && atomic_load(&push->is_cancelled) &&
      registry_client_open(&push->reference, &push->options.registry, "pull,push", &client, NULL) ==
          0)
    blob_upload_pass_to(push->upload, client);
  blob_upload_abort(TAKE(push->upload));
}

void
container_disk_push_close(struct container_disk_push *push)
{
  if (!push)
    return;
  abort_upload(push);
  layer_writer_free(push->layer);
  oci_descriptor_clear(&push->known);
  registry_client_close(push->client);
  oci_platform_clear(&push->platform);
  reference_clear(&push->reference);
  free(push);
}

int
container_disk_push_open(const char *url, const struct push_options *options,
                         struct container_disk_push **ret_push, struct error **err)
{
  CLEANUP(container_disk_push_closep) struct container_disk_push *push = xcalloc(1, sizeof(*push));
  push->options = *options;
  if (reference_parse(url, &push->reference, err) < 0)
    return -1;
  if (push->reference.digest)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s': an image is pushed under a tag; its digest is what comes out", url);
  if (disk_layer_check_name(disk_name(options), err) < 0 ||
      oci_platform_parse(options->platform, &push->platform, err) < 0)
    return -1;
  if (registry_client_open(&push->reference, &options->registry, "pull,push", &push->client, err) <
      0)
    return error_wrap(err, "%s", url);
  *ret_push = TAKE(push);
  return 0;
}

/* ---- the layer ---------------------------------------------------------------------------------
 */

static int
take_for_upload(void *context, const void *data, size_t len, struct error **err)
{
  struct container_disk_push *push = context;
  return blob_upload_write(push->upload, data, len, err);
}

static int
take_for_measure(void *context, const void *data, size_t len, struct error **err)
{
  struct container_disk_push *push = context;
  if (atomic_load(&push->is_cancelled))
    return error_set(err, ERROR_CANCELLED, "stopped");
  checksum_update(&push->measure.checksum, data, len);
  push->measure.size += len;
  return 0;
}

static int
begin_layer(struct container_disk_push *push, gzip_writer_take *take, struct error **err)
{
  layer_writer_free(push->layer);
  push->layer = layer_writer_new(push->options.is_compressed, take, push);
  return layer_writer_begin(push->layer, disk_name(&push->options), push->size, err);
}

static int
set_size(struct container_disk_push *push, uint64_t size, struct error **err)
{
  if (size > INT64_MAX - COPY_BYTES)
    return error_set(err, ERROR_INVALID_ARGUMENT, "no disk is that large");
  push->size = size;
  return 0;
}

int
container_disk_push_begin(struct container_disk_push *push, uint64_t size, struct error **err)
{
  if (set_size(push, size, err) < 0 || blob_upload_begin(push->client, &push->upload, err) < 0)
    return -1;
  return begin_layer(push, take_for_upload, err);
}

int
container_disk_push_begin_anew(struct container_disk_push *push, struct error **err)
{
  blob_upload_abort(TAKE(push->upload));
  return container_disk_push_begin(push, push->size, err);
}

int
container_disk_push_measure(struct container_disk_push *push, uint64_t size, struct error **err)
{
  push->measure = (struct measure){0};
  checksum_init(&push->measure.checksum, CHECKSUM_SHA256);
  if (set_size(push, size, err) < 0)
    return -1;
  return begin_layer(push, take_for_measure, err);
}

/* Whether the repository has the layer, or gets it from another one. */
static int
find_layer(struct container_disk_push *push, const struct oci_descriptor *layer, bool *ret_is_there,
           struct error **err)
{
  const char *from = push->options.registry.mount_from;
  if (blob_upload_exists(push->client, layer, ret_is_there, err) < 0)
    return -1;
  if (*ret_is_there || !from)
    return 0;
  return blob_upload_mount(push->client, layer, from, ret_is_there, err);
}

int
container_disk_push_measured(struct container_disk_push *push, bool *ret_is_there,
                             struct error **err)
{
  CLEANUP(oci_descriptor_clear) struct oci_descriptor layer = {0};
  char digest[CHECKSUM_TEXT_MAX];
  bool is_there;
  if (layer_writer_finish(push->layer, push->diff_id, err) < 0)
    return -1;
  checksum_text(&push->measure.checksum, digest);
  layer = (struct oci_descriptor){.digest = xstrdup(digest), .size = push->measure.size};
  if (find_layer(push, &layer, &is_there, err) < 0)
    return -1;
  *ret_is_there = is_there;
  if (!is_there)
    return container_disk_push_begin(push, push->size, err);
  push->known = layer;
  layer = (struct oci_descriptor){0};
  return 0;
}

int
container_disk_push_write(struct container_disk_push *push, const void *data, size_t len,
                          struct error **err)
{
  return layer_writer_write(push->layer, data, len, err);
}

/* ---- the image ---------------------------------------------------------------------------------
 */

static int
put_manifest(struct container_disk_push *push, const char *manifest, char **ret_digest,
             struct error **err)
{
  static const char *const headers[] = {"Content-Type: " OCI_TYPE_MANIFEST, NULL};
  CLEANUP(freep) char *rest = xasprintf("manifests/%s", reference_version(&push->reference));
  CLEANUP(freep) char *url = registry_client_url(push->client, rest);
  CLEANUP(freep) char *digest = oci_digest_of(manifest, strlen(manifest));
  const struct http_request request = {.method = "PUT",
                                       .url = url,
                                       .headers = headers,
                                       .body = manifest,
                                       .body_len = strlen(manifest)};
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (registry_client_send(push->client, &request, &response, err) < 0)
    return -1;
  if (response.status != 201 && response.status != 200)
    return http_status_error(&request, &response, err);
  if (response.docker_digest && strcmp(response.docker_digest, digest) != 0)
    return error_set(err, ERROR_DATA_LOSS, "the registry took the manifest for %s, while it is %s",
                     response.docker_digest, digest);
  *ret_digest = TAKE(digest);
  return 0;
}

/* Configuration and manifest around a layer that the registry has. */
static int
put_image(struct container_disk_push *push, struct oci_descriptor *layer, const char *diff_id,
          char **ret_digest, struct error **err)
{
  CLEANUP(oci_descriptor_clear) struct oci_descriptor config = {0};
  CLEANUP(freep) char *config_text = oci_image_config(&push->platform, diff_id);
  if (blob_upload_put(push->client, config_text, strlen(config_text), &config, err) < 0)
    return -1;
  config.media_type = xstrdup(OCI_TYPE_CONFIG);
  layer->media_type = xstrdup(push->options.is_compressed ? OCI_TYPE_LAYER_GZIP : OCI_TYPE_LAYER);
  CLEANUP(freep) char *manifest = oci_image_manifest(&config, layer);
  return put_manifest(push, manifest, ret_digest, err);
}

int
container_disk_push_commit(struct container_disk_push *push, char **ret_digest, struct error **err)
{
  if (!push->known.digest && (layer_writer_finish(push->layer, push->diff_id, err) < 0 ||
                              blob_upload_finish(TAKE(push->upload), &push->known, err) < 0))
    return -1;
  return put_image(push, &push->known, push->diff_id, ret_digest, err);
}

/* ---- a disk that can be read more than once ----------------------------------------------------
 */

static int
write_all(struct container_disk_push *push, const struct push_content *content, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(freep) char *piece = xcalloc(COPY_BYTES, 1);
  if (content->open(content->context, &stream, err) < 0)
    return -1;
  for (;;) {
    ssize_t got = stream_read_most(stream, piece, COPY_BYTES, err);
    if (got <= 0)
      return (int)got;
    if (container_disk_push_write(push, piece, (size_t)got, err) < 0)
      return -1;
  }
}

/* Up to the commit. */
static int
fill(struct container_disk_push *push, const struct push_content *content, bool is_probed,
     struct error **err)
{
  bool is_there;
  if (!is_probed)
    return container_disk_push_begin(push, content->size, err) < 0 ? -1
                                                                   : write_all(push, content, err);
  if (container_disk_push_measure(push, content->size, err) < 0 ||
      write_all(push, content, err) < 0 || container_disk_push_measured(push, &is_there, err) < 0)
    return -1;
  return is_there ? 0 : write_all(push, content, err);
}

static int
refill(struct container_disk_push *push, const struct push_content *content, struct error **err)
{
  return container_disk_push_begin_anew(push, err) < 0 ? -1 : write_all(push, content, err);
}

int
container_disk_push(const char *url, const struct push_options *options,
                    const struct push_content *content, bool is_probed, char **ret_digest,
                    struct error **err)
{
  CLEANUP(container_disk_push_closep) struct container_disk_push *push = NULL;
  if (container_disk_push_open(url, options, &push, err) < 0)
    return -1;
  for (unsigned attempt = 1;; attempt++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    int r =
        attempt == 1 ? fill(push, content, is_probed, &failure) : refill(push, content, &failure);
    if (r == 0 && container_disk_push_commit(push, ret_digest, &failure) == 0)
      return 0;
    if (failure->code != ERROR_ABORTED || attempt == ATTEMPTS_MAX)
      return error_set(err, failure->code, "%s: %s", url, failure->message);
  }
}
