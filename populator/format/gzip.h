/* SPDX-License-Identifier: Apache-2.0 */
/* What a gzip file holds: all its members, one after the other. Zeros behind the last (a tape, a
 * padded part) are passed over, anything else there is an error, and so are a wrong checksum or
 * length and an end that comes too early. Its state can be saved anywhere. */
#ifndef POPULATOR_FORMAT_GZIP_H
#define POPULATOR_FORMAT_GZIP_H

#include "populator/source/stream.h"

/* Takes `below`, also when it fails. */
int gzip_stream_new(struct stream *below, struct stream **ret_stream, struct error **err);
/* Goes on where the stream was whose save() wrote what `state` begins with: *ret_used bytes of it.
 * Takes `below`, which was restored to where it was then. */
int gzip_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                        struct stream **ret_stream, struct error **err);

#endif
