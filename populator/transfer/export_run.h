/* SPDX-License-Identifier: Apache-2.0 */
/* An export from its beginning to its end: clears up after one that was killed, takes a snapshot
 * where none is named, exports it, and leaves nothing behind. */
#ifndef POPULATOR_TRANSFER_EXPORT_RUN_H
#define POPULATOR_TRANSFER_EXPORT_RUN_H

#include "lib/ceph/location.h"
#include "populator/transfer/export.h"

/* Of the options, the reader and the ledger are filled in here. snapshot NULL: one is taken for it,
 * so the image may be in use. */
int export_run(struct location *location, const char *image, const char *snapshot,
               const struct export_options *options, struct error **err);

#endif
