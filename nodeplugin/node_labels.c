/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/node_labels.h"

#include "lib/base/memory.h"
#include "lib/kube/kube_client.h"
#include "nodeplugin/topology.h"

struct node_labels {
  const char *node_name;
  const struct string_map *further;
  struct kube_config config;
  struct kube_client *client;
};

int
node_labels_open(const char *node_name, const struct string_map *further,
                 struct node_labels **ret_labels, struct error **err)
{
  struct kube_config config;
  if (kube_config_load(NULL, &config, err) < 0)
    return error_wrap(err, "--topology-from-node");
  struct node_labels *labels = xcalloc(1, sizeof(*labels));
  labels->node_name = node_name;
  labels->further = further;
  labels->config = config;
  labels->client = kube_client_new(&labels->config);
  *ret_labels = labels;
  return 0;
}

void
node_labels_close(struct node_labels *labels)
{
  if (!labels)
    return;
  kube_client_free(labels->client);
  kube_config_clear(&labels->config);
  free(labels);
}

static int
take(const struct node_labels *labels, struct json_object *found, struct string_map *topology,
     struct error **err)
{
  if (!json_object_is_type(found, json_type_object))
    return 0;
  json_object_object_foreach(found, key, value)
  {
    const char *text = json_object_get_string(value);
    bool is_asked_for = string_map_get(labels->further, key) != NULL;
    if ((is_asked_for || topology_is_label(key)) &&
        topology_add_segment(topology, key, text ? text : "", err) < 0)
      return -1;
  }
  return 0;
}

int
node_labels_read(struct node_labels *labels, struct string_map *topology, struct error **err)
{
  CLEANUP(freep) char *path = kube_kind_path(&kube_nodes, NULL, labels->node_name, NULL);
  const struct kube_request request = {.path = path};
  CLEANUP(json_object_putp) struct json_object *node = NULL;
  if (kube_client_send(labels->client, &request, &node, err) < 0 ||
      take(labels, json_at(node, "metadata", "labels"), topology, err) < 0)
    return error_wrap(err, "labels of node '%s'", labels->node_name);
  return 0;
}
