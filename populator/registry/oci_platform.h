/* SPDX-License-Identifier: Apache-2.0 */
/* Which machines an image is for, and which image of an index is for a machine. */
#ifndef POPULATOR_REGISTRY_OCI_PLATFORM_H
#define POPULATOR_REGISTRY_OCI_PLATFORM_H

#include "populator/registry/oci_manifest.h"

struct oci_platform {
  char *architecture; /* in Go's words: "amd64" */
  char *variant;      /* "v8", or NULL */
};

/* "amd64", "arm64/v8", "linux/arm64/v8"; NULL: this machine's. */
int oci_platform_parse(const char *text, struct oci_platform *ret_platform, struct error **err);
void oci_platform_clear(struct oci_platform *platform);

/* The entry that fits best; the index owns it. NOT_FOUND, with what there is, when none does. One
 * entry alone that says nothing of a platform fits every one. */
int oci_platform_choose(const struct oci_platform *platform, const struct oci_index *index,
                        const struct oci_choice **ret_choice, struct error **err);
/* "linux/arm64/v8", to be freed; NULL when the configuration does not say. */
char *oci_platform_of_config(const struct oci_config *config);
/* Whether an image whose configuration says this was made for the platform. */
bool oci_platform_fits_config(const struct oci_platform *platform, const struct oci_config *config);

#endif
