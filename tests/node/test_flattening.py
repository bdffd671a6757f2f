# SPDX-License-Identifier: Apache-2.0
"""A volume that the controller copies free of its parents when a pod wants it: the pod comes first."""

import os
import time

import pytest

import chains
import volumes
from chains import SLOW_BYTES
from node import Node
from staged import Staged
from volumes import CODES, MIB, refused

STAGE_S = 20  # on a busy machine; the copying takes longer there, too


def overlap_of(cluster, handle):
    with cluster.volume(handle, read_only=True) as image:
        return image.overlap()


@pytest.fixture
def deep(cluster, control):
    """A volume that is being flattened, and its contents."""
    handles, data = chains.make_slow(cluster, control, chains.DEPTH_SOFT)
    volume = volumes.create(control, "deep", SLOW_BYTES, source=handles[-1])
    assert volumes.wait_until(lambda: chains.lock_owner(cluster, volume.volume_id))
    return volume, data


def stage_and_compare(cluster, node, client, volume, data, mode):
    started = time.monotonic()
    with Staged(client, node, volume, mode=mode) as staged:
        assert time.monotonic() - started < STAGE_S
        device = staged.publish(readonly="READER" in mode)
        if "WRITER" in mode:
            with open(device, "r+b", buffering=0) as disk:
                disk.write(b"w" * MIB)
                os.fsync(disk.fileno())
            data = b"w" * MIB + data[MIB:]
        with open(device, "rb") as disk:
            assert disk.read() == data
        assert overlap_of(cluster, volume.volume_id) == SLOW_BYTES, "the copying was over too early"
    return data


def test_it_is_staged_at_once_and_copied_later(cluster, node, client, deep):
    volume, data = deep
    data = stage_and_compare(cluster, node, client, volume, data, "SINGLE_NODE_WRITER")
    assert volumes.wait_until(lambda: chains.is_flat(cluster, volume.volume_id), 90)
    assert volumes.contents(cluster, volume.volume_id) == data


@pytest.mark.parametrize("mode", ["MULTI_NODE_READER_ONLY", "MULTI_NODE_MULTI_WRITER"])
def test_it_is_staged_on_many_nodes(cluster, node, client, deep, mode):
    volume, data = deep
    stage_and_compare(cluster, node, client, volume, data, mode)
    with cluster.volume(volume.volume_id, read_only=True) as image:
        is_marked = "imprint.flattening" in dict(image.metadata_list())
    # readers do not show, and must not be copied under: it stays as it is for good
    assert is_marked == ("WRITER" in mode)


def test_it_stays_one_nodes_alone(cluster, node, client, deep):
    """Who makes room is the controller and nobody else."""
    volume, _ = deep
    with Staged(client, node, volume) as staged:
        with cluster.volume(volume.volume_id, read_only=True) as image:
            watchers = {watcher["addr"] for watcher in image.watchers_list()}
        assert len(watchers) == 1, "the controller has it open, too"
        with Node(cluster.dir, name="node-b") as other, other.client() as other_client:
            rival = Staged(other_client, other, volume)
            with refused(CODES.FAILED_PRECONDITION, "the Ceph client at .* has it open"):
                rival.stage()
            assert other.leftovers() == []
        staged.publish()
        staged.stage()  # once more, and while it is in use
