/* SPDX-License-Identifier: Apache-2.0 */
/* RBD image features by the names that the rbd command uses. */
#ifndef CSI_VOLUME_IMAGE_FEATURES_H
#define CSI_VOLUME_IMAGE_FEATURES_H

#include <stdint.h>

#include "lib/base/error.h"

/* The bits are RBD's own, part of its on-disk format. */
#define IMAGE_FEATURE_LAYERING (1ULL << 0)
#define IMAGE_FEATURE_EXCLUSIVE_LOCK (1ULL << 2)
#define IMAGE_FEATURE_OBJECT_MAP (1ULL << 3)
#define IMAGE_FEATURE_FAST_DIFF (1ULL << 4)
#define IMAGE_FEATURE_DEEP_FLATTEN (1ULL << 5)
#define IMAGE_FEATURE_JOURNALING (1ULL << 6)

/* What every kernel since 5.3 maps, and what makes deletes, clones and exports fast. */
#define IMAGE_FEATURES_DEFAULT                                                                     \
  (IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_EXCLUSIVE_LOCK | IMAGE_FEATURE_OBJECT_MAP |              \
   IMAGE_FEATURE_FAST_DIFF | IMAGE_FEATURE_DEEP_FLATTEN)

/* "layering,exclusive-lock"; INVALID_ARGUMENT for an unknown one or one that lacks what it needs.
 */
int image_features_parse(const char *list, uint64_t *ret_features, struct error **err);

#endif
