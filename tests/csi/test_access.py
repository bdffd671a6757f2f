# SPDX-License-Identifier: Apache-2.0
"""Access modes, publishing to nodes, and which volume a handle may name."""

import pytest
import rbd

import volumes
from volumes import CODES, capability, create, parameters, refused

SINGLE = [
    "SINGLE_NODE_WRITER",
    "SINGLE_NODE_READER_ONLY",
    "SINGLE_NODE_SINGLE_WRITER",
    "SINGLE_NODE_MULTI_WRITER",
]
SERVED = [
    (mode, fs) for mode in SINGLE + ["MULTI_NODE_READER_ONLY"] for fs in (None, "", "ext4", "xfs")
] + [("MULTI_NODE_MULTI_WRITER", None)]
REFUSED = [
    ("MULTI_NODE_MULTI_WRITER", "", "ReadWriteMany.*block.*volumeMode: Block"),
    ("MULTI_NODE_MULTI_WRITER", "ext4", "ReadWriteMany.*block.*volumeMode: Block"),
    ("MULTI_NODE_SINGLE_WRITER", None, "MULTI_NODE_SINGLE_WRITER is not served"),
    ("MULTI_NODE_SINGLE_WRITER", "xfs", "MULTI_NODE_SINGLE_WRITER is not served"),
    ("UNKNOWN", None, "access mode 0 is not known"),
    ("SINGLE_NODE_WRITER", "btrfs", "fs_type 'btrfs' is not served"),
]
NODES = ["imprint:node-a", "imprint:node-b", "imprint:node-c"]


def test_every_served_mode(client):
    volume = create(
        client, "modes", volume_capabilities=[capability(mode, fs) for mode, fs in SERVED]
    )
    for mode, fs in SERVED:
        asked = [capability(mode, fs)]
        assert create(client, "modes", volume_capabilities=asked) == volume
        answer = client.ValidateVolumeCapabilities(
            volume_id=volume.volume_id, volume_capabilities=asked
        )
        assert len(answer.confirmed.volume_capabilities) == 1, (mode, fs, answer.message)


@pytest.mark.parametrize("mode, fs, said", REFUSED)
def test_refused_mode(cluster, client, mode, fs, said):
    bad = capability(mode, fs)
    with refused(CODES.INVALID_ARGUMENT, r"volume_capabilities\[1\]", said):
        create(client, "modes", volume_capabilities=[capability(), bad])
    assert cluster.images(volumes.POOL) == []
    volume = create(client, "modes")
    answer = client.ValidateVolumeCapabilities(
        volume_id=volume.volume_id, volume_capabilities=[bad]
    )
    assert not answer.HasField("confirmed") and answer.message
    with refused(CODES.INVALID_ARGUMENT, "volume_capability", said):
        client.ControllerPublishVolume(
            volume_id=volume.volume_id, node_id=NODES[0], volume_capability=bad
        )


@pytest.mark.parametrize(
    "bad, said",
    [
        ({"block": {}}, "access_mode is needed"),
        ({"access_mode": {"mode": "SINGLE_NODE_WRITER"}}, "access_type is needed"),
    ],
)
def test_incomplete_capability(client, bad, said):
    with refused(CODES.INVALID_ARGUMENT, said):
        create(client, "modes", volume_capabilities=[bad])


def test_validate_context(client):
    volume = create(client, "v", parameters=parameters(mapper="nbd"))
    ask = {"volume_id": volume.volume_id, "volume_capabilities": [capability()]}
    answer = client.ValidateVolumeCapabilities(volume_context=volume.volume_context, **ask)
    assert answer.HasField("confirmed")
    answer = client.ValidateVolumeCapabilities(volume_context={"mapper": "krbd"}, **ask)
    assert not answer.HasField("confirmed") and "mapper" in answer.message


def publish(client, volume, node, mode="SINGLE_NODE_WRITER", readonly=False):
    client.ControllerPublishVolume(
        volume_id=volume.volume_id,
        node_id=node,
        readonly=readonly,
        volume_capability=capability(mode),
    )


def unpublish(client, volume, node=""):
    client.ControllerUnpublishVolume(volume_id=volume.volume_id, node_id=node)


def published(client, volume):
    listed = [
        entry.status.published_node_ids
        for entry in volumes.listed_volumes(client)
        if entry.volume.volume_id == volume.volume_id
    ]
    got = client.ControllerGetVolume(volume_id=volume.volume_id).status.published_node_ids
    assert [sorted(nodes) for nodes in listed] == [sorted(got)]
    return sorted(got)


@pytest.mark.parametrize("mode", SINGLE)
def test_single_node_volume_goes_to_one_node(client, mode):
    volume = create(client, "rwo")
    for _ in range(2):
        publish(client, volume, NODES[0], mode)
    with refused(CODES.FAILED_PRECONDITION, "published to node 'node-a'.*one node only"):
        publish(client, volume, NODES[1], mode)
    with refused(CODES.ALREADY_EXISTS, "node 'node-a' as rw already, now ro"):
        publish(client, volume, NODES[0], mode, readonly=True)
    assert published(client, volume) == NODES[:1]
    unpublish(client, volume, NODES[1])  # it never was there
    assert published(client, volume) == NODES[:1]
    for _ in range(2):
        unpublish(client, volume, NODES[0])
    publish(client, volume, NODES[1], mode)
    assert published(client, volume) == NODES[1:2]


@pytest.mark.parametrize("mode", ["MULTI_NODE_MULTI_WRITER", "MULTI_NODE_READER_ONLY"])
def test_shared_volume_goes_to_all(client, mode):
    volume = create(client, "rwx")
    for node in NODES:
        publish(client, volume, node, mode)
    assert published(client, volume) == NODES
    unpublish(client, volume, NODES[1])
    assert published(client, volume) == [NODES[0], NODES[2]]
    unpublish(client, volume)  # without a node: all of them
    assert published(client, volume) == []


