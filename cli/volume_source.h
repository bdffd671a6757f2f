/* SPDX-License-Identifier: Apache-2.0 */
/* volume:HANDLE as a source: an image of one of the plugins' clusters, read as rbd:POOL/IMAGE. */
#ifndef CLI_VOLUME_SOURCE_H
#define CLI_VOLUME_SOURCE_H

#include "cli/confine.h"
#include "populator/source/source.h"

/* What a source takes, volume:HANDLE or any other. */
int volume_source_add_needs(const char *url, const struct source_options *options,
                            struct confine_needs *needs, struct error **err);
/* Before the confinement is sealed. *ret_url, to be freed, is what to read; for a volume the
 * options are of its cluster from then on. */
int volume_source_resolve(const char *url, struct confinement *confinement,
                          struct source_options *options, char **ret_url, struct error **err);

#endif
