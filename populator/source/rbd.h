/* SPDX-License-Identifier: Apache-2.0 */
/* An image of a cluster that is connected to already, as a source. */
#ifndef POPULATOR_SOURCE_RBD_H
#define POPULATOR_SOURCE_RBD_H

#include "lib/ceph/location.h"
#include "populator/source/source.h"

/* The image as it is, which nobody should write to meanwhile: the source has no identity. Its size
 * may be set to less than the image has. */
int rbd_source_open(struct location *location, const char *name, struct source **ret_source,
                    struct error **err);

#endif
