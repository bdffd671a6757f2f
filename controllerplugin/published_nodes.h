/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLERPLUGIN_PUBLISHED_NODES_H
#define CONTROLLERPLUGIN_PUBLISHED_NODES_H

#include "lib/base/string_map.h"

/* The ids of the nodes that a volume is published to, as an answer's repeated field. */
void published_nodes(const struct string_map *metadata, char ***ret_ids, size_t *ret_count);

#endif
