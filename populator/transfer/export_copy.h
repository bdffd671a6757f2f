/* SPDX-License-Identifier: Apache-2.0 */
/* Exports into another RBD image of the same cluster, rbd:POOL/IMAGE, which is made for it: what
 * the import of a snapshot does, but for looking at the bytes. A disk that begins like a qcow2 file
 * stays what it is.
 *
 * Until it is whole, the image carries the marks of an import (target.h): nobody takes it for
 * finished, and the next export into the name, or import_run(), makes it anew or goes on with it.
 */
#ifndef POPULATOR_TRANSFER_EXPORT_COPY_H
#define POPULATOR_TRANSFER_EXPORT_COPY_H

#include "lib/ceph/location.h"
#include "populator/transfer/export.h"

/* Whether the destination is an RBD image. */
bool export_copy_is(const char *url);

/* Of options: url, workers, progress and ret_bytes. ALREADY_EXISTS when there is an image of the
 * name. Nothing stays of one that fails. */
int export_copy(struct location *location, const char *image, const char *snapshot,
                const struct export_options *options, struct error **err);
/* Removes what one that was killed has left. */
int export_copy_discard(struct location *location, const char *url, struct error **err);

#endif
