/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod asks for when it brings a volume of its own along (an ephemeral inline volume): the
 * volumeAttributes of its spec, and what kubelet says of the pod beside them. docs/node.md is their
 * reference, kept in step by a test.
 *
 * Whoever may make a pod may write these, without any right to PersistentVolumes. So an image says
 * itself whose pods may have it. */
#ifndef CSI_VOLUME_INLINE_REQUEST_H
#define CSI_VOLUME_INLINE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/string_map.h"

/* On an image: the namespaces, separated by commas, whose pods may have it; "*" for all. */
#define INLINE_NAMESPACES_KEY "imprint.inline.namespaces"

/* Pointers are the context's unless it says otherwise. */
struct inline_request {
  const char *cluster_id;      /* "": the only one there is */
  const char *snapshot_handle; /* "": by the names below, which are owned */
  char *pool;
  char *name_space; /* "" for none */
  char *image;
  char *snapshot;
  const char *mapper;  /* "": as the node is set up */
  uint64_t size_bytes; /* 0: as large as the source */
  const char *pod_namespace;
  const char *pod_name;
};

/* Whether the volume_context of a NodePublishVolume is that of an inline volume. */
bool inline_request_is_one(const struct string_map *context);
/* INVALID_ARGUMENT that names the attribute, also for one that is not known. */
int inline_request_parse(const struct string_map *context, struct inline_request *ret_request,
                         struct error **err);
void inline_request_clear(struct inline_request *request);

/* Whether pods of this namespace may have the image with this metadata: it is a volume of a claim
 * in the same namespace, or it says so. */
bool inline_request_is_allowed(const char *pod_namespace, const char *image_id,
                               const struct string_map *metadata);

/* The names of all attributes, for the documentation's test; ends with NULL. */
const char *const *inline_attribute_names(void);

#endif
