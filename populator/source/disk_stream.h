/* SPDX-License-Identifier: Apache-2.0 */
/* The disk of a layer, read out of its archive in one pass. As soon as its last byte is there, the
 * rest of the layer is looked at too: the byte is handed out only when no second disk follows and
 * the layer's digest is right. */
#ifndef POPULATOR_SOURCE_DISK_STREAM_H
#define POPULATOR_SOURCE_DISK_STREAM_H

#include "populator/source/disk_search.h"
#include "populator/source/stream.h"

#define DISK_STREAM_NAME "disk"

/* A layer on its way. */
struct disk_layer {
  struct stream *archive; /* the tar archive */
  /* The stream below it with the bytes that have a digest, as verified_stream.h made it, or one
   * that reads it ahead; NULL: none. It belongs to the archive's stack. */
  struct stream *proof;
};

/* Where in the archive the disk lies. */
struct disk_place {
  uint64_t offset;
  uint64_t size;
  bool is_sparse; /* it is there in pieces, and cannot be read by its offset */
};

/* Reads up to the disk. *ret_stream is NULL when the layer has none: then it was read and checked
 * to its end, and disk_search_layer_end() tells how to go on. Takes the archive, also when it
 * fails; the search must outlive the stream. */
int disk_stream_open(const struct disk_layer *layer, struct disk_search *search,
                     struct disk_place *ret_place, struct stream **ret_stream, struct error **err);
/* Takes what save() wrote off the state; the archive stands where it stood then, and the search has
 * been told where the disk is. Takes the archive, also when it fails. */
int disk_stream_restore(const struct disk_layer *layer, struct disk_search *search,
                        struct wire_reader *state, struct stream **ret_stream, struct error **err);

/* Looks at what stands behind a disk of this size that was read in another way: the archive stands
 * at its end. Takes the archive. */
int disk_stream_check_rest(const struct disk_layer *layer, uint64_t size,
                           struct disk_search *search, struct error **err);

#endif
