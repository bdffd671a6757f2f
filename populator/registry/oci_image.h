/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the documents of an image with one layer, so that the same layer always makes the same
 * image: no time but the beginning of 1970. */
#ifndef POPULATOR_REGISTRY_OCI_IMAGE_H
#define POPULATOR_REGISTRY_OCI_IMAGE_H

#include "populator/registry/oci_manifest.h"
#include "populator/registry/oci_platform.h"

/* diff_id: the digest of the uncompressed layer. To be freed. */
char *oci_image_config(const struct oci_platform *platform, const char *diff_id);
/* Both descriptors have their media types. To be freed. */
char *oci_image_manifest(const struct oci_descriptor *config, const struct oci_descriptor *layer);
/* The index of an archive that holds one image; name: what it is saved under, checked by
 * oci_image_check_name(), or NULL. To be freed. */
char *oci_image_index(const struct oci_descriptor *manifest, const char *name);
/* INVALID_ARGUMENT unless it is letters, digits and what else references consist of. */
int oci_image_check_name(const char *name, struct error **err);

#endif
