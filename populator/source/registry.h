/* SPDX-License-Identifier: Apache-2.0 */
/* What can be learnt of images in a registry without fetching one. */
#ifndef POPULATOR_SOURCE_REGISTRY_H
#define POPULATOR_SOURCE_REGISTRY_H

#include "populator/source/source.h"

/* The digest that the URL's tag stands for at present: "sha256:…", of an index where there is one.
 * One small request. To be freed. */
int registry_resolve(const char *url, const struct source_options *options, char **ret_digest,
                     struct error **err);
/* All tags of the URL's repository, sorted, in an array that ends with NULL; freed with
 * registry_tags_free() of registry_client.h. */
int registry_tags(const char *url, const struct source_options *options, char ***ret_tags,
                  struct error **err);

#endif
