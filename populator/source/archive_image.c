/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/archive_image.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/registry/document.h"

#define INDEX_DEPTH_MAX 3
#define IMAGES_MAX 4096
/* Names in a message about several images. */
#define NAMED_MAX 8

void
archive_image_clear(struct archive_image *image)
{
  oci_manifest_clear(&image->manifest);
  oci_config_clear(&image->config);
  free((void *)image->layers);
  free(image->digest);
  *image = (struct archive_image){0};
}

static int
missing(const char *path, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT, "the archive has no '%s'", path);
}

/* A small file that has to be there. */
static int
read_named(const struct tar_file *file, const char *path, struct buffer *ret_content,
           struct error **err)
{
  const struct tar_file_entry *entry = tar_file_find(file, path);
  if (!entry)
    return missing(path, err);
  return tar_file_read(file, entry, OCI_DOCUMENT_BYTES_MAX, ret_content, err);
}

/* "sha256:12…" lies at "blobs/sha256/12…". */
static char *
blob_path(const char *digest)
{
  size_t kind = strcspn(digest, ":");
  return xasprintf("blobs/%.*s/%s", (int)kind, digest, digest + kind + 1);
}

static int
read_blob(const struct tar_file *file, const struct oci_descriptor *blob,
          struct buffer *ret_content, struct error **err)
{
  CLEANUP(freep) char *path = blob_path(blob->digest);
  CLEANUP(buffer_clear) struct buffer content = {0};
  if (read_named(file, path, &content, err) < 0 ||
      oci_descriptor_check(blob, content.data, content.len, err) < 0)
    return -1;
  *ret_content = content;
  content = (struct buffer){0};
  return 0;
}

/* Whether the name that somebody asks for is the one something was saved under. People give the tag
 * alone, or with what stands before it. */
static bool
is_named(const char *saved, const char *wanted)
{
  const char *colon = saved ? strrchr(saved, ':') : NULL;
  return saved && (strcmp(saved, wanted) == 0 || (colon && strcmp(colon + 1, wanted) == 0));
}

static void
add_name(struct buffer *names, size_t index, const char *name)
{
  if (index >= NAMED_MAX)
    return;
  (void)buffer_append_text(names, index > 0 ? ", '" : "'");
  (void)buffer_append_text(names, name);
  (void)buffer_append_text(names, "'");
}

/* ---- the OCI's layout --------------------------------------------------------------------------
 */

/* Only what was saved under the name; all, without one. */
static int
keep_named(struct oci_index *index, const char *name, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer names = {0};
  (void)buffer_append_text(&names, "");
  size_t count = 0;
  for (size_t i = 0; i < index->count; i++) {
    struct oci_choice *choice = &index->choices[i];
    if (choice->name)
      add_name(&names, i, choice->name);
    if (!name || is_named(choice->name, name)) {
      struct oci_choice kept = *choice; /* they change places, so that all are freed later */
      *choice = index->choices[count];
      index->choices[count++] = kept;
    }
  }
  if (count == 0)
    return error_set(err, ERROR_NOT_FOUND, "the archive has no image '%s'; it has %s", name,
                     names.data);
  for (size_t i = 1; i < count; i++) {
    if (!index->choices[i].architecture && !name)
      return error_set(err, ERROR_INVALID_ARGUMENT, "the archive has several images, say which: %s",
                       names.data);
  }
  while (index->count > count) {
    struct oci_index rest = {.choices = xcalloc(1, sizeof(*rest.choices)), .count = 1};
    rest.choices[0] = index->choices[--index->count];
    oci_index_clear(&rest);
  }
  return 0;
}

/* The one that is meant: there is only one, or one for the platform. */
static int
choose(const struct oci_platform *platform, const struct oci_index *index,
       struct oci_descriptor *ret_manifest, bool *is_chosen, struct error **err)
{
  const struct oci_choice *choice = &index->choices[0];
  if (index->count > 1) {
    if (oci_platform_choose(platform, index, &choice, err) < 0)
      return -1;
    *is_chosen = true;
  }
  oci_descriptor_copy(ret_manifest, &choice->manifest);
  return 0;
}

/* Through further indexes to a manifest. */
static int
follow_indexes(const struct tar_file *file, const struct oci_platform *platform,
               struct oci_descriptor *descriptor, struct archive_image *image, struct error **err)
{
  for (unsigned depth = 0; depth <= INDEX_DEPTH_MAX; depth++) {
    CLEANUP(buffer_clear) struct buffer content = {0};
    CLEANUP(oci_index_clear) struct oci_index index = {0};
    bool is_index;
    if (read_blob(file, descriptor, &content, err) < 0 ||
        oci_document_is_index(content.data, content.len, descriptor->media_type, &is_index, err) <
            0)
      return -1;
    if (!is_index) {
      image->digest = xstrdup(descriptor->digest);
      return oci_manifest_parse(content.data, content.len, &image->manifest, err);
    }
    const struct oci_choice *choice;
    if (oci_index_parse(content.data, content.len, &index, err) < 0 ||
        oci_platform_choose(platform, &index, &choice, err) < 0)
      return -1;
    image->is_chosen = true;
    oci_descriptor_clear(descriptor);
    oci_descriptor_copy(descriptor, &choice->manifest);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "the indexes of the image lead on and on");
}

static int
find_layers(const struct tar_file *file, struct archive_image *image, struct error **err)
{
  image->layers = xcalloc(image->manifest.layer_count, sizeof(image->layers[0]));
  for (size_t i = 0; i < image->manifest.layer_count; i++) {
    CLEANUP(freep) char *path = blob_path(image->manifest.layers[i].blob.digest);
    image->layers[i] = tar_file_find(file, path);
    if (!image->layers[i])
      return missing(path, err);
  }
  return 0;
}

