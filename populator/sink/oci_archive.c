/* SPDX-License-Identifier: Apache-2.0 */
/* An export into an archive on disk, oci-archive:PATH[:NAME], as a container disk: an OCI image
 * layout in a tar file, as skopeo and podman load it.
 *
 * The archive goes through the sink of a file, so it appears under its name when it is whole.
 * Nothing is staged: the layer is written as it is made, and its name, the digest, and its length
 * are filled in at the end, in the part of the file that was kept free for them. */
#include <string.h>
#include <sys/stat.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "populator/format/zero.h"
#include "populator/registry/oci_image.h"
#include "populator/sink/archive_name.h"
#include "populator/sink/disk_layer.h"
#include "populator/sink/layer_writer.h"
#include "populator/sink/sinks.h"
#include "populator/sink/tar_head.h"

#define ZEROS_BYTES ((size_t)1 << 20)
/* So many zeros are worth a hole. */
#define HOLE_BYTES ((size_t)64 << 10)
#define LAYOUT "{\"imageLayoutVersion\":\"1.0.0\"}"
/* Stands for a digest that is not known yet: as long as one. */
#define SOME_DIGEST "sha256:0000000000000000000000000000000000000000000000000000000000000000"

struct archive_sink {
  struct sink sink;
  struct sink *file;
  const char *image_name; /* or NULL */
  const char *disk_name;
  struct oci_platform platform;
  bool is_compressed;
  char **ret_digest;
  struct layer_writer *layer; /* from set_size on */
  struct checksum checksum;   /* of the layer as it is in the archive */
  uint64_t layer_size;
  char *zeros;
};

static struct archive_sink *
archive_of(struct sink *sink)
{
  return CONTAINER_OF(sink, struct archive_sink, sink);
}

static void
archive_free(struct archive_sink *archive)
{
  if (!archive)
    return;
  if (archive->file)
    archive->file->ops->close(archive->file);
  layer_writer_free(archive->layer);
  oci_platform_clear(&archive->platform);
  free(archive->sink.label);
  free(archive->zeros);
  free(archive);
}

DEFINE_CLEANUP(struct archive_sink *, archive_free)

/* ---- opening -----------------------------------------------------------------------------------
 */

static int
open_file(struct archive_sink *archive, const char *path, const struct sink_options *options,
          uint64_t estimate, struct error **err)
{
  struct stat found;
  if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s' is no file: an archive's beginning is written last", path);
  return sink_file_ops.open(path, options, estimate, &archive->file, err);
}

static int
archive_open(const char *url, const struct sink_options *options, uint64_t estimate,
             struct sink **ret_sink, struct error **err)
{
  CLEANUP(freep) char *path = NULL;
  CLEANUP(archive_freep) struct archive_sink *archive = xcalloc(1, sizeof(*archive));
  archive->disk_name = options->disk_name ? options->disk_name : DISK_LAYER_DEFAULT_NAME;
  if (archive_name_parse(url, &path, &archive->image_name, err) < 0 ||
      disk_layer_check_name(archive->disk_name, err) < 0 ||
      oci_platform_parse(options->platform, &archive->platform, err) < 0 ||
      open_file(archive, path, options, estimate, err) < 0)
    return -1;
  archive->is_compressed = options->layer_gzip;
  archive->ret_digest = options->ret_digest;
  archive->sink.ops = &sink_oci_archive_ops;
  archive->sink.label = xstrdup(url);
  archive->zeros = xcalloc(ZEROS_BYTES, 1);
  *ret_sink = &TAKE(archive)->sink;
  return 0;
}

/* ---- the layer ---------------------------------------------------------------------------------
 */

/* "sha256:12…" lies at "blobs/sha256/12…". */
static char *
blob_path(const char *digest)
{
  return xasprintf("blobs/sha256/%s", strchr(digest, ':') + 1);
}

/* Everything in front of the layer; as long, whatever its digest and its size are. */
static void
add_front(const char *digest, uint64_t size, struct buffer *front)
{
  CLEANUP(freep) char *path = blob_path(digest);
  const struct tar_head layout = {.name = "oci-layout", .mode = 0644, .size = strlen(LAYOUT)};
  const struct tar_head blobs = {.name = "blobs/", .mode = 0755};
  const struct tar_head sha256 = {.name = "blobs/sha256/", .mode = 0755};
  const struct tar_head layer = {.name = path, .mode = 0644, .size = size, .has_pax_size = true};
  tar_head_add(&layout, front);
  (void)buffer_append_text(front, LAYOUT);
  tar_head_pad(layout.size, front);
  tar_head_add(&blobs, front);
  tar_head_add(&sha256, front);
  tar_head_add(&layer, front);
}

/* A piece of the layer, as it lies in the archive. */
static int
take_layer(void *context, const void *data, size_t len, struct error **err)
{
  struct archive_sink *archive = context;
  struct sink *file = archive->file;
  checksum_update(&archive->checksum, data, len);
  archive->layer_size += len;
  if (len >= HOLE_BYTES && zero_is_all(data, len))
    return file->ops->append_zeros(file, len, err);
  return file->ops->append(file, data, len, err);
}

