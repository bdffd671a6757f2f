/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/node_id.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PREFIX "imprint:"
/* CSI allows a node id 192 bytes; a Kubernetes node name fits. */
#define NODE_NAME_MAX 184

char *
node_id_encode(const char *node_name)
{
  return xasprintf(PREFIX "%s", node_name);
}

int
node_id_decode(const char *text, const char **ret_name, struct error **err)
{
  if (!text_starts_with(text, PREFIX) || !text_is_plain_name(text + strlen(PREFIX), NODE_NAME_MAX))
    return error_set(err, ERROR_NOT_FOUND,
                     "no node '%.64s': its id was not given out by this driver", text);
  *ret_name = text + strlen(PREFIX);
  return 0;
}
