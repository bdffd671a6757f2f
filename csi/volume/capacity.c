/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/capacity.h"

#include "csi/volume/image_features.h"
#include "lib/base/text.h"

/* RBD's own: cls::rbd::MAX_OBJECT_MAP_OBJECT_COUNT, and objects of 4 MiB. */
#define OBJECT_MAP_MAX 256000000
#define ORDER_DEFAULT 22

static int
check_range(const Csi__V1__CapacityRange *range, struct error **err)
{
  if (range->required_bytes < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "capacity_range.required_bytes is negative");
  if (range->limit_bytes < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "capacity_range.limit_bytes is negative");
  if (range->limit_bytes && range->limit_bytes < range->required_bytes)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "capacity_range: limit_bytes %lld is below required_bytes %lld",
                     (long long)range->limit_bytes, (long long)range->required_bytes);
  return 0;
}

static uint64_t
round_up(uint64_t bytes)
{
  return (bytes + CAPACITY_UNIT_BYTES - 1) / CAPACITY_UNIT_BYTES * CAPACITY_UNIT_BYTES;
}

int
capacity_choose(const Csi__V1__CapacityRange *range, uint64_t source_bytes, uint64_t *ret_bytes,
                struct error **err)
{
  uint64_t required = 0;
  uint64_t limit = CAPACITY_MAX_BYTES;
  char a[TEXT_BYTES_MAX], b[TEXT_BYTES_MAX];
  if (range) {
    if (check_range(range, err) < 0)
      return -1;
    required = (uint64_t)range->required_bytes;
    if (range->limit_bytes && (uint64_t)range->limit_bytes < limit)
      limit = (uint64_t)range->limit_bytes;
  }
  if (required > CAPACITY_MAX_BYTES)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "capacity_range.required_bytes: %s is above the %s that "
                     "an RBD image can have",
                     text_of_bytes(required, a), text_of_bytes(CAPACITY_MAX_BYTES, b));
  if (source_bytes > limit)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "capacity_range.limit_bytes: %s is less than the source has, which is %s",
                     text_of_bytes(limit, a), text_of_bytes(source_bytes, b));
  uint64_t bytes = required > source_bytes ? round_up(required) : source_bytes;
  if (bytes == 0)
    bytes = CAPACITY_DEFAULT_BYTES < limit ? CAPACITY_DEFAULT_BYTES
                                           : limit / CAPACITY_UNIT_BYTES * CAPACITY_UNIT_BYTES;
  if (bytes > limit || bytes == 0)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "capacity_range: no whole number of MiB lies between required_bytes %llu and "
                     "limit_bytes %llu",
                     (unsigned long long)required, (unsigned long long)limit);
  *ret_bytes = bytes;
  return 0;
}

int
capacity_check_objects(uint64_t bytes, uint64_t order, uint64_t features, struct error **err)
{
  char a[TEXT_BYTES_MAX], b[TEXT_BYTES_MAX];
  uint64_t object_bytes = 1ULL << (order ? order : ORDER_DEFAULT);
  if (!(features & IMAGE_FEATURE_OBJECT_MAP) || bytes / object_bytes <= OBJECT_MAP_MAX)
    return 0;
  return error_set(err, ERROR_OUT_OF_RANGE,
                   "%s in objects of %s are more than the %d that an object map can hold: use a "
                   "larger parameter 'objectSize', or 'imageFeatures' without object-map",
                   text_of_bytes(bytes, a), text_of_bytes(object_bytes, b), OBJECT_MAP_MAX);
}

int
capacity_check_existing(const Csi__V1__CapacityRange *range, uint64_t bytes, struct error **err)
{
  char a[TEXT_BYTES_MAX], b[TEXT_BYTES_MAX];
  if (!range)
    return 0;
  if (check_range(range, err) < 0)
    return -1;
  if ((uint64_t)range->required_bytes > bytes)
    return error_set(err, ERROR_ALREADY_EXISTS,
                     "it has %s, capacity_range.required_bytes asks for %s",
                     text_of_bytes(bytes, a), text_of_bytes((uint64_t)range->required_bytes, b));
  if (range->limit_bytes && (uint64_t)range->limit_bytes < bytes)
    return error_set(err, ERROR_ALREADY_EXISTS, "it has %s, capacity_range.limit_bytes allows %s",
                     text_of_bytes(bytes, a), text_of_bytes((uint64_t)range->limit_bytes, b));
  return 0;
}
