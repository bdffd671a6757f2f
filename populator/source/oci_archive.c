/* SPDX-License-Identifier: Apache-2.0 */
/* Disks in container images that lie in an archive on disk, as skopeo, buildah and docker save
 * them: oci-archive:PATH[:NAME], docker-archive:PATH[:NAME]. What an archive holds says which of
 * the two it is. */
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "populator/source/archive_image.h"
#include "populator/source/container_disk.h"
#include "populator/source/sources.h"

struct archive_store {
  struct blob_store store;
  struct tar_file *file;
  struct archive_image image;
};

static struct archive_store *
archive_of(struct blob_store *store)
{
  return CONTAINER_OF(store, struct archive_store, store);
}

/* ---- the store ---------------------------------------------------------------------------------
 */

/* The file of a layer; two layers with one digest are the same. */
static const struct tar_file_entry *
entry_of(const struct archive_store *archive, const struct oci_descriptor *blob)
{
  const struct oci_manifest *manifest = &archive->image.manifest;
  for (size_t i = 0; i < manifest->layer_count; i++) {
    if (strcmp(manifest->layers[i].blob.digest, blob->digest) == 0)
      return archive->image.layers[i];
  }
  return NULL;
}

static int
store_stream(struct blob_store *store, const struct oci_descriptor *blob, uint64_t offset,
             struct stream **ret_stream, struct error **err)
{
  struct archive_store *archive = archive_of(store);
  const struct tar_file_entry *entry = entry_of(archive, blob);
  if (!entry)
    return error_set(err, ERROR_INTERNAL, "no layer %s", blob->digest);
  *ret_stream = tar_file_stream(archive->file, entry, BLOB_STREAM_NAME, offset);
  return 0;
}

static bool
store_can_read_at(struct blob_store *store, const struct oci_descriptor *blob)
{
  const struct tar_file_entry *entry = entry_of(archive_of(store), blob);
  return entry && entry->size == blob->size;
}

static int
store_read_at(struct blob_store *store, const struct oci_descriptor *blob, void *buf, size_t len,
              uint64_t offset, struct error **err)
{
  struct archive_store *archive = archive_of(store);
  const struct tar_file_entry *entry = entry_of(archive, blob);
  if (!entry)
    return error_set(err, ERROR_INTERNAL, "no layer %s", blob->digest);
  return tar_file_read_at(archive->file, entry, buf, len, offset, err);
}

static void
store_close(struct blob_store *store)
{
  struct archive_store *archive = archive_of(store);
  archive_image_clear(&archive->image);
  tar_file_close(archive->file);
  free(archive);
}

static const struct blob_store_ops archive_store_ops = {
    .stream = store_stream,
    .can_read_at = store_can_read_at,
    .read_at = store_read_at,
    .close = store_close,
};

/* ---- the source --------------------------------------------------------------------------------
 */

/* PATH[:NAME]: both may have colons, so the path is the shortest part that is a file; or all of it,
 * for the message that it cannot be opened. The name is NULL when there is none. */
static void
split(const char *text, char **ret_path, const char **ret_name)
{
  *ret_path = xstrdup(text);
  *ret_name = NULL;
  for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
    struct stat status;
    CLEANUP(freep) char *path = xstrndup(text, (size_t)(colon - text));
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
      continue;
    free(*ret_path);
    *ret_path = TAKE(path);
    *ret_name = colon[1] ? colon + 1 : NULL;
    return;
  }
}

/* The store keeps the layers' files, the source what the manifest says. */
static int
fill_image(struct archive_store *archive, const struct oci_platform *wanted,
           struct container_disk_image *image, struct error **err)
{
  struct archive_image *found = &archive->image;
  if (wanted && !oci_platform_fits_config(wanted, &found->config))
    return error_set(err, ERROR_NOT_FOUND, "the image is not there for %s; it is for %s only",
                     wanted->architecture, found->config.architecture);
  size_t count = found->manifest.layer_count;
  image->manifest.layers = xcalloc(count, sizeof(image->manifest.layers[0]));
  image->manifest.layer_count = count;
  for (size_t i = 0; i < count; i++) {
    image->manifest.layers[i].compression = found->manifest.layers[i].compression;
    oci_descriptor_copy(&image->manifest.layers[i].blob, &found->manifest.layers[i].blob);
  }
  image->platform = oci_platform_of_config(&found->config);
  image->env = found->config.env;
  found->config.env = (struct string_map){0};
  image->digest = xstrdup(found->digest);
  return 0;
}

static int
open_image(const struct source_ops *ops, const char *url, const struct source_options *options,
           struct source **ret_source, struct error **err)
{
  CLEANUP(freep) char *path = NULL;
  const char *name;
  struct archive_store *archive = xcalloc(1, sizeof(*archive));
  archive->store.ops = &archive_store_ops;
  CLEANUP(container_disk_image_clear)
  struct container_disk_image image = {.store = &archive->store};
  CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
  split(strchr(url, ':') + 1, &path, &name);
  if (oci_platform_parse(options->platform, &platform, err) < 0 ||
      tar_file_open(path, &archive->file, err) < 0 ||
      archive_image_find(archive->file, name, &platform, &archive->image, err) < 0)
    return error_wrap(err, "%s", url);
  bool must_fit = options->platform && !archive->image.is_chosen;
  if (fill_image(archive, must_fit ? &platform : NULL, &image, err) < 0)
    return error_wrap(err, "%s", url);
  return container_disk_open(ops, url, options, &image, ret_source, err);
}

static int
oci_archive_open(const char *url, const struct source_options *options, struct source **ret_source,
                 struct error **err)
{
  return open_image(&source_oci_archive_ops, url, options, ret_source, err);
}

static int
docker_archive_open(const char *url, const struct source_options *options,
                    struct source **ret_source, struct error **err)
{
  return open_image(&source_docker_archive_ops, url, options, ret_source, err);
}

const struct source_ops source_oci_archive_ops = {
    .scheme = "oci-archive:",
    .open = oci_archive_open,
    CONTAINER_DISK_OPS,
};

const struct source_ops source_docker_archive_ops = {
    .scheme = "docker-archive:",
    .open = docker_archive_open,
    CONTAINER_DISK_OPS,
};
