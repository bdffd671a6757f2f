/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zero.h"

#include <isa-l/mem_routines.h>
#include <stdint.h>
#include <string.h>

/* Data that is no zeros mostly shows it in its first bytes: then there is no call. */
#define GLANCE 16

bool
zero_is_all(const void *data, size_t len)
{
  if (len >= GLANCE) {
    uint64_t glance[2];
    memcpy(glance, data, sizeof(glance));
    if (glance[0] | glance[1])
      return false;
  }
  return len == 0 || isal_zero_detect((void *)data, len) == 0;
}

bool
zero_next_run(const void *data, size_t len, size_t granularity, size_t from,
              struct zero_run *ret_run)
{
  const char *bytes = data;
  size_t start = len;
  for (size_t at = from; at < len; at += granularity) {
    size_t block = len - at < granularity ? len - at : granularity;
    bool is_zero = zero_is_all(bytes + at, block);
    if (start == len && !is_zero)
      start = at;
    if (start < len && is_zero) {
      *ret_run = (struct zero_run){.offset = start, .len = at - start};
      return true;
    }
  }
  if (start == len)
    return false;
  *ret_run = (struct zero_run){.offset = start, .len = len - start};
  return true;
}
