/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/published_nodes.h"

#include <string.h>

#include "csi/volume/node_id.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

void
published_nodes(const struct string_map *metadata, char ***ret_ids, size_t *ret_count)
{
  char **ids = NULL;
  size_t count = 0;
  for (size_t i = 0; i < metadata->count; i++) {
    const char *key = metadata->entries[i].key;
    if (!text_starts_with(key, RECORD_NODE_PREFIX))
      continue;
    ids = xrealloc(ids, count + 1, sizeof(char *));
    ids[count++] = node_id_encode(key + strlen(RECORD_NODE_PREFIX));
  }
  *ret_ids = ids;
  *ret_count = count;
}
