/* SPDX-License-Identifier: Apache-2.0 */
/* The disk in a plain tar archive, which is its only file, or the one at a path: as a stream on top
 * of the archive's. Like the decompressors' streams it can be saved, and put back on by its name.
 */
#ifndef POPULATOR_SOURCE_TAR_DISK_H
#define POPULATOR_SOURCE_TAR_DISK_H

#include "populator/source/stream.h"

#define TAR_DISK_STREAM_NAME "tar"

/* path: NULL: wherever it is. *ret_size is the disk's. Takes `below`, also when it fails. */
int tar_disk_stream_new(struct stream *below, const char *path, struct stream **ret_stream,
                        uint64_t *ret_size, struct error **err);
/* Goes on where the stream was whose save() wrote what `state` begins with: *ret_used bytes of it.
 * Takes `below`, which was restored to where it was then, also when it fails. */
int tar_disk_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                            struct stream **ret_stream, struct error **err);

#endif
