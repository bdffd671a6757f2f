/* SPDX-License-Identifier: Apache-2.0 */
/* Confines a command that sends an image away: it reaches the image and the destination, and
 * nothing else. */
#ifndef CLI_CONFINE_EXPORT_H
#define CLI_CONFINE_EXPORT_H

#include "cli/ceph_flags.h"
#include "cli/confine.h"

/* An RBD image, which is connected to on the way in. Of a spec that is a handle, the name of the
 * image is filled in. */
int confine_export_image(struct image_spec *spec, const char *url,
                         struct confinement **ret_confinement, struct location **ret_location,
                         struct error **err);
/* To clear up after an export: where the destination is not to be found, the image alone. */
int confine_discard(struct image_spec *spec, const char *url, struct confinement **ret_confinement,
                    struct location **ret_location, struct error **err);
int confine_export_file(const char *path, const char *url, struct confinement **ret_confinement,
                        struct error **err);

#endif
