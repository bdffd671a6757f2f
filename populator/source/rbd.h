/* SPDX-License-Identifier: Apache-2.0 */
/* An image of a cluster that is connected to already, as a source. */
#ifndef POPULATOR_SOURCE_RBD_H
#define POPULATOR_SOURCE_RBD_H

#include "lib/ceph/location.h"
#include "populator/source/source.h"

/* In the metadata of an image that holds an upload which is complete: its own id. Until the mark is
 * taken off nobody writes to it, so an import from it can be resumed. */
#define RBD_SOURCE_RECEIVED_KEY "imprint.received"

/* The image as it is, which nobody should write to meanwhile, or a snapshot of it (NULL: none). Its
 * size may be set to less than the image has. */
int rbd_source_open(struct location *location, const char *name, const char *snapshot,
                    struct source **ret_source, struct error **err);

#endif
