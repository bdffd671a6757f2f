/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/passing_name.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

char *
passing_name_make(uint64_t client_id, uint64_t number)
{
  return xasprintf(PASSING_NAME_PREFIX "%" PRIu64 ".%" PRIu64, client_id, number);
}

bool
passing_name_client(const char *snap_name, uint64_t *ret_client_id)
{
  if (!text_starts_with(snap_name, PASSING_NAME_PREFIX))
    return false;
  const char *client = snap_name + strlen(PASSING_NAME_PREFIX);
  CLEANUP(freep) char *digits = xstrndup(client, strcspn(client, "."));
  return text_to_u64(digits, 10, ret_client_id) == 0;
}
