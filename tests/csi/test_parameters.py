# SPDX-License-Identifier: Apache-2.0
"""Every StorageClass parameter has the effect that it says, as Ceph's own tools see it."""

import json
import subprocess

import pytest

import volumes
from volumes import CODES, MIB, create, parameters, refused, volume_request


def rbd_info(cluster, handle, pool=volumes.POOL, namespace=""):
    """What `rbd info` says."""
    command = [
        "rbd",
        "-c",
        cluster.conf,
        "info",
        "--format",
        "json",
        "--pool",
        pool,
        "--namespace",
        namespace,
        "--image-id",
        volumes.image_id_of(handle),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


def test_defaults(cluster, client):
    volume = create(client, "plain")
    info = rbd_info(cluster, volume.volume_id)
    assert info["name"] == "imprint.v.plain"
    assert info["size"] == 64 * MIB
    assert info["object_size"] == 4 * MIB
    assert "layering" in info["features"] and "exclusive-lock" in info["features"]
    assert "data_pool" not in info and "parent" not in info


@pytest.mark.parametrize(
    "given, features",
    [
        ("layering", {"layering"}),
        ("layering,exclusive-lock", {"layering", "exclusive-lock"}),
        (
            "layering,exclusive-lock,object-map,fast-diff,deep-flatten",
            {"layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"},
        ),
        ("layering,exclusive-lock,journaling", {"layering", "exclusive-lock", "journaling"}),
    ],
)
def test_image_features(cluster, client, given, features):
    volume = create(client, "features", parameters=parameters(imageFeatures=given))
    assert set(rbd_info(cluster, volume.volume_id)["features"]) == features


@pytest.mark.parametrize(
    "given, size", [("4Ki", 4096), ("1Mi", MIB), ("8388608", 8 * MIB), ("32Mi", 32 * MIB)]
)
def test_object_size(cluster, client, given, size):
    volume = create(client, "objects", parameters=parameters(objectSize=given))
    assert rbd_info(cluster, volume.volume_id)["object_size"] == size


def test_striping(cluster, client):
    volume = create(client, "stripes", parameters=parameters(stripeUnit="64Ki", stripeCount="8"))
    info = rbd_info(cluster, volume.volume_id)
    assert (info["stripe_unit"], info["stripe_count"]) == (64 * 1024, 8)
    data = volumes.write(cluster, volume.volume_id, "stripes", 5 * MIB, offset=3 * MIB)
    assert volumes.contents(cluster, volume.volume_id)[3 * MIB : 8 * MIB] == data


def test_data_pool(cluster, client):
    volume = create(client, "split", parameters=parameters(dataPool=volumes.DATA_POOL))
    assert rbd_info(cluster, volume.volume_id)["data_pool"] == volumes.DATA_POOL
    volumes.write(cluster, volume.volume_id, "split")
    with cluster.ioctx(volumes.DATA_POOL) as ioctx:
        assert any("rbd_data." in item.key for item in ioctx.list_objects())


def test_namespace(cluster, client):
    volume = create(client, "tenants", parameters=parameters(namespace=volumes.NAMESPACE))
    assert f":{volumes.NAMESPACE}:" in volume.volume_id
    assert cluster.images(volumes.POOL, volumes.NAMESPACE) == ["imprint.v.tenants"]
    assert cluster.images(volumes.POOL) == []
    assert rbd_info(cluster, volume.volume_id, namespace=volumes.NAMESPACE)["size"] == 64 * MIB


def test_volume_context_tells_the_node_plugin(client):
    given = parameters(
        namespace=volumes.NAMESPACE,
        mapper="krbd",
        mapOptions="noshare,queue_depth=64",
        mkfsOptions="-E nodiscard",
        unmapOptions="force",
    )
    volume = create(client, "context", parameters=given)
    assert dict(volume.volume_context) == given


def test_what_kubernetes_adds_is_kept_for_people(cluster, client):
    labels = {
        "csi.storage.k8s.io/pvc/name": "claim",
        "csi.storage.k8s.io/pvc/namespace": "team",
        "csi.storage.k8s.io/pv/name": "pvc-1",
    }
    volume = create(client, "labelled", parameters=parameters(**labels))
    with cluster.volume(volume.volume_id) as image:
        assert image.metadata_get("imprint.label.pvc/name") == "claim"
    # another claim's name does not make another volume of it
    again = create(
        client, "labelled", parameters=parameters(**{**labels, "csi.storage.k8s.io/pvc/name": "x"})
    )
    assert again == volume


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"poool": "x"}, "'poool' is not known"),
        ({"Pool": "x"}, "'Pool' is not known"),
        ({"csi.storage.k8s.io": "x"}, "'csi.storage.k8s.io' is not known"),
        ({"imageFeatures": "layering,exclusive-lok"}, "'imageFeatures'.*'exclusive-lok'"),
        ({"imageFeatures": "exclusive-lock"}, "'imageFeatures'.*'layering' is needed"),
        ({"imageFeatures": "layering,fast-diff"}, "'fast-diff' needs 'object-map'"),
        ({"objectSize": "3Mi"}, "'objectSize'.*power of two.*'3Mi'"),
        ({"objectSize": "64Mi"}, "'objectSize'.*32Mi"),
        ({"stripeUnit": "64Ki"}, "'stripeCount' is missing"),
        ({"stripeCount": "2"}, "'stripeUnit' is missing"),
        ({"stripeUnit": "48Ki", "stripeCount": "2"}, "'stripeUnit'.*does not divide"),
        ({"stripeUnit": "64Ki", "stripeCount": "0"}, "'stripeCount'"),
        ({"copyMode": "deep"}, "'copyMode'.*'deep'"),
        ({"mapper": "iscsi"}, "'mapper'.*'iscsi'"),
        ({"mapOptions": "a\nb"}, "'mapOptions'"),
        ({"pool": None}, "'pool' is needed"),
        ({"pool": ""}, "'pool'"),
        ({"pool": "no-such-pool"}, "no pool 'no-such-pool'"),
        ({"dataPool": "no-such-pool"}, "no-such-pool"),
        (
            {"namespace": "no-such-namespace"},
            "no namespace 'no-such-namespace'.*rbd namespace create",
        ),
        ({"namespace": "a/b"}, "'namespace'.*'a/b'"),
        ({"clusterID": "no-such-cluster"}, "'clusterID'.*no cluster 'no-such-cluster'"),
    ],
)
def test_refused_by_name(cluster, client, changed, said):
    with refused(CODES.INVALID_ARGUMENT, "create volume 'bad'", said):
        create(client, "bad", parameters=parameters(**changed))
    assert cluster.images(volumes.POOL) == []


