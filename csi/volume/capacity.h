/* SPDX-License-Identifier: Apache-2.0 */
/* How large a volume becomes: what was asked for, what its source has, what RBD can do. */
#ifndef CSI_VOLUME_CAPACITY_H
#define CSI_VOLUME_CAPACITY_H

#include <csi.pb-c.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Where nothing is asked for. */
#define CAPACITY_DEFAULT_BYTES (1ULL << 30)
/* Sizes are rounded up to this: every partition table and filesystem is content with it. */
#define CAPACITY_UNIT_BYTES (1ULL << 20)
/* An object map holds at most 256,000,000 objects, which at 4 MiB is a little less than this. */
#define CAPACITY_MAX_BYTES (900ULL << 40)

/* range may be NULL; source_bytes is 0 for a blank volume. INVALID_ARGUMENT for a range that no
 * volume fits, OUT_OF_RANGE for one that this volume does not fit. */
int capacity_choose(const Csi__V1__CapacityRange *range, uint64_t source_bytes, uint64_t *ret_bytes,
                    struct error **err);
/* OUT_OF_RANGE when an image of this size has more objects than its object map can hold. An object
 * has 1 << order bytes; 0 is RBD's default. */
int capacity_check_objects(uint64_t bytes, uint64_t order, uint64_t features, struct error **err);
/* Whether a volume of this size is what the range asks for; ALREADY_EXISTS saying how not. */
int capacity_check_existing(const Csi__V1__CapacityRange *range, uint64_t bytes,
                            struct error **err);

#endif
