/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an image in an archive on disk: the OCI's layout (oci-layout, index.json, blobs/), or
 * Docker's (manifest.json with a file a layer), of which the first counts where there are both. */
#ifndef POPULATOR_SOURCE_ARCHIVE_IMAGE_H
#define POPULATOR_SOURCE_ARCHIVE_IMAGE_H

#include "populator/registry/oci_manifest.h"
#include "populator/registry/oci_platform.h"
#include "populator/source/tar_file.h"

struct archive_image {
  struct oci_manifest manifest;
  const struct tar_file_entry **layers; /* the file of each; the archive owns them */
  struct oci_config config;
  char *digest;   /* of what describes it: the manifest, or Docker's configuration */
  bool is_chosen; /* there was one for each of several platforms */
};

/* name: the tag or the whole name it was saved under; NULL: there is only one. */
int archive_image_find(const struct tar_file *file, const char *name,
                       const struct oci_platform *platform, struct archive_image *ret_image,
                       struct error **err);
void archive_image_clear(struct archive_image *image);

#endif
