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

/* Clears up after an export to that destination which was broken off, without beginning another.
 * image NULL: it is gone. An error names what is left. With is_last that is no error: it is told in
 * *ret_left, to be freed and else NULL, and nobody will know of it any more. */
int export_discard(struct location *location, const char *image,
                   const struct export_options *options, bool is_last, char **ret_left,
                   struct error **err);

#endif
