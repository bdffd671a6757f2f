/* SPDX-License-Identifier: Apache-2.0 */
/* What this program serves beside Identity, as a table for the RPC server. */
#include "controllerplugin/controller.h"
#include "csi/rpc/csi_method.h"

const struct rpc_method controller_methods[] = {
    CSI_QUIET_METHOD("Controller", "ControllerGetCapabilities", controller_get_capabilities,
                     controller_get_capabilities),
    CSI_METHOD("Controller", "CreateVolume", create_volume, controller_create_volume),
    CSI_METHOD("Controller", "DeleteVolume", delete_volume, controller_delete_volume),
    CSI_METHOD("Controller", "ControllerPublishVolume", controller_publish_volume,
               controller_publish_volume),
    CSI_METHOD("Controller", "ControllerUnpublishVolume", controller_unpublish_volume,
               controller_unpublish_volume),
    CSI_QUIET_METHOD("Controller", "ValidateVolumeCapabilities", validate_volume_capabilities,
                     controller_validate_volume),
    CSI_QUIET_METHOD("Controller", "ListVolumes", list_volumes, controller_list_volumes),
    CSI_QUIET_METHOD("Controller", "ControllerGetVolume", controller_get_volume,
                     controller_get_volume),
    CSI_QUIET_METHOD("Controller", "GetCapacity", get_capacity, controller_get_capacity),
    CSI_METHOD("Controller", "CreateSnapshot", create_snapshot, controller_create_snapshot),
    CSI_METHOD("Controller", "DeleteSnapshot", delete_snapshot, controller_delete_snapshot),
    CSI_QUIET_METHOD("Controller", "ListSnapshots", list_snapshots, controller_list_snapshots),
    CSI_QUIET_METHOD("Controller", "GetSnapshot", get_snapshot, controller_get_snapshot),
    CSI_METHOD("Controller", "ControllerExpandVolume", controller_expand_volume,
               controller_expand_volume),
    CSI_METHOD("Controller", "ControllerModifyVolume", controller_modify_volume,
               controller_modify_volume),
};

const size_t controller_method_count = sizeof(controller_methods) / sizeof(controller_methods[0]);
