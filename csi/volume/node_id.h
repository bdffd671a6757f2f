/* SPDX-License-Identifier: Apache-2.0 */
/* How the node plugin names its node, "imprint:<node name>". The controller cannot know which nodes
 * there are, but it can tell an id that no node plugin of ours has given out. */
#ifndef CSI_VOLUME_NODE_ID_H
#define CSI_VOLUME_NODE_ID_H

#include "lib/base/error.h"

/* To be freed. */
char *node_id_encode(const char *node_name);
/* NOT_FOUND when it is no such id. *ret_name points into text. */
int node_id_decode(const char *text, const char **ret_name, struct error **err);

#endif
