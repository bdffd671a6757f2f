/* SPDX-License-Identifier: Apache-2.0 */
/* What this program serves, as tables for the RPC server. */
#include "nodeplugin/node.h"

#define METHOD(service, name, stem, handler)                                                       \
  {                                                                                                \
    .path = "/csi.v1." service "/" name, .request = &csi__v1__##stem##_request__descriptor,        \
    .response = &csi__v1__##stem##_response__descriptor, .handle = handler                         \
  }
/* Called again and again by kubelet: not worth a log line each time. */
#define QUIET(service, name, stem, handler)                                                        \
  {                                                                                                \
    .path = "/csi.v1." service "/" name, .request = &csi__v1__##stem##_request__descriptor,        \
    .response = &csi__v1__##stem##_response__descriptor, .handle = handler, .is_quiet = true       \
  }

const struct rpc_method identity_methods[] = {
    QUIET("Identity", "GetPluginInfo", get_plugin_info, identity_get_plugin_info),
    QUIET("Identity", "GetPluginCapabilities", get_plugin_capabilities,
          identity_get_plugin_capabilities),
    QUIET("Identity", "Probe", probe, identity_probe),
};

const struct rpc_method node_methods[] = {
    QUIET("Node", "NodeGetCapabilities", node_get_capabilities, node_get_capabilities),
    QUIET("Node", "NodeGetInfo", node_get_info, node_get_info),
    QUIET("Node", "NodeGetVolumeStats", node_get_volume_stats, node_get_volume_stats),
    METHOD("Node", "NodeStageVolume", node_stage_volume, node_stage_volume),
    METHOD("Node", "NodeUnstageVolume", node_unstage_volume, node_unstage_volume),
    METHOD("Node", "NodePublishVolume", node_publish_volume, node_publish_volume),
    METHOD("Node", "NodeUnpublishVolume", node_unpublish_volume, node_unpublish_volume),
    METHOD("Node", "NodeExpandVolume", node_expand_volume, node_expand_volume),
};

const size_t identity_method_count = sizeof(identity_methods) / sizeof(identity_methods[0]);
const size_t node_method_count = sizeof(node_methods) / sizeof(node_methods[0]);
