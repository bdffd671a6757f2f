/* SPDX-License-Identifier: Apache-2.0 */
/* The types of CSI's requests, for fuzzers that let a byte choose one. New ones go to the end, so
 * that the committed inputs keep their meaning. */
#ifndef TESTS_FUZZ_REQUESTS_H
#define TESTS_FUZZ_REQUESTS_H

#include <csi.pb-c.h>

static const ProtobufCMessageDescriptor *const requests[] = {
    &csi__v1__create_volume_request__descriptor,
    &csi__v1__delete_volume_request__descriptor,
    &csi__v1__controller_publish_volume_request__descriptor,
    &csi__v1__controller_unpublish_volume_request__descriptor,
    &csi__v1__validate_volume_capabilities_request__descriptor,
    &csi__v1__list_volumes_request__descriptor,
    &csi__v1__get_capacity_request__descriptor,
    &csi__v1__controller_get_capabilities_request__descriptor,
    &csi__v1__create_snapshot_request__descriptor,
    &csi__v1__delete_snapshot_request__descriptor,
    &csi__v1__list_snapshots_request__descriptor,
    &csi__v1__get_snapshot_request__descriptor,
    &csi__v1__controller_expand_volume_request__descriptor,
    &csi__v1__controller_get_volume_request__descriptor,
    &csi__v1__controller_modify_volume_request__descriptor,
    &csi__v1__get_plugin_info_request__descriptor,
    &csi__v1__get_plugin_capabilities_request__descriptor,
    &csi__v1__probe_request__descriptor,
    &csi__v1__create_volume_group_snapshot_request__descriptor,
    &csi__v1__delete_volume_group_snapshot_request__descriptor,
    &csi__v1__get_volume_group_snapshot_request__descriptor,
    &csi__v1__get_metadata_allocated_request__descriptor,
    &csi__v1__get_metadata_delta_request__descriptor,
    &csi__v1__node_stage_volume_request__descriptor,
    &csi__v1__node_unstage_volume_request__descriptor,
    &csi__v1__node_publish_volume_request__descriptor,
    &csi__v1__node_unpublish_volume_request__descriptor,
    &csi__v1__node_get_volume_stats_request__descriptor,
    &csi__v1__node_expand_volume_request__descriptor,
    &csi__v1__node_get_capabilities_request__descriptor,
    &csi__v1__node_get_info_request__descriptor,
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

#endif
