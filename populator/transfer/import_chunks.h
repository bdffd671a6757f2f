/* SPDX-License-Identifier: Apache-2.0 */
/* Imports from a source that can be read anywhere: several workers, each with its own connection,
 * take the next chunk of the file, fetch what is needed of it, decode it and write it. Only "the
 * next chunk" is shared. What is complete up to where is saved every now and then, so that a killed
 * import goes on from there. */
#ifndef POPULATOR_TRANSFER_IMPORT_CHUNKS_H
#define POPULATOR_TRANSFER_IMPORT_CHUNKS_H

#include "populator/source/source.h"
#include "populator/transfer/layout.h"
#include "populator/transfer/progress.h"
#include "populator/transfer/target.h"

struct import_chunks_options {
  struct source *source;
  struct layout *layout;
  struct target *target;
  const char *identity; /* of the source, for checkpoints; NULL: none are made */
  const char *checksum; /* "sha256:…" of the whole file, or CHECKSUM_ASKED, or NULL */
  char *ret_digest;     /* gets it, CHECKSUM_TEXT_MAX bytes, or NULL */
  bool is_local;        /* what is read here was fetched before */
  unsigned workers;
  struct progress *progress;
};

/* `from` is where an earlier process got to, or NULL. ERROR_DATA_LOSS when the checksum is another
 * one; CANCELLED when progress->is_cancelled was set. */
int import_chunks(const struct import_chunks_options *options, const struct checkpoint *from,
                  struct error **err);

#endif
