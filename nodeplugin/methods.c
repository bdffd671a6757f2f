/* SPDX-License-Identifier: Apache-2.0 */
/* What this program serves beside Identity, as a table for the RPC server. */
#include "csi/rpc/csi_method.h"
#include "nodeplugin/node.h"

const struct rpc_method node_methods[] = {
    CSI_QUIET_METHOD("Node", "NodeGetCapabilities", node_get_capabilities, node_get_capabilities),
    CSI_QUIET_METHOD("Node", "NodeGetInfo", node_get_info, node_get_info),
    CSI_QUIET_METHOD("Node", "NodeGetVolumeStats", node_get_volume_stats, node_get_volume_stats),
    CSI_METHOD("Node", "NodeStageVolume", node_stage_volume, node_stage_volume),
    CSI_METHOD("Node", "NodeUnstageVolume", node_unstage_volume, node_unstage_volume),
    CSI_METHOD("Node", "NodePublishVolume", node_publish_volume, node_publish_volume),
    CSI_METHOD("Node", "NodeUnpublishVolume", node_unpublish_volume, node_unpublish_volume),
    CSI_METHOD("Node", "NodeExpandVolume", node_expand_volume, node_expand_volume),
};

const size_t node_method_count = sizeof(node_methods) / sizeof(node_methods[0]);
