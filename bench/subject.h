/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured: a CSI endpoint, or librbd itself. The phases are the same for all, so that
 * their figures can be set side by side. Ids are the subject's own; whoever gets one frees it.
 * Every member may be called by many threads at once, and fails when timeout_ms is over, if it can.
 */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct subject;

enum source_kind { SOURCE_NONE, SOURCE_SNAPSHOT, SOURCE_VOLUME };

struct volume_request {
  const char *name;
  uint64_t size_bytes;
  enum source_kind source;
  const char *source_id; /* with SOURCE_NONE: NULL */
  bool is_again;         /* it was made before, under the same name */
};

struct subject_ops {
  int (*create_volume)(struct subject *subject, const struct volume_request *request,
                       int64_t timeout_ms, char **ret_id, struct error **err);
  /* Returns when the snapshot can be used. */
  int (*create_snapshot)(struct subject *subject, const char *name, const char *volume_id,
                         int64_t timeout_ms, char **ret_id, struct error **err);
  int (*expand_volume)(struct subject *subject, const char *volume_id, uint64_t size_bytes,
                       int64_t timeout_ms, struct error **err);
  int (*delete_volume)(struct subject *subject, const char *volume_id, int64_t timeout_ms,
                       struct error **err);
  int (*delete_snapshot)(struct subject *subject, const char *snapshot_id, int64_t timeout_ms,
                         struct error **err);
  /* The deleted volumes whose space is still taken, and how to free it. Both NULL where the subject
   * does so by itself. */
  int (*list_deleted)(struct subject *subject, char ***ret_ids, size_t *ret_count,
                      struct error **err);
  int (*purge_deleted)(struct subject *subject, const char *id, struct error **err);
};

/* The head of every subject. */
struct subject {
  const struct subject_ops *ops;
};

#endif
