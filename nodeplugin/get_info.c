/* SPDX-License-Identifier: Apache-2.0 */
/* NodeGetInfo and NodeGetCapabilities. */
#include "csi/volume/node_id.h"
#include "csi/volume/proto_map.h"
#include "lib/base/memory.h"
#include "nodeplugin/node.h"
#include "nodeplugin/node_labels.h"

#define RPC(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

static const Csi__V1__NodeServiceCapability__RPC__Type served[] = {
    RPC(STAGE_UNSTAGE_VOLUME), RPC(GET_VOLUME_STATS),         RPC(EXPAND_VOLUME),
    RPC(VOLUME_CONDITION),     RPC(SINGLE_NODE_MULTI_WRITER),
};

#define SERVED (sizeof(served) / sizeof(served[0]))

int
node_get_capabilities(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                      struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__NodeGetCapabilitiesResponse *answer = (Csi__V1__NodeGetCapabilitiesResponse *)response;
  answer->n_capabilities = SERVED;
  answer->capabilities = xcalloc(SERVED, sizeof(answer->capabilities[0]));
  for (size_t i = 0; i < SERVED; i++) {
    Csi__V1__NodeServiceCapability *capability = xcalloc(1, sizeof(*capability));
    csi__v1__node_service_capability__init(capability);
    capability->type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
    capability->rpc = xcalloc(1, sizeof(*capability->rpc));
    csi__v1__node_service_capability__rpc__init(capability->rpc);
    capability->rpc->type = served[i];
    answer->capabilities[i] = capability;
  }
  return 0;
}

/* What the command line says wins over the node's labels. */
static int
find_segments(const struct node *node, struct string_map *segments, struct error **err)
{
  if (node->labels && node_labels_read(node->labels, segments, err) < 0)
    return -1;
  for (size_t i = 0; i < node->topology.count; i++)
    string_map_set(segments, node->topology.entries[i].key, node->topology.entries[i].value);
  return 0;
}

static Csi__V1__Topology *
topology_of(const struct string_map *segments)
{
  Csi__V1__Topology *topology = xcalloc(1, sizeof(*topology));
  csi__v1__topology__init(topology);
  PROTO_MAP_WRITE(segments, topology->segments, topology->n_segments,
                  Csi__V1__Topology__SegmentsEntry, CSI__V1__TOPOLOGY__SEGMENTS_ENTRY__INIT);
  return topology;
}

int
node_get_info(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
              struct error **err)
{
  (void)request;
  const struct node *node = context;
  Csi__V1__NodeGetInfoResponse *answer = (Csi__V1__NodeGetInfoResponse *)response;
  struct string_map segments = {0};
  int r = find_segments(node, &segments, err);
  if (r == 0) {
    answer->node_id = node_id_encode(node->name);
    answer->max_volumes_per_node = node->max_volumes;
    answer->accessible_topology = segments.count > 0 ? topology_of(&segments) : NULL;
  }
  string_map_clear(&segments);
  return r;
}
