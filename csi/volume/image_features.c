/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/image_features.h"

#include <string.h>

#include "lib/base/memory.h"

static const struct {
  const char *name;
  uint64_t bit;
  uint64_t needs;
} known[] = {
    {"layering", IMAGE_FEATURE_LAYERING, 0},
    {"exclusive-lock", IMAGE_FEATURE_EXCLUSIVE_LOCK, 0},
    {"object-map", IMAGE_FEATURE_OBJECT_MAP, IMAGE_FEATURE_EXCLUSIVE_LOCK},
    {"fast-diff", IMAGE_FEATURE_FAST_DIFF, IMAGE_FEATURE_OBJECT_MAP},
    {"deep-flatten", IMAGE_FEATURE_DEEP_FLATTEN, 0},
    {"journaling", IMAGE_FEATURE_JOURNALING, IMAGE_FEATURE_EXCLUSIVE_LOCK},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static const char *
name_of(uint64_t bit)
{
  for (size_t i = 0; i < KNOWN; i++) {
    if (known[i].bit == bit)
      return known[i].name;
  }
  return "?";
}

static int
add_feature(const char *name, size_t len, uint64_t *features, struct error **err)
{
  for (size_t i = 0; i < KNOWN; i++) {
    if (strlen(known[i].name) == len && strncmp(known[i].name, name, len) == 0) {
      *features |= known[i].bit;
      return 0;
    }
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "'%.*s' is not a feature: known are layering, exclusive-lock, object-map, "
                   "fast-diff, deep-flatten, journaling",
                   len > 64 ? 64 : (int)len, name);
}

int
image_features_parse(const char *list, uint64_t *ret_features, struct error **err)
{
  uint64_t features = 0;
  for (const char *at = list;;) {
    size_t len = strcspn(at, ",");
    if (add_feature(at, len, &features, err) < 0)
      return -1;
    if (!at[len])
      break;
    at += len + 1;
  }
  if (!(features & IMAGE_FEATURE_LAYERING))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'layering' is needed: snapshots and clones are made with it");
  for (size_t i = 0; i < KNOWN; i++) {
    if ((features & known[i].bit) && (features & known[i].needs) != known[i].needs)
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' needs '%s'", known[i].name,
                       name_of(known[i].needs));
  }
  *ret_features = features;
  return 0;
}
