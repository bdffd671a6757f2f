/* SPDX-License-Identifier: Apache-2.0 */
/* The handles that Kubernetes keeps for us: which cluster, pool, namespace and image — by the ids
 * that a rename does not change — and for a snapshot its id within the image.
 *
 *   volume    1:<cluster id>:<pool id>:<namespace>:<image id>
 *   snapshot  1:<cluster id>:<pool id>:<namespace>:<image id>@<snapshot id, hexadecimal>
 *
 * The leading 1 is the version of the format. A handle has at most 128 bytes and is parsed
 * strictly: one volume has one spelling. */
#ifndef CSI_VOLUME_VOLUME_ID_H
#define CSI_VOLUME_VOLUME_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

#define VOLUME_ID_MAX 128
#define VOLUME_ID_CLUSTER_MAX 36
#define VOLUME_ID_NAMESPACE_MAX 32
#define VOLUME_ID_IMAGE_MAX 24

struct volume_id {
  char cluster_id[VOLUME_ID_CLUSTER_MAX + 1];
  int64_t pool_id;
  char name_space[VOLUME_ID_NAMESPACE_MAX + 1]; /* "" for none */
  char image_id[VOLUME_ID_IMAGE_MAX + 1];
};

struct snapshot_id {
  struct volume_id volume;
  uint64_t snap_id;
};

/* INVALID_ARGUMENT when the text is not such a handle. */
int volume_id_decode(const char *text, struct volume_id *ret_id, struct error **err);
int snapshot_id_decode(const char *text, struct snapshot_id *ret_id, struct error **err);

bool volume_id_equal(const struct volume_id *a, const struct volume_id *b);

/* To be freed. The parts must be such that the handle can be read back; that is asserted. */
char *volume_id_encode(const struct volume_id *id);
char *snapshot_id_encode(const struct snapshot_id *id);

#endif
