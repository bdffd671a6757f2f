/* SPDX-License-Identifier: Apache-2.0 */
/* A blob front to back, but asked for in pieces: for a look at its beginning. A server that is
 * asked for all of it sends until it is told to stop, and by then megabytes are on their way. The
 * pieces begin small and grow, so that whoever reads on does not wait for each. */
#ifndef POPULATOR_SOURCE_BLOB_PIECES_H
#define POPULATOR_SOURCE_BLOB_PIECES_H

#include "populator/source/blob_store.h"

/* The store must be able to read the blob anywhere, and outlives the stream, as the blob does. */
struct stream *blob_pieces_stream(struct blob_store *store, const struct oci_descriptor *blob);

#endif