def test_cluster_id_may_be_left_out_when_there_is_one(client):
    volume = create(client, "only", parameters=parameters(clusterID=None))
    assert volume.volume_id.startswith(f"1:{volumes.CLUSTER_ID}:")


def test_limits_at_creation(cluster, client):
    volume = create(client, "limited", mutable_parameters={"rbd_qos_iops_limit": "500"})
    with cluster.volume(volume.volume_id) as image:
        assert image.metadata_get("conf_rbd_qos_iops_limit") == "500"
    with refused(CODES.INVALID_ARGUMENT, "'rbd_cache' is not known"):
        create(client, "limited2", mutable_parameters={"rbd_cache": "true"})


def test_snapshot_class_takes_no_parameters(client):
    volume = create(client, "origin")
    with refused(CODES.INVALID_ARGUMENT, "'pool' is not known"):
        client.CreateSnapshot(name="s", source_volume_id=volume.volume_id, parameters={"pool": "x"})
    client.CreateSnapshot(
        name="s",
        source_volume_id=volume.volume_id,
        parameters={"csi.storage.k8s.io/volumesnapshot/name": "x"},
    )


@pytest.mark.parametrize("name, said", [("", "name is needed"), ("n" * 129, "name has 129 bytes")])
def test_names_that_csi_does_not_allow(client, name, said):
    with refused(CODES.INVALID_ARGUMENT, said):
        create(client, name)


@pytest.mark.parametrize(
    "name", ["n" * 128, "a/b@c", "Ä name with blanks", "..", "-", "x" * 81, "名" * 42]
)
def test_names_that_rbd_does_not_allow(cluster, client, name):
    """CSI allows any text; what RBD cannot bear is hashed and kept beside the image."""
    volume = create(client, name)
    assert create(client, name) == volume
    with cluster.volume(volume.volume_id) as image:
        assert image.metadata_get("imprint.name") == name
    snap = volumes.snapshot(client, name, volume.volume_id)
    assert volumes.snapshot(client, name, volume.volume_id) == snap
    assert create(
        client, name + "2" if len(name.encode()) < 128 else "n", source=snap.snapshot_id
    ).volume_id
