/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that describe a container image, by the OCI's and by Docker's (schema 2) names: the
 * manifest (a configuration and layers), the index of manifests by platform, and the configuration.
 *
 * They come from anywhere and are checked in full: digests are sha256 or sha512 and well-formed,
 * types are known, lists have a bound. Pure: bytes in, values out. */
#ifndef POPULATOR_REGISTRY_OCI_MANIFEST_H
#define POPULATOR_REGISTRY_OCI_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/string_map.h"

/* What registries take; a larger one is refused unread. */
#define OCI_DOCUMENT_BYTES_MAX ((size_t)4 << 20)

#define OCI_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_TYPE_INDEX "application/vnd.oci.image.index.v1+json"
#define OCI_TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define OCI_TYPE_LAYER "application/vnd.oci.image.layer.v1.tar"
#define OCI_TYPE_LAYER_GZIP OCI_TYPE_LAYER "+gzip"
#define OCI_TYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define OCI_TYPE_DOCKER_INDEX "application/vnd.docker.distribution.manifest.list.v2+json"

/* Names a blob or a manifest by what it holds. */
struct oci_descriptor {
  char *media_type; /* NULL when it is not said */
  char *digest;     /* "sha256:…" or "sha512:…" */
  uint64_t size;
};

enum oci_compression {
  OCI_COMPRESSION_NONE,
  OCI_COMPRESSION_GZIP,
  OCI_COMPRESSION_ZSTD,
  OCI_COMPRESSION_XZ, /* of which no media type tells, but the bytes may */
};

struct oci_layer {
  struct oci_descriptor blob;
  enum oci_compression compression; /* as its media type says */
};

struct oci_manifest {
  struct oci_descriptor config;
  struct oci_layer *layers; /* the lowest first */
  size_t layer_count;
};

/* One manifest of several. */
struct oci_choice {
  struct oci_descriptor manifest;
  char *os; /* NULL where not given, as below */
  char *architecture;
  char *variant;
  char *name; /* of an image in a layout: its tag, or a whole reference */
};

struct oci_index {
  struct oci_choice *choices;
  size_t count;
};

struct oci_config {
  char *os; /* NULL where not given, as below */
  char *architecture;
  char *variant;
  struct string_map env;
  char **diff_ids; /* digests of the uncompressed layers, the lowest first */
  size_t diff_id_count;
};

/* Whether the bytes are an index; else they are a manifest, or nothing. media_type is what the
 * registry said, or NULL; what the document itself says counts more, and both must not contradict
 * each other. */
int oci_document_is_index(const void *data, size_t len, const char *media_type, bool *ret_is_index,
                          struct error **err);

int oci_manifest_parse(const void *data, size_t len, struct oci_manifest *ret_manifest,
                       struct error **err);
void oci_manifest_clear(struct oci_manifest *manifest);

int oci_index_parse(const void *data, size_t len, struct oci_index *ret_index, struct error **err);
void oci_index_clear(struct oci_index *index);

int oci_config_parse(const void *data, size_t len, struct oci_config *ret_config,
                     struct error **err);
void oci_config_clear(struct oci_config *config);

void oci_descriptor_copy(struct oci_descriptor *ret_copy, const struct oci_descriptor *descriptor);
void oci_descriptor_clear(struct oci_descriptor *descriptor);
/* DATA_LOSS unless these are the bytes that the digest and the size name. */
int oci_descriptor_check(const struct oci_descriptor *descriptor, const void *data, size_t len,
                         struct error **err);
/* Only the digest. */
int oci_digest_check(const char *digest, const void *data, size_t len, struct error **err);
/* "sha256:…" of the bytes. */
char *oci_digest_of(const void *data, size_t len);

#endif
