/* SPDX-License-Identifier: Apache-2.0 */
/* What a source needs to be told beside its URL: credentials, certificates, S3, registries. Secrets
 * come from the environment or from files, never from the command line, which others can read. */
#ifndef CLI_SOURCE_FLAGS_H
#define CLI_SOURCE_FLAGS_H

#include "cli/flags.h"
#include "populator/source/source.h"

extern const struct flag_set source_flags;

/* What neither the command line nor the environment says, as far as a person's machine does: what
 * Amazon's own programs, docker and podman look at. To be called behind flags_parse(). */
void source_flags_look_around(void);

/* What the flags say. The Ceph part is to be cleared with cluster_config_clear(). */
void source_flags_options(struct source_options *ret_options);

#endif
