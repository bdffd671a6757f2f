# SPDX-License-Identifier: Apache-2.0
"""Volumes from snapshots and from volumes: the right bytes, the right size, wherever they lie."""

import concurrent.futures

import pytest
import rbd

import volumes
from volumes import CODES, MIB, create, parameters, refused

SIZE = 16 * MIB
KINDS = ["snapshot", "volume"]
MODES = ["cow", "clone"]


@pytest.fixture
def origin(cluster, client):
    """A volume with something in its first and its last object."""
    volume = create(client, "origin", SIZE)
    volumes.write(cluster, volume.volume_id, "first")
    volumes.write(cluster, volume.volume_id, "last", offset=SIZE - MIB)
    return volume


def source_of(client, origin, kind):
    if kind == "volume":
        return origin.volume_id
    return volumes.snapshot(client, "origin-snapshot", origin.volume_id).snapshot_id


def has_parent(cluster, handle):
    with cluster.volume(handle, read_only=True) as image:
        try:
            image.parent_info()
            return True
        except rbd.ImageNotFound:
            return False


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [SIZE, 3 * SIZE])
def test_copy(cluster, client, origin, kind, size, mode):
    source = source_of(client, origin, kind)
    before = volumes.contents(cluster, origin.volume_id)
    copy = create(client, "copy", size, source=source, parameters=parameters(copyMode=mode))
    assert copy.capacity_bytes == size == volumes.size_of(cluster, copy.volume_id)
    asked = copy.content_source
    assert (asked.snapshot.snapshot_id or asked.volume.volume_id) == source
    assert volumes.contents(cluster, copy.volume_id) == before + bytes(size - SIZE)
    assert has_parent(cluster, copy.volume_id) == (mode == "cow")
    assert client.ControllerGetVolume(volume_id=copy.volume_id).volume == copy
    # each goes its own way from here
    volumes.write(cluster, origin.volume_id, "changed", offset=4 * MIB)
    assert volumes.contents(cluster, copy.volume_id) == before + bytes(size - SIZE)
    volumes.write(cluster, copy.volume_id, "other", offset=8 * MIB)
    assert volumes.contents(cluster, origin.volume_id)[8 * MIB : 9 * MIB] == bytes(MIB)


def test_snapshot_is_of_its_moment(cluster, client, origin):
    first = volumes.contents(cluster, origin.volume_id)
    snap = volumes.snapshot(client, "s1", origin.volume_id)
    volumes.write(cluster, origin.volume_id, "later", offset=MIB)
    client.ControllerExpandVolume(
        volume_id=origin.volume_id, capacity_range={"required_bytes": 2 * SIZE}
    )
    assert snap.size_bytes == SIZE and snap.ready_to_use and snap.creation_time.seconds > 0
    assert snap.source_volume_id == origin.volume_id
    again = volumes.snapshot(client, "s1", origin.volume_id)
    assert again == snap == client.GetSnapshot(snapshot_id=snap.snapshot_id).snapshot
    restored = create(client, "restored", SIZE, source=snap.snapshot_id)
    assert volumes.contents(cluster, restored.volume_id) == first


@pytest.mark.parametrize("mode", MODES)
def test_from_the_snapshot_of_a_deleted_volume(cluster, client, origin, mode):
    before = volumes.contents(cluster, origin.volume_id)
    snap = volumes.snapshot(client, "s1", origin.volume_id)
    client.DeleteVolume(volume_id=origin.volume_id)
    assert volumes.listed_volumes(client) == []
    assert volumes.listed_snapshots(client) == [snap]
    assert volumes.snapshot_or_code(client, "s2", origin.volume_id) == CODES.NOT_FOUND
    for name in ("one", "two"):
        copy = create(
            client, name, SIZE, source=snap.snapshot_id, parameters=parameters(copyMode=mode)
        )
        assert volumes.contents(cluster, copy.volume_id) == before
    # the deleted volume's name is free again
    again = create(client, "origin", SIZE)
    assert again.volume_id != origin.volume_id
    assert volumes.contents(cluster, again.volume_id) == bytes(SIZE)


