# SPDX-License-Identifier: Apache-2.0
"""ControllerModifyVolume: RBD's own limits, as `rbd config image list` shows them."""

import json
import subprocess

import pytest

import volumes
from volumes import CODES, MIB, create, refused

ALL = [
    f"rbd_qos_{direction}{rate}_{kind}"
    for direction in ("", "read_", "write_")
    for rate in ("iops", "bps")
    for kind in ("limit", "burst", "burst_seconds")
]


def config_of(cluster, volume):
    """name: value of what is set on the image itself."""
    with cluster.volume(volume.volume_id, read_only=True) as image:
        name = image.get_name()
    done = subprocess.run(
        [
            "rbd",
            "-c",
            cluster.conf,
            "config",
            "image",
            "list",
            "--format",
            "json",
            f"{volumes.POOL}/{name}",
        ],
        check=True,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    return {
        entry["name"]: entry["value"]
        for entry in json.loads(done.stdout)
        if entry["source"] == "image"
    }


def modify(client, volume, **limits):
    client.ControllerModifyVolume(volume_id=volume.volume_id, mutable_parameters=limits)


def test_every_limit(cluster, client):
    volume = create(client, "v", MIB)
    modify(client, volume)
    assert config_of(cluster, volume) == {}
    wanted = {name: str(100 + number) for number, name in enumerate(ALL)}
    for _ in range(2):
        modify(client, volume, **wanted)
        assert config_of(cluster, volume) == wanted


def test_sizes_and_changes(cluster, client):
    volume = create(client, "v", MIB, mutable_parameters={"rbd_qos_iops_limit": "500"})
    assert config_of(cluster, volume) == {"rbd_qos_iops_limit": "500"}
    modify(client, volume, rbd_qos_bps_limit="100Mi", rbd_qos_iops_limit="0")
    assert config_of(cluster, volume) == {
        "rbd_qos_bps_limit": str(100 * MIB),
        "rbd_qos_iops_limit": "0",
    }


@pytest.mark.parametrize(
    "bad, said",
    [
        ({"rbd_cache": "false"}, "'rbd_cache' is not known"),
        ({"rbd_qos_iops_limits": "1"}, "'rbd_qos_iops_limits' is not known"),
        ({"rbd_qos_iops_limit": "many"}, "'rbd_qos_iops_limit'.*'many'"),
        ({"rbd_qos_iops_limit": "-1"}, "'rbd_qos_iops_limit'.*'-1'"),
        ({"rbd_qos_iops_limit": ""}, "'rbd_qos_iops_limit'"),
        ({"rbd_qos_iops_limit": "99999999999999999999"}, "'rbd_qos_iops_limit'"),
    ],
)
def test_refused_as_a_whole(cluster, client, bad, said):
    volume = create(client, "v", MIB)
    with refused(CODES.INVALID_ARGUMENT, said):
        modify(client, volume, **{"rbd_qos_bps_limit": "5", **bad})
    assert config_of(cluster, volume) == {}


def test_volume_that_is_in_use(cluster, client):
    """A client that has it open obeys from now on, and does not stand in the way."""
    volume = create(client, "v", MIB)
    with cluster.volume(volume.volume_id) as image:
        image.write(b"x", 0)
        modify(client, volume, rbd_qos_iops_limit="700")
        assert volumes.wait_until(
            lambda: {"rbd_qos_iops_limit"}
            <= {entry["name"] for entry in image.config_list() if entry["value"] == "700"}
        )
