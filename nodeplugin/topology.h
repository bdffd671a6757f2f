/* SPDX-License-Identifier: Apache-2.0 */
/* Where a node is, as CSI tells it to the scheduler: from flags, or from the node's labels. */
#ifndef NODEPLUGIN_TOPOLOGY_H
#define NODEPLUGIN_TOPOLOGY_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/string_map.h"

/* Whether a label says where something is: its key begins with "topology.". */
bool topology_is_label(const char *key);
/* INVALID_ARGUMENT when CSI does not allow such a segment. */
int topology_add_segment(struct string_map *topology, const char *key, const char *value,
                         struct error **err);
bool topology_is_key(const char *key);
/* "topology.kubernetes.io/zone=a". INVALID_ARGUMENT when CSI does not allow such a segment. */
int topology_add(struct string_map *topology, const char *text, struct error **err);
/* Lines of KEY="VALUE", as the downward API writes labels; topology_is_label() tells
 * which are taken. */
int topology_add_labels(struct string_map *topology, const char *text, struct error **err);
int topology_read_file(struct string_map *topology, const char *path, struct error **err);

#endif
