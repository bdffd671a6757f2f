/* SPDX-License-Identifier: Apache-2.0 */
/* A CSI driver behind its socket, any driver: only the CSI API is used. */
#ifndef BENCH_CSI_SUBJECT_H
#define BENCH_CSI_SUBJECT_H

#include "bench/subject.h"
#include "lib/base/string_map.h"

/* What every request carries. */
struct csi_classes {
  struct string_map parameters;          /* of the StorageClass */
  struct string_map snapshot_parameters; /* of the VolumeSnapshotClass */
  struct string_map secrets;
};

/* `endpoint` is unix:///PATH. Waits until it answers. `classes` must outlive it. */
int csi_subject_open(const char *endpoint, const struct csi_classes *classes,
                     struct subject **ret_subject, struct error **err);
void csi_subject_close(struct subject *subject);
DEFINE_CLEANUP(struct subject *, csi_subject_close)

#endif
