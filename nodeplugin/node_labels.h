/* SPDX-License-Identifier: Apache-2.0 */
/* Where this node is, by the labels of its Node object at the API server.
 *
 * They are asked for when kubelet asks, which it does when the plugin registers: an API server that
 * is away then delays the registration, and nothing else that the plugin does. */
#ifndef NODEPLUGIN_NODE_LABELS_H
#define NODEPLUGIN_NODE_LABELS_H

#include "lib/base/error.h"
#include "lib/base/string_map.h"

struct node_labels;

/* Finds credentials: of the file that KUBECONFIG names, or of the pod's service account. node_name
 * and the keys of `further`, labels to be taken besides those of topology, must outlive it. */
int node_labels_open(const char *node_name, const struct string_map *further,
                     struct node_labels **ret_labels, struct error **err);
void node_labels_close(struct node_labels *labels);
DEFINE_CLEANUP(struct node_labels *, node_labels_close)

/* Adds to *topology. UNAVAILABLE when the API server is, PERMISSION_DENIED when it refuses. */
int node_labels_read(struct node_labels *labels, struct string_map *topology, struct error **err);

#endif
