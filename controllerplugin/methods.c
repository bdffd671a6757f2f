/* SPDX-License-Identifier: Apache-2.0 */
/* What this program serves, as tables for the RPC server. */
#include "controllerplugin/controller.h"

#define METHOD(service, name, stem, handler)                                                       \
  {                                                                                                \
    .path = "/csi.v1." service "/" name, .request = &csi__v1__##stem##_request__descriptor,        \
    .response = &csi__v1__##stem##_response__descriptor, .handle = handler                         \
  }
/* Called again and again by the sidecars: not worth a log line each time. */
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

const struct rpc_method controller_methods[] = {
    QUIET("Controller", "ControllerGetCapabilities", controller_get_capabilities,
          controller_get_capabilities),
    METHOD("Controller", "CreateVolume", create_volume, controller_create_volume),
    METHOD("Controller", "DeleteVolume", delete_volume, controller_delete_volume),
    METHOD("Controller", "ControllerPublishVolume", controller_publish_volume,
           controller_publish_volume),
    METHOD("Controller", "ControllerUnpublishVolume", controller_unpublish_volume,
           controller_unpublish_volume),
    QUIET("Controller", "ValidateVolumeCapabilities", validate_volume_capabilities,
          controller_validate_volume),
    QUIET("Controller", "ListVolumes", list_volumes, controller_list_volumes),
    QUIET("Controller", "ControllerGetVolume", controller_get_volume, controller_get_volume),
    QUIET("Controller", "GetCapacity", get_capacity, controller_get_capacity),
    METHOD("Controller", "CreateSnapshot", create_snapshot, controller_create_snapshot),
    METHOD("Controller", "DeleteSnapshot", delete_snapshot, controller_delete_snapshot),
    QUIET("Controller", "ListSnapshots", list_snapshots, controller_list_snapshots),
    QUIET("Controller", "GetSnapshot", get_snapshot, controller_get_snapshot),
    METHOD("Controller", "ControllerExpandVolume", controller_expand_volume,
           controller_expand_volume),
    METHOD("Controller", "ControllerModifyVolume", controller_modify_volume,
           controller_modify_volume),
};

const size_t identity_method_count = sizeof(identity_methods) / sizeof(identity_methods[0]);
const size_t controller_method_count = sizeof(controller_methods) / sizeof(controller_methods[0]);