PLACES = {
    "other pool": {"pool": volumes.DATA_POOL},
    "namespace": {"namespace": volumes.NAMESPACE},
    "data pool": {"dataPool": volumes.DATA_POOL},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_across_places(cluster, client, origin, kind, place):
    """There, and back from there."""
    before = volumes.contents(cluster, origin.volume_id)
    there = create(
        client,
        "there",
        SIZE,
        source=source_of(client, origin, kind),
        parameters=parameters(**PLACES[place]),
    )
    assert volumes.contents(cluster, there.volume_id) == before
    back = create(client, "back", 2 * SIZE, source=there.volume_id)
    assert volumes.contents(cluster, back.volume_id) == before + bytes(SIZE)
    client.DeleteVolume(volume_id=origin.volume_id)
    client.DeleteVolume(volume_id=there.volume_id)
    assert volumes.contents(cluster, back.volume_id) == before + bytes(SIZE)


LAYOUTS = {
    "smaller objects": dict(objectSize="1Mi"),
    "larger objects": dict(objectSize="8Mi"),
    "stripes": dict(stripeUnit="1Mi", stripeCount="2"),
    "stripes in small objects": dict(objectSize="2Mi", stripeUnit="64Ki", stripeCount="4"),
    "few features": dict(imageFeatures="layering"),
    "journal": dict(imageFeatures="layering,exclusive-lock,journaling"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copy_with_another_layout(cluster, client, origin, layout):
    before = volumes.contents(cluster, origin.volume_id)
    given = LAYOUTS[layout]
    copy = create(client, "copy", 2 * SIZE, source=origin.volume_id, parameters=parameters(**given))
    with cluster.volume(copy.volume_id, read_only=True) as image:
        wanted = {"1Mi": MIB, "2Mi": 2 * MIB, "8Mi": 8 * MIB}.get(given.get("objectSize"), 4 * MIB)
        assert image.stat()["obj_size"] == wanted
        assert image.stripe_count() == int(given.get("stripeCount", 1))
        assert image.stripe_unit() == {"1Mi": MIB, "64Ki": 65536}.get(
            given.get("stripeUnit"), wanted
        )
        has_stripes = bool(image.features() & rbd.RBD_FEATURE_STRIPINGV2)
        assert has_stripes == ("stripeUnit" in given)
    assert volumes.contents(cluster, copy.volume_id) == before + bytes(SIZE)


def test_copy_of_a_copy_of_a_copy(cluster, client, origin):
    before = volumes.contents(cluster, origin.volume_id)
    chain = [origin]
    for name in ("a", "b", "c"):
        chain.append(create(client, name, SIZE, source=chain[-1].volume_id))
    for volume in chain[:-1]:
        client.DeleteVolume(volume_id=volume.volume_id)
    assert volumes.contents(cluster, chain[-1].volume_id) == before


def test_many_at_once_from_one_source(cluster, client, origin):
    before = volumes.contents(cluster, origin.volume_id)
    snap = volumes.snapshot(client, "s1", origin.volume_id).snapshot_id
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        made = list(
            threads.map(
                lambda i: create(
                    client, f"copy-{i}", SIZE, source=snap if i % 2 else origin.volume_id
                ),
                range(32),
            )
        )
    assert len({volume.volume_id for volume in made}) == 32
    for volume in made[:4]:
        assert volumes.contents(cluster, volume.volume_id) == before


def test_source_of_another_kind_is_refused(client, origin):
    with refused(CODES.INVALID_ARGUMENT, "only a snapshot or a volume can be a source"):
        create(client, "copy", volume_content_source={})


def test_limits_and_labels_are_not_inherited(cluster, client, origin):
    client.ControllerModifyVolume(
        volume_id=origin.volume_id, mutable_parameters={"rbd_qos_bps_limit": "1Mi"}
    )
    for mode in MODES:
        copy = create(
            client, mode, SIZE, source=origin.volume_id, parameters=parameters(copyMode=mode)
        )
        with cluster.volume(copy.volume_id, read_only=True) as image:
            keys = dict(image.metadata_list())
        assert keys["imprint.name"] == mode
        assert keys["imprint.source"] == origin.volume_id
        assert keys["imprint.ready"] == volumes.image_id_of(copy.volume_id)
        assert not [key for key in keys if key.startswith("conf_rbd_qos_") or "copying" in key]
