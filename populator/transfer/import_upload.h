/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a file while it is sent, straight into an image that is there. Each call gets a piece of
 * the file, from wherever the one before got to, which it is told by source_options.on_ready; how
 * much is safe, and need not be sent again, is progress->safe.
 *
 * Where the file stands cannot be looked at first, as with other sources: only its first piece has
 * a beginning. So the image is opened before anything is read, and what there is to know of the
 * file is in the checkpoint (import_tail.h). */
#ifndef POPULATOR_TRANSFER_IMPORT_UPLOAD_H
#define POPULATOR_TRANSFER_IMPORT_UPLOAD_H

#include "populator/transfer/import.h"

/* ret_result->is_part when more of the file is to come. UNAVAILABLE when somebody else has the
 * image open; FAILED_PRECONDITION when it cannot be gone on with. */
int import_upload(const struct import_options *options, struct source *source,
                  struct import_result *ret_result, struct error **err);

#endif
