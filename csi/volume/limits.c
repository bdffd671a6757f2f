/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PREFIX "rbd_qos_"

/* rbd_qos_[read_|write_](iops|bps)_(limit|burst|burst_seconds) */
static bool
is_known(const char *name)
{
  static const char *const directions[] = {"", "read_", "write_"};
  static const char *const rates[] = {"iops", "bps"};
  static const char *const kinds[] = {"limit", "burst", "burst_seconds"};
  for (size_t d = 0; d < 3; d++) {
    for (size_t r = 0; r < 2; r++) {
      for (size_t k = 0; k < 3; k++) {
        CLEANUP(freep)
        char *candidate = xasprintf(PREFIX "%s%s_%s", directions[d], rates[r], kinds[k]);
        if (strcmp(name, candidate) == 0)
          return true;
      }
    }
  }
  return false;
}

int
limits_parse(const struct string_map *given, struct string_map *metadata, struct error **err)
{
  for (size_t i = 0; i < given->count; i++) {
    const struct string_map_entry *entry = &given->entries[i];
    uint64_t value;
    if (!is_known(entry->key))
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "mutable parameter '%.64s' is not known: rbd_qos_[read_|write_]"
                       "(iops|bps)_(limit|burst|burst_seconds) are",
                       entry->key);
    if (text_to_bytes(entry->value, &value) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "mutable parameter '%s': a whole number is needed, e.g. 500 or 100Mi, not "
                       "'%.64s'",
                       entry->key, entry->value);
    CLEANUP(freep) char *key = xasprintf("conf_%s", entry->key);
    CLEANUP(freep) char *number = xasprintf("%" PRIu64, value);
    string_map_set(metadata, key, number);
  }
  return 0;
}