static int
find_oci(const struct tar_file *file, const char *name, const struct oci_platform *platform,
         struct archive_image *image, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(oci_index_clear) struct oci_index index = {0};
  CLEANUP(oci_descriptor_clear) struct oci_descriptor descriptor = {0};
  CLEANUP(buffer_clear) struct buffer config = {0};
  if (read_named(file, "index.json", &content, err) < 0 ||
      oci_index_parse(content.data, content.len, &index, err) < 0 ||
      keep_named(&index, name, err) < 0 ||
      choose(platform, &index, &descriptor, &image->is_chosen, err) < 0 ||
      follow_indexes(file, platform, &descriptor, image, err) < 0 ||
      read_blob(file, &image->manifest.config, &config, err) < 0 ||
      oci_config_parse(config.data, config.len, &image->config, err) < 0)
    return -1;
  return find_layers(file, image, err);
}

/* ---- Docker's layout ---------------------------------------------------------------------------
 */

static int
docker_is_named(struct json_object *object, const char *name, struct buffer *names, size_t index,
                bool *ret_is_named, struct error **err)
{
  struct json_object *tags;
  if (document_array(object, "RepoTags", &tags, err) < 0)
    return -1;
  *ret_is_named = !name;
  for (size_t i = 0; i < document_count(tags); i++) {
    const char *tag;
    if (document_string_at(tags, i, &tag, err) < 0)
      return -1;
    add_name(names, index + i, tag);
    *ret_is_named = *ret_is_named || is_named(tag, name);
  }
  return 0;
}

static int
docker_choose(struct json_object *array, const char *name, struct json_object **ret_object,
              struct error **err)
{
  CLEANUP(buffer_clear) struct buffer names = {0};
  (void)buffer_append_text(&names, "");
  struct json_object *chosen = NULL;
  size_t count = document_count(array), found = 0;
  for (size_t i = 0; i < count && i < IMAGES_MAX; i++) {
    struct json_object *object;
    bool is_it;
    if (document_object_at(array, i, &object, err) < 0 ||
        docker_is_named(object, name, &names, i, &is_it, err) < 0)
      return -1;
    if (is_it && found++ == 0)
      chosen = object;
  }
  if (found == 0)
    return error_set(err, ERROR_NOT_FOUND, "the archive has no image '%s'; it has %s",
                     name ? name : "", names.data);
  if (found > 1 && !name)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the archive has several images, say which: %s",
                     names.data);
  *ret_object = chosen;
  return 0;
}

/* The digests are of uncompressed layers, so that is what they must be. */
static int
check_is_plain(const struct tar_file *file, const struct tar_file_entry *entry, struct error **err)
{
  unsigned char magic[4] = {0};
  if (entry->size >= sizeof(magic) &&
      tar_file_read_at(file, entry, magic, sizeof(magic), 0, err) < 0)
    return -1;
  if ((magic[0] == 0x1f && magic[1] == 0x8b) || memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "layer '%s' is compressed, as layers of a Docker archive never are; an OCI "
                     "archive may have such",
                     entry->path);
  return 0;
}

static int
docker_layers(const struct tar_file *file, struct json_object *array, struct archive_image *image,
              struct error **err)
{
  size_t count = document_count(array);
  if (count == 0 || count != image->config.diff_id_count)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "manifest.json: names %zu layers, the configuration %zu", count,
                     image->config.diff_id_count);
  image->layers = xcalloc(count, sizeof(image->layers[0]));
  image->manifest.layers = xcalloc(count, sizeof(image->manifest.layers[0]));
  for (size_t i = 0; i < count; i++) {
    const char *path;
    if (document_string_at(array, i, &path, err) < 0)
      return -1;
    image->layers[i] = tar_file_find(file, path);
    if (!image->layers[i])
      return missing(path, err);
    if (check_is_plain(file, image->layers[i], err) < 0)
      return -1;
    struct oci_descriptor *blob = &image->manifest.layers[image->manifest.layer_count++].blob;
    blob->digest = xstrdup(image->config.diff_ids[i]);
    blob->size = image->layers[i]->size;
  }
  return 0;
}

static int
find_docker(const struct tar_file *file, const char *name, struct archive_image *image,
            struct error **err)
{
  CLEANUP(buffer_clear) struct buffer content = {0};
  CLEANUP(buffer_clear) struct buffer config = {0};
  CLEANUP(document_freep) struct json_object *document = NULL;
  struct json_object *chosen, *layers;
  const char *config_path;
  if (read_named(file, "manifest.json", &content, err) < 0 ||
      document_parse_array(content.data, content.len, &document, err) < 0 ||
      docker_choose(document, name, &chosen, err) < 0 ||
      document_string(chosen, "Config", &config_path, err) < 0 ||
      document_array(chosen, "Layers", &layers, err) < 0)
    return -1;
  if (!config_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "manifest.json: 'Config' is left out");
  if (read_named(file, config_path, &config, err) < 0 ||
      oci_config_parse(config.data, config.len, &image->config, err) < 0)
    return -1;
  image->digest = oci_digest_of(config.data, config.len);
  return docker_layers(file, layers, image, err);
}

int
archive_image_find(const struct tar_file *file, const char *name,
                   const struct oci_platform *platform, struct archive_image *ret_image,
                   struct error **err)
{
  CLEANUP(archive_image_clear) struct archive_image image = {0};
  bool is_oci = tar_file_find(file, "index.json") != NULL;
  if (!is_oci && !tar_file_find(file, "manifest.json"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the archive holds no container image: neither index.json nor manifest.json");
  int r =
      is_oci ? find_oci(file, name, platform, &image, err) : find_docker(file, name, &image, err);
  if (r < 0)
    return -1;
  *ret_image = image;
  image = (struct archive_image){0};
  return 0;
}
