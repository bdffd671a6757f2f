/* SPDX-License-Identifier: Apache-2.0 */
/* Passes a stream through and keeps the checksum and the number of its bytes. */
#ifndef POPULATOR_TRANSFER_CHECKSUM_STREAM_H
#define POPULATOR_TRANSFER_CHECKSUM_STREAM_H

#include "populator/source/stream.h"
#include "populator/transfer/checksum.h"

#define CHECKSUM_STREAM_NAME "checksum"

/* wanted: "sha256:…", which the stream must have at its end, CHECKSUM_ASKED, or NULL: bytes are
 * only counted. Takes `below`. */
struct stream *checksum_stream_new(struct stream *below, const char *wanted);
/* Takes `below`, also when it fails. */
int checksum_stream_restore(struct stream *below, const char *wanted, const void *state, size_t len,
                            size_t *ret_used, struct stream **ret_stream, struct error **err);

/* Bytes passed, those of earlier processes included, and by this process alone. */
uint64_t checksum_stream_position(const struct stream *stream);
uint64_t checksum_stream_fetched(const struct stream *stream);
/* Reads the rest, and fails with DATA_LOSS if the checksum is another one. */
int checksum_stream_finish(struct stream *stream, struct error **err);
/* Of all bytes that have passed; only where it is wanted or asked for. */
struct checksum checksum_stream_checksum(const struct stream *stream);

#endif
