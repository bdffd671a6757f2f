# SPDX-License-Identifier: Apache-2.0
"""Sizes: both limits of a capacity range, growth, and the room that is left in a pool."""

import pytest

import volumes
from volumes import CODES, GIB, MIB, capability, create, parameters, refused

TIB = 1 << 40


@pytest.mark.parametrize(
    "required, limit, size",
    [
        (0, 0, GIB),  # the default
        (1, 0, MIB),  # rounded up
        (MIB, 0, MIB),
        (MIB + 1, 0, 2 * MIB),
        (MIB + 1, 2 * MIB, 2 * MIB),
        (MIB, MIB, MIB),
        (0, 100 * MIB, 100 * MIB),  # the default does not fit
        (0, 2 * GIB, GIB),
        (0, 100 * MIB + 5, 100 * MIB),  # rounded down
    ],
)
def test_size(cluster, client, required, limit, size):
    volume = create(client, "sized", required, limit=limit)
    assert volume.capacity_bytes == size
    assert volumes.size_of(cluster, volume.volume_id) == size


def test_largest(cluster, client):
    """It takes a while to see that nothing is in it; the very largest would take a minute."""
    volume = create(client, "huge", 20 * TIB, parameters=parameters(objectSize="32Mi"))
    assert volumes.size_of(cluster, volume.volume_id) == 20 * TIB


def test_more_objects_than_an_image_can_have(cluster, client):
    small = parameters(objectSize="4Ki")
    with refused(CODES.OUT_OF_RANGE, "1 TiB in objects of 4 KiB.*'objectSize'"):
        create(client, "huge", TIB, parameters=small)
    assert cluster.images(volumes.POOL) == []
    volume = create(client, "small", 8 * MIB, parameters=small)
    with refused(CODES.OUT_OF_RANGE, "1 TiB in objects of 4 KiB.*'objectSize'"):
        client.ControllerExpandVolume(
            volume_id=volume.volume_id, capacity_range={"required_bytes": TIB}
        )
    # a clone has objects as its source has them, unless told otherwise
    with refused(CODES.OUT_OF_RANGE, "1 TiB in objects of 4 KiB.*'objectSize'"):
        create(client, "copy", TIB, source=volume.volume_id)


@pytest.mark.parametrize(
    "required, limit, code, said",
    [
        (-1, 0, CODES.INVALID_ARGUMENT, "required_bytes is negative"),
        (0, -1, CODES.INVALID_ARGUMENT, "limit_bytes is negative"),
        (
            2 * MIB,
            MIB,
            CODES.INVALID_ARGUMENT,
            "limit_bytes 1048576 is below required_bytes 2097152",
        ),
        (MIB + 1, MIB + 2, CODES.OUT_OF_RANGE, "no whole number of MiB"),
        (0, 1000, CODES.OUT_OF_RANGE, "no whole number of MiB"),
        (901 * TIB, 0, CODES.OUT_OF_RANGE, "required_bytes: 901 TiB is above"),
        ((1 << 63) - 1, 0, CODES.OUT_OF_RANGE, "required_bytes"),
        ((1 << 63) - 1, (1 << 63) - 1, CODES.OUT_OF_RANGE, "required_bytes"),
    ],
)
def test_impossible_range(cluster, client, required, limit, code, said):
    with refused(code, said):
        create(client, "sized", required, limit=limit)
    assert cluster.images(volumes.POOL) == []


def test_source_decides_when_nothing_is_asked_for(client):
    origin = create(client, "origin", 8 * MIB)
    assert create(client, "copy", 0, source=origin.volume_id).capacity_bytes == 8 * MIB
    with refused(
        CODES.OUT_OF_RANGE, "limit_bytes: 4 MiB is less than the source has, which is 8 MiB"
    ):
        create(client, "small", 0, limit=4 * MIB, source=origin.volume_id)