def test_publish_of_what_is_not_there(client):
    volume = create(client, "v")
    with refused(CODES.NOT_FOUND, "no node 'somebody-else'"):
        publish(client, volume, "somebody-else")
    client.DeleteVolume(volume_id=volume.volume_id)
    with refused(CODES.NOT_FOUND, "no volume"):
        publish(client, volume, NODES[0])
    unpublish(client, volume, NODES[0])


def test_published_nodes_are_not_inherited(client):
    volume = create(client, "origin")
    publish(client, volume, NODES[0])
    client.ControllerModifyVolume(
        volume_id=volume.volume_id, mutable_parameters={"rbd_qos_iops_limit": "1"}
    )
    copy = create(client, "copy", source=volume.volume_id)
    assert published(client, copy) == []
    publish(client, copy, NODES[1])


BAD_IDS = [
    "x",
    "1",
    "1:",
    "1:local:1::",
    "2:local:1::abc",
    "1:local:01::abc",
    "1:local:-1::abc",
    "1:local:1:a/b:abc",
    "1:local:1::abc:",
    "1:local:1::a b",
    "1:" + "x" * 37 + ":1::abc",
    "1:local:99999999999999999999::abc",
    "1:local:1::../../etc",
    "1:local:77::abc",
    "1:local:1:nope:abc",
    "1:local:1::ffffffffffff",
    "1:local:1::ffffffffffff@1",
    "1:local:1::ffffffffffff@zz",
    "@",
    "ü",
]


def calls_that_need(client, bad):
    """Everything that can be asked of a volume or snapshot that must be there."""
    source = {"volume": {"volume_id": bad}}, {"snapshot": {"snapshot_id": bad}}
    return [
        lambda: client.ControllerGetVolume(volume_id=bad),
        lambda: client.GetSnapshot(snapshot_id=bad),
        lambda: client.CreateSnapshot(name="s", source_volume_id=bad),
        lambda: client.ControllerExpandVolume(volume_id=bad, capacity_range={"required_bytes": 1}),
        lambda: client.ControllerModifyVolume(volume_id=bad),
        lambda: client.ValidateVolumeCapabilities(
            volume_id=bad, volume_capabilities=[capability()]
        ),
        lambda: client.ControllerPublishVolume(
            volume_id=bad, node_id=NODES[0], volume_capability=capability()
        ),
        lambda: create(client, "copy", volume_content_source=source[0]),
        lambda: create(client, "copy", volume_content_source=source[1]),
    ]


def test_handles_that_name_nothing(client):
    """Not found where something must be there, fine where it must be gone."""
    volume = create(client, "v")
    for bad in BAD_IDS:
        client.DeleteVolume(volume_id=bad)
        client.DeleteSnapshot(snapshot_id=bad)
        client.ControllerUnpublishVolume(volume_id=bad, node_id=NODES[0])
        for call in calls_that_need(client, bad):
            with refused(CODES.NOT_FOUND, "no (volume|snapshot) '"):
                call()
        assert list(client.ListSnapshots(snapshot_id=bad).entries) == []
        assert list(client.ListSnapshots(source_volume_id=bad).entries) == []
    assert [entry.volume for entry in volumes.listed_volumes(client)] == [volume]


def test_empty_handles(client):
    for call in calls_that_need(client, ""):
        with refused(CODES.INVALID_ARGUMENT, "is needed"):
            call()
    for call in (client.DeleteVolume, client.DeleteSnapshot, client.ControllerUnpublishVolume):
        with refused(CODES.INVALID_ARGUMENT, "_id is needed"):
            call()


def test_cluster_that_is_not_configured_is_not_gone(client):
    """The volume may well be there: nobody may believe that it was deleted."""
    elsewhere = "1:elsewhere:1::abc"
    with refused(CODES.FAILED_PRECONDITION, "no cluster 'elsewhere'"):
        client.DeleteVolume(volume_id=elsewhere)
    with refused(CODES.FAILED_PRECONDITION, "no cluster 'elsewhere'"):
        client.DeleteSnapshot(snapshot_id=elsewhere + "@1")
    with refused(CODES.FAILED_PRECONDITION, "no cluster 'elsewhere'"):
        client.ControllerGetVolume(volume_id=elsewhere)


def test_images_of_others_are_left_alone(cluster, client):
    with cluster.ioctx(volumes.POOL) as ioctx:
        rbd.RBD().create(ioctx, "somebody's", volumes.MIB)
        try:
            with rbd.Image(ioctx, "somebody's") as image:
                image_id = image.id()
                image.create_snap("theirs")
                snap_id = next(iter(image.list_snaps()))["id"]
            handle = f"1:{volumes.CLUSTER_ID}:{cluster.rados.pool_lookup(volumes.POOL)}::{image_id}"
            with refused(CODES.FAILED_PRECONDITION, "not made by this driver: it is left alone"):
                client.DeleteVolume(volume_id=handle)
            client.DeleteSnapshot(snapshot_id=f"{handle}@{snap_id:x}")
            with refused(CODES.NOT_FOUND, "not one of this driver's"):
                client.ControllerGetVolume(volume_id=handle)
            with refused(CODES.NOT_FOUND, "not one of this driver's"):
                client.GetSnapshot(snapshot_id=f"{handle}@{snap_id:x}")
            assert volumes.listed_volumes(client) == [] and volumes.listed_snapshots(client) == []
            with rbd.Image(ioctx, "somebody's") as image:
                assert [snap["name"] for snap in image.list_snaps()] == ["theirs"]
                image.remove_snap("theirs")
        finally:
            rbd.RBD().remove(ioctx, "somebody's")