static int
archive_set_size(struct sink *sink, uint64_t size, struct error **err)
{
  struct archive_sink *archive = archive_of(sink);
  CLEANUP(buffer_clear) struct buffer front = {0};
  add_front(SOME_DIGEST, 0, &front);
  if (size > INT64_MAX - ZEROS_BYTES)
    return error_set(err, ERROR_INVALID_ARGUMENT, "no disk is that large");
  if (archive->file->ops->reserve_start(archive->file, front.len, err) < 0)
    return -1;
  checksum_init(&archive->checksum, CHECKSUM_SHA256);
  archive->layer = layer_writer_new(archive->is_compressed, take_layer, archive);
  return layer_writer_begin(archive->layer, archive->disk_name, size, err);
}

static int
archive_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  return layer_writer_write(archive_of(sink)->layer, data, len, err);
}

static int
archive_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  struct archive_sink *archive = archive_of(sink);
  for (uint64_t left = len; left > 0;) {
    size_t piece = left < ZEROS_BYTES ? (size_t)left : ZEROS_BYTES;
    if (layer_writer_write(archive->layer, archive->zeros, piece, err) < 0)
      return -1;
    left -= piece;
  }
  return 0;
}

/* ---- the image ---------------------------------------------------------------------------------
 */

static void
add_document(const char *path, const char *text, struct buffer *archive)
{
  const struct tar_head entry = {.name = path, .mode = 0644, .size = strlen(text)};
  tar_head_add(&entry, archive);
  (void)buffer_append_text(archive, text);
  tar_head_pad(entry.size, archive);
}

/* A document of the image as a blob; to be cleared. */
static struct oci_descriptor
add_blob(const char *text, const char *media_type, struct buffer *archive)
{
  struct oci_descriptor blob = {.media_type = xstrdup(media_type),
                                .digest = oci_digest_of(text, strlen(text)),
                                .size = strlen(text)};
  CLEANUP(freep) char *path = blob_path(blob.digest);
  add_document(path, text, archive);
  return blob;
}

/* Everything behind the layer; returns the digest of the image, to be freed. */
static char *
add_image(const struct archive_sink *archive, const char *layer_digest, const char *diff_id,
          struct buffer *rest)
{
  CLEANUP(oci_descriptor_clear)
  struct oci_descriptor layer = {
      .media_type = xstrdup(archive->is_compressed ? OCI_TYPE_LAYER_GZIP : OCI_TYPE_LAYER),
      .digest = xstrdup(layer_digest),
      .size = archive->layer_size};
  tar_head_pad(archive->layer_size, rest);
  CLEANUP(freep) char *config_text = oci_image_config(&archive->platform, diff_id);
  CLEANUP(oci_descriptor_clear)
  struct oci_descriptor config = add_blob(config_text, OCI_TYPE_CONFIG, rest);
  CLEANUP(freep) char *manifest_text = oci_image_manifest(&config, &layer);
  CLEANUP(oci_descriptor_clear)
  struct oci_descriptor manifest = add_blob(manifest_text, OCI_TYPE_MANIFEST, rest);
  CLEANUP(freep) char *index = oci_image_index(&manifest, archive->image_name);
  add_document("index.json", index, rest);
  tar_head_end(rest);
  return TAKE(manifest.digest);
}

static int
archive_commit(struct sink *sink, struct error **err)
{
  struct archive_sink *archive = archive_of(sink);
  struct sink *file = archive->file;
  CLEANUP(buffer_clear) struct buffer front = {0};
  CLEANUP(buffer_clear) struct buffer rest = {0};
  char diff_id[CHECKSUM_TEXT_MAX];
  char digest[CHECKSUM_TEXT_MAX];
  if (layer_writer_finish(archive->layer, diff_id, err) < 0)
    return -1;
  checksum_text(&archive->checksum, digest);
  add_front(digest, archive->layer_size, &front);
  CLEANUP(freep) char *image = add_image(archive, digest, diff_id, &rest);
  if (file->ops->append(file, rest.data, rest.len, err) < 0 ||
      file->ops->write_start(file, front.data, front.len, err) < 0 ||
      file->ops->commit(file, err) < 0)
    return -1;
  if (archive->ret_digest)
    *archive->ret_digest = TAKE(image);
  return 0;
}

static void
archive_abort(struct sink *sink)
{
  struct sink *file = archive_of(sink)->file;
  file->ops->abort(file);
}

static void
archive_close(struct sink *sink)
{
  archive_free(archive_of(sink));
}

const struct sink_ops sink_oci_archive_ops = {
    .scheme = ARCHIVE_NAME_SCHEME,
    .kind = SINK_CONTAINER_DISK,
    .open = archive_open,
    .set_size = archive_set_size,
    .append = archive_append,
    .append_zeros = archive_append_zeros,
    .commit = archive_commit,
    .abort = archive_abort,
    .close = archive_close,
};
