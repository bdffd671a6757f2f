/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes an image file to a registry as a container disk, as it is. It is read twice: first to
 * learn the digest of its layer, and then, unless the registry has that, to send it. Or puts it
 * into an archive, where the digest is filled in behind it. */
#ifndef POPULATOR_TRANSFER_PUSH_H
#define POPULATOR_TRANSFER_PUSH_H

#include "populator/sink/container_disk_push.h"
#include "populator/transfer/progress.h"

struct push_file_options {
  const char *path;
  const char *url; /* docker://…, oci-archive:… */
  struct push_options push;
  struct progress *progress;
};

/* *ret_digest is the manifest's, to be freed. CANCELLED when progress->is_cancelled was set. */
int push_file(const struct push_file_options *options, char **ret_digest, struct error **err);

#endif
