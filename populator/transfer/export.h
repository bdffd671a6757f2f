/* SPDX-License-Identifier: Apache-2.0 */
/* Exports an image, or a snapshot of one, as qcow2 or raw. Reads only what is allocated. Several
 * workers read and compress ahead; one thread puts what they made in order and sends it off.
 * Nothing is staged: what the sink cannot take last is worked out first, by a pass that compresses
 * and throws away. */
#ifndef POPULATOR_TRANSFER_EXPORT_H
#define POPULATOR_TRANSFER_EXPORT_H

#include "lib/ceph/image_reader.h"
#include "populator/sink/sink.h"
#include "populator/transfer/progress.h"

enum export_format { EXPORT_RAW, EXPORT_QCOW2, EXPORT_QCOW2_ZLIB, EXPORT_QCOW2_ZSTD };

struct export_options {
  struct image_reader *reader;
  enum export_format format;
  unsigned workers;
  struct progress *progress;
  const char *url;
  struct sink_options sink;
  uint64_t *ret_bytes; /* how long the file is; or NULL */
};

/* The sink has all of it, or nothing. CANCELLED when progress->is_cancelled was set. */
int export_image(const struct export_options *options, struct error **err);

#endif