def test_smaller_than_the_source(client):
    """What is asked for is a minimum: the source's size is more."""
    origin = create(client, "origin", 8 * MIB)
    assert create(client, "copy", 4 * MIB, source=origin.volume_id).capacity_bytes == 8 * MIB


def test_expand(cluster, client):
    volume = create(client, "growing", 8 * MIB)
    data = volumes.write(cluster, volume.volume_id, "before")

    def expand(required, limit=0):
        return client.ControllerExpandVolume(
            volume_id=volume.volume_id,
            volume_capability=capability(),
            capacity_range={"required_bytes": required, "limit_bytes": limit},
        )

    for _ in range(2):  # the same again changes nothing
        answer = expand(20 * MIB)
        assert answer.capacity_bytes == 20 * MIB and answer.node_expansion_required
    assert expand(10 * MIB).capacity_bytes == 20 * MIB  # never shrinks
    with refused(CODES.OUT_OF_RANGE, "it has 20 MiB.*limit_bytes 10 MiB.*cannot shrink"):
        expand(0, 10 * MIB)
    assert expand(21 * MIB - 1, 22 * MIB).capacity_bytes == 21 * MIB
    with refused(CODES.OUT_OF_RANGE, "901 TiB"):
        expand(901 * TIB)
    with refused(CODES.INVALID_ARGUMENT, "capacity_range is needed"):
        client.ControllerExpandVolume(volume_id=volume.volume_id)
    with refused(CODES.INVALID_ARGUMENT, "volume_id is needed"):
        client.ControllerExpandVolume(capacity_range={"required_bytes": MIB})
    assert volumes.size_of(cluster, volume.volume_id) == 21 * MIB
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data
    assert client.ControllerGetVolume(volume_id=volume.volume_id).volume.capacity_bytes == 21 * MIB


def test_expand_while_another_client_has_it_open(cluster, client):
    """As when a pod uses it: its client holds the exclusive lock."""
    volume = create(client, "busy", 8 * MIB)
    with cluster.volume(volume.volume_id) as image:
        image.write(b"held", 0)
        client.ControllerExpandVolume(
            volume_id=volume.volume_id, capacity_range={"required_bytes": 16 * MIB}
        )
        assert volumes.wait_until(lambda: image.size() == 16 * MIB)


def test_get_capacity(cluster, client):
    with_class = client.GetCapacity(parameters=parameters())
    assert with_class.available_capacity > GIB
    assert with_class.maximum_volume_size.value == 900 * TIB
    assert with_class.minimum_volume_size.value == MIB
    assert client.GetCapacity().available_capacity >= with_class.available_capacity > 0
    data_pool = client.GetCapacity(parameters=parameters(dataPool=volumes.DATA_POOL))
    assert data_pool.available_capacity > GIB
    mount_rwx = [capability("MULTI_NODE_MULTI_WRITER", "ext4")]
    assert (
        client.GetCapacity(
            parameters=parameters(), volume_capabilities=mount_rwx
        ).available_capacity
        == 0
    )
    for changed, said in (
        ({"poool": "x"}, "'poool'"),
        ({"pool": "nowhere"}, "parameter 'pool': cluster .* has no pool 'nowhere'"),
        ({"dataPool": "nowhere"}, "parameter 'dataPool': cluster .* has no pool 'nowhere'"),
        ({"clusterID": "nowhere"}, "parameter 'clusterID': no cluster 'nowhere'"),
    ):
        with refused(CODES.INVALID_ARGUMENT, said):
            client.GetCapacity(parameters=parameters(**changed))


def test_get_capacity_falls_with_use(cluster, client):
    before = client.GetCapacity(parameters=parameters()).available_capacity
    volume = create(client, "filled", 256 * MIB)
    with cluster.volume(volume.volume_id) as image:
        for offset in range(0, 256 * MIB, 16 * MIB):
            image.write(volumes.bytes_of("fill", 16 * MIB), offset)
    assert volumes.wait_until(
        lambda: client.GetCapacity(parameters=parameters()).available_capacity < before - 100 * MIB
    )
