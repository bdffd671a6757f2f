/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the allocated clusters of an image ahead, in parallel, compresses them where that is asked
 * for, and hands them out one by one in order. */
#ifndef POPULATOR_TRANSFER_EXPORT_PIPELINE_H
#define POPULATOR_TRANSFER_EXPORT_PIPELINE_H

#include "populator/format/qcow2_writer.h"
#include "populator/transfer/export.h"

struct export_cluster {
  uint64_t index; /* among the allocated ones */
  bool is_zero;
  size_t compressed_len; /* 0: plain */
  const char *data;      /* compressed_len bytes, or a cluster; beyond the end of the disk: zeros */
};

/* Called in the caller's own thread, in the order of the index. */
typedef int export_take(void *context, const struct export_cluster *cluster, struct error **err);

struct export_pipeline_options {
  struct image_reader *reader;
  const struct qcow2_writer *writer; /* which clusters there are */
  enum export_format format;
  unsigned workers;
  struct progress *progress;
  export_take *take;
  void *context;
};

int export_pipeline_run(const struct export_pipeline_options *options, struct error **err);

#endif
