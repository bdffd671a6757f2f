/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/oci_manifest.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/registry/document.h"
#include "populator/transfer/checksum.h"

/* Far above what anyone has: Docker allows 127 layers. */
#define LAYERS_MAX 512
#define CHOICES_MAX 4096
#define ENV_MAX 4096
#define REF_NAME "org.opencontainers.image.ref.name"

static const struct {
  const char *media_type;
  enum oci_compression compression;
} layer_types[] = {
    {OCI_TYPE_LAYER, OCI_COMPRESSION_NONE},
    {OCI_TYPE_LAYER_GZIP, OCI_COMPRESSION_GZIP},
    {OCI_TYPE_LAYER "+zstd", OCI_COMPRESSION_ZSTD},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar", OCI_COMPRESSION_NONE},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", OCI_COMPRESSION_GZIP},
    {"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd", OCI_COMPRESSION_ZSTD},
    {"application/vnd.docker.image.rootfs.diff.tar", OCI_COMPRESSION_NONE},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip", OCI_COMPRESSION_GZIP},
    {"application/vnd.docker.image.rootfs.diff.tar.zstd", OCI_COMPRESSION_ZSTD},
    {"application/vnd.docker.image.rootfs.foreign.diff.tar", OCI_COMPRESSION_NONE},
    {"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", OCI_COMPRESSION_GZIP},
};

static bool
same(const char *a, const char *b)
{
  return a && b && strcmp(a, b) == 0;
}

static bool
is_manifest_type(const char *media_type)
{
  return same(media_type, OCI_TYPE_MANIFEST) || same(media_type, OCI_TYPE_DOCKER_MANIFEST);
}

static bool
is_index_type(const char *media_type)
{
  return same(media_type, OCI_TYPE_INDEX) || same(media_type, OCI_TYPE_DOCKER_INDEX);
}

/* ---- descriptors -------------------------------------------------------------------------------
 */

void
oci_descriptor_clear(struct oci_descriptor *descriptor)
{
  free(descriptor->media_type);
  free(descriptor->digest);
  *descriptor = (struct oci_descriptor){0};
}

void
oci_descriptor_copy(struct oci_descriptor *ret_copy, const struct oci_descriptor *descriptor)
{
  *ret_copy = (struct oci_descriptor){
      .media_type = xstrdup(descriptor->media_type),
      .digest = xstrdup(descriptor->digest),
      .size = descriptor->size,
  };
}

static int
parse_descriptor(struct json_object *object, struct oci_descriptor *descriptor, struct error **err)
{
  const char *media_type, *digest;
  enum checksum_kind kind;
  if (document_string(object, "mediaType", &media_type, err) < 0 ||
      document_string(object, "digest", &digest, err) < 0 ||
      document_size(object, "size", &descriptor->size, err) < 0)
    return -1;
  if (!digest)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'digest' is left out");
  if (checksum_parse(digest, &kind, err) < 0)
    return -1;
  descriptor->media_type = xstrdup(media_type);
  descriptor->digest = xstrdup(digest);
  return 0;
}

int
oci_digest_check(const char *digest, const void *data, size_t len, struct error **err)
{
  enum checksum_kind kind;
  if (checksum_parse(digest, &kind, err) < 0)
    return -1;
  struct checksum checksum;
  char actual[CHECKSUM_TEXT_MAX];
  checksum_init(&checksum, kind);
  checksum_update(&checksum, data, len);
  checksum_text(&checksum, actual);
  if (strcmp(actual, digest) != 0)
    return error_set(err, ERROR_DATA_LOSS, "the data has the digest %s, not %s as it should",
                     actual, digest);
  return 0;
}

int
oci_descriptor_check(const struct oci_descriptor *descriptor, const void *data, size_t len,
                     struct error **err)
{
  if (len != descriptor->size)
    return error_set(err, ERROR_DATA_LOSS, "%s has %zu bytes, not %" PRIu64 " as it should",
                     descriptor->digest, len, descriptor->size);
  return oci_digest_check(descriptor->digest, data, len, err);
}

char *
oci_digest_of(const void *data, size_t len)
{
  struct checksum checksum;
  char text[CHECKSUM_TEXT_MAX];
  checksum_init(&checksum, CHECKSUM_SHA256);
  checksum_update(&checksum, data, len);
  checksum_text(&checksum, text);
  return xstrdup(text);
}

/* ---- which document ----------------------------------------------------------------------------
 */

