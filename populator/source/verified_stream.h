/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose size and digest are known beforehand, such as a blob of a registry: the bytes are
 * checked as they pass. The last of them is handed out only when all were right, so whoever has
 * read to the size has read the truth; too few, too many or other bytes are DATA_LOSS. */
#ifndef POPULATOR_SOURCE_VERIFIED_STREAM_H
#define POPULATOR_SOURCE_VERIFIED_STREAM_H

#include "populator/registry/oci_manifest.h"
#include "populator/source/stream.h"
#include "populator/transfer/checksum.h"

/* Takes `below`, also when it fails. */
int verified_stream_new(struct stream *below, const struct oci_descriptor *blob,
                        struct stream **ret_stream, struct error **err);
/* Goes on where `passed` bytes, of this checksum, have passed. Takes `below`, also when it fails.
 */
int verified_stream_resume(struct stream *below, const struct oci_descriptor *blob, uint64_t passed,
                           const struct checksum *checksum, struct stream **ret_stream,
                           struct error **err);
/* Takes what save() wrote off the state; `below` stands where it stood then. Takes `below`, also
 * when it fails. */
int verified_stream_restore(struct stream *below, const struct oci_descriptor *blob,
                            struct wire_reader *state, struct stream **ret_stream,
                            struct error **err);

/* Reads what is left, for the sake of the check. */
int verified_stream_drain(struct stream *stream, struct error **err);
/* Of the bytes that have passed. */
struct checksum verified_stream_checksum(const struct stream *stream);

#endif
