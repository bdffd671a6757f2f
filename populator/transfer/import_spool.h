/* SPDX-License-Identifier: Apache-2.0 */
/* A place for an image that comes front to back and cannot be imported so: a qcow2 file whose
 * tables come behind what they map, further than memory reaches, or a file in a foreign format.
 * What is left of it is copied to a temporary RBD image beside the target (never to a local disk),
 * is read from there like any file, and the temporary image goes at the end.
 *
 * It is filled by import_stream.h and has a checkpoint of its own, so that a killed import goes on:
 *
 *   the target's checkpoint   the spool's            then
 *   STREAM, or none           any                    what the spool has is of no use
 *   SPOOL                     STREAM with a state    it is filled from there on
 *   SPOOL, CHUNKS             DONE                   it is complete: the target is filled from it
 *   SPOOL, CHUNKS             none                   it is gone: all begins anew
 *   DONE                      any                    it is removed, if it is still there */
#ifndef POPULATOR_TRANSFER_IMPORT_SPOOL_H
#define POPULATOR_TRANSFER_IMPORT_SPOOL_H

#include "lib/ceph/image_create.h"
#include "populator/format/qcow2_stream.h"
#include "populator/source/source.h"
#include "populator/transfer/target.h"

struct import_spool;

struct import_spool_options {
  const char *source_label;
  const char *identity; /* of the import; NULL: it cannot be resumed */
  struct image_layout layout;
  bool is_anew; /* what an earlier import left in it is of no use */
};

/* Makes it, or takes up what there is. The target must outlive it. */
int import_spool_open(struct target *target, const struct import_spool_options *options,
                      struct import_spool **ret_spool, struct error **err);
/* Lets go of it; it stays for the next process. */
void import_spool_close(struct import_spool *spool);
DEFINE_CLEANUP(struct import_spool *, import_spool_close)
/* It is not needed any more. Frees it. */
int import_spool_discard(struct import_spool *spool, struct error **err);

/* How an earlier process left it: where the streams were, NULL when there is nothing to go on from;
 * what it said at the end, NULL when not all is in it. */
const struct checkpoint *import_spool_state(const struct import_spool *spool);
const struct checkpoint *import_spool_end(const struct import_spool *spool);

/* Where import_stream() writes to. */
struct target *import_spool_target(struct import_spool *spool);
/* Writes what a stream that cannot go on knows and holds (qcow2_spool.h). *ret_offset is where the
 * rest belongs. */
int import_spool_take_over(struct import_spool *spool, struct qcow2_stream *stream,
                           uint64_t *ret_offset, struct error **err);
/* All is in it, so many bytes, and proven. checksum: of the source, for whoever goes on from here,
 * or NULL. */
int import_spool_complete(struct import_spool *spool, uint64_t size,
                          const struct checksum *checksum, struct error **err);
/* What is in it, once it is complete. */
int import_spool_source(struct import_spool *spool, const char *label, struct source **ret_source,
                        struct error **err);

#endif