static int
check_schema(struct json_object *document, struct error **err)
{
  uint64_t version;
  if (document_size(document, "schemaVersion", &version, err) < 0)
    return -1;
  if (version == 1)
    return error_set(
        err, ERROR_UNIMPLEMENTED,
        "the image has a manifest of Docker's schema 1, which is too old: push it anew");
  if (version != 2)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'schemaVersion' is %" PRIu64 ": unknown kind of manifest", version);
  return 0;
}

int
oci_document_is_index(const void *data, size_t len, const char *media_type, bool *ret_is_index,
                      struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  const char *own_type;
  struct json_object *manifests, *layers;
  if (document_parse(data, len, &document, err) < 0 || check_schema(document, err) < 0 ||
      document_string(document, "mediaType", &own_type, err) < 0 ||
      document_array(document, "manifests", &manifests, err) < 0 ||
      document_array(document, "layers", &layers, err) < 0)
    return error_wrap(err, "manifest");
  const char *type = own_type ? own_type : media_type;
  bool is_index = manifests && !layers;
  if ((manifests && layers) || (is_index_type(type) && !is_index) ||
      (is_manifest_type(type) && is_index))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "manifest: what it says it is ('%s') and what it holds contradict each other",
                     type ? type : "");
  *ret_is_index = is_index;
  return 0;
}

/* ---- manifest ----------------------------------------------------------------------------------
 */

void
oci_manifest_clear(struct oci_manifest *manifest)
{
  oci_descriptor_clear(&manifest->config);
  for (size_t i = 0; i < manifest->layer_count; i++)
    oci_descriptor_clear(&manifest->layers[i].blob);
  free(manifest->layers);
  *manifest = (struct oci_manifest){0};
}

static int
parse_layer(struct json_object *object, struct oci_layer *layer, struct error **err)
{
  if (parse_descriptor(object, &layer->blob, err) < 0)
    return -1;
  for (size_t i = 0; i < sizeof(layer_types) / sizeof(layer_types[0]); i++) {
    if (!same(layer->blob.media_type, layer_types[i].media_type))
      continue;
    layer->compression = layer_types[i].compression;
    return 0;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "its type '%.128s' is not that of a layer",
                   layer->blob.media_type ? layer->blob.media_type : "");
}

static int
parse_layers(struct json_object *array, struct oci_manifest *manifest, struct error **err)
{
  size_t count = document_count(array);
  if (count == 0 || count > LAYERS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'layers' has %zu entries, wants 1 to %d", count,
                     LAYERS_MAX);
  manifest->layers = xcalloc(count, sizeof(manifest->layers[0]));
  for (size_t i = 0; i < count; i++) {
    struct json_object *object;
    manifest->layer_count = i + 1;
    if (document_object_at(array, i, &object, err) < 0 ||
        parse_layer(object, &manifest->layers[i], err) < 0)
      return error_wrap(err, "layer %zu", i);
  }
  return 0;
}

static int
parse_manifest(struct json_object *document, struct oci_manifest *manifest, struct error **err)
{
  struct json_object *config, *layers;
  if (check_schema(document, err) < 0 || document_object(document, "config", &config, err) < 0 ||
      document_array(document, "layers", &layers, err) < 0)
    return -1;
  if (!config)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'config' is left out");
  if (parse_descriptor(config, &manifest->config, err) < 0)
    return error_wrap(err, "config");
  return parse_layers(layers, manifest, err);
}

int
oci_manifest_parse(const void *data, size_t len, struct oci_manifest *ret_manifest,
                   struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(oci_manifest_clear) struct oci_manifest manifest = {0};
  if (document_parse(data, len, &document, err) < 0 || parse_manifest(document, &manifest, err) < 0)
    return error_wrap(err, "manifest");
  *ret_manifest = manifest;
  manifest = (struct oci_manifest){0};
  return 0;
}

/* ---- index -------------------------------------------------------------------------------------
 */

void
oci_index_clear(struct oci_index *index)
{
  for (size_t i = 0; i < index->count; i++) {
    struct oci_choice *choice = &index->choices[i];
    oci_descriptor_clear(&choice->manifest);
    free(choice->os);
    free(choice->architecture);
    free(choice->variant);
    free(choice->name);
  }
  free(index->choices);
  *index = (struct oci_index){0};
}

static int
parse_platform(struct json_object *platform, struct oci_choice *choice, struct error **err)
{
  const char *os, *architecture, *variant;
  if (document_string(platform, "os", &os, err) < 0 ||
      document_string(platform, "architecture", &architecture, err) < 0 ||
      document_string(platform, "variant", &variant, err) < 0)
    return -1;
  choice->os = xstrdup(os);
  choice->architecture = xstrdup(architecture);
  choice->variant = variant && *variant ? xstrdup(variant) : NULL;
  return 0;
}

static int
parse_choice(struct json_object *object, struct oci_choice *choice, struct error **err)
{
  struct json_object *platform, *annotations;
  const char *name = NULL;
  if (parse_descriptor(object, &choice->manifest, err) < 0 ||
      document_object(object, "platform", &platform, err) < 0 ||
      document_object(object, "annotations", &annotations, err) < 0)
    return -1;
  if (annotations && document_string(annotations, REF_NAME, &name, err) < 0)
    return -1;
  choice->name = xstrdup(name);
  return platform ? parse_platform(platform, choice, err) : 0;
}

static int
parse_index(struct json_object *document, struct oci_index *index, struct error **err)
{
  struct json_object *array;
  if (check_schema(document, err) < 0 || document_array(document, "manifests", &array, err) < 0)
    return -1;
  size_t count = document_count(array);
  if (count == 0 || count > CHOICES_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'manifests' has %zu entries, wants 1 to %d",
                     count, CHOICES_MAX);
  index->choices = xcalloc(count, sizeof(index->choices[0]));
  for (size_t i = 0; i < count; i++) {
    struct json_object *object;
    index->count = i + 1;
    if (document_object_at(array, i, &object, err) < 0 ||
        parse_choice(object, &index->choices[i], err) < 0)
      return error_wrap(err, "manifest %zu", i);
  }
  return 0;
}

int
oci_index_parse(const void *data, size_t len, struct oci_index *ret_index, struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(oci_index_clear) struct oci_index index = {0};
  if (document_parse(data, len, &document, err) < 0 || parse_index(document, &index, err) < 0)
    return error_wrap(err, "index");
  *ret_index = index;
  index = (struct oci_index){0};
  return 0;
}

/* ---- configuration -----------------------------------------------------------------------------
 */

void
oci_config_clear(struct oci_config *config)
{
  free(config->os);
  free(config->architecture);
  free(config->variant);
  string_map_clear(&config->env);
  for (size_t i = 0; i < config->diff_id_count; i++)
    free(config->diff_ids[i]);
  free(config->diff_ids);
  *config = (struct oci_config){0};
}

/* "NAME=value"; what has no name is of no use to anyone. */
static int
parse_env(struct json_object *array, struct oci_config *config, struct error **err)
{
  size_t count = document_count(array);
  if (count > ENV_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'Env' has more than %d entries", ENV_MAX);
  for (size_t i = 0; i < count; i++) {
    const char *text;
    if (document_string_at(array, i, &text, err) < 0)
      return error_wrap(err, "Env");
    const char *sign = strchr(text, '=');
    if (!sign || sign == text)
      continue;
    CLEANUP(freep) char *name = xstrndup(text, (size_t)(sign - text));
    string_map_set(&config->env, name, sign + 1);
  }
  return 0;
}

static int
parse_diff_ids(struct json_object *array, struct oci_config *config, struct error **err)
{
  size_t count = document_count(array);
  if (count > LAYERS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'diff_ids' has more than %d entries",
                     LAYERS_MAX);
  config->diff_ids = xcalloc(count + 1, sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    const char *text;
    enum checksum_kind kind;
    if (document_string_at(array, i, &text, err) < 0 || checksum_parse(text, &kind, err) < 0)
      return error_wrap(err, "diff_ids");
    config->diff_ids[config->diff_id_count++] = xstrdup(text);
  }
  return 0;
}

static int
parse_config(struct json_object *document, struct oci_config *config, struct error **err)
{
  const char *os, *architecture, *variant;
  struct json_object *process, *rootfs, *env = NULL, *diff_ids = NULL;
  if (document_string(document, "os", &os, err) < 0 ||
      document_string(document, "architecture", &architecture, err) < 0 ||
      document_string(document, "variant", &variant, err) < 0 ||
      document_object(document, "config", &process, err) < 0 ||
      document_object(document, "rootfs", &rootfs, err) < 0)
    return -1;
  config->os = xstrdup(os);
  config->architecture = xstrdup(architecture);
  config->variant = xstrdup(variant);
  if (process && document_array(process, "Env", &env, err) < 0)
    return -1;
  if (rootfs && document_array(rootfs, "diff_ids", &diff_ids, err) < 0)
    return -1;
  if (parse_env(env, config, err) < 0)
    return -1;
  return parse_diff_ids(diff_ids, config, err);
}

int
oci_config_parse(const void *data, size_t len, struct oci_config *ret_config, struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  CLEANUP(oci_config_clear) struct oci_config config = {0};
  if (document_parse(data, len, &document, err) < 0 || parse_config(document, &config, err) < 0)
    return error_wrap(err, "configuration of the image");
  *ret_config = config;
  config = (struct oci_config){0};
  return 0;
}
