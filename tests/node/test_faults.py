# SPDX-License-Identifier: Apache-2.0
"""kill -9 behind every call of an RPC that changes the node or Ceph, each in turn; then the same RPC
again, and on to the end of the volume's way: everything works, and nothing is left.

The places are not listed here: the plugin is killed behind the first one that it passes, the second,
and so on, until it gets through. It needs the build with fault points (tests/env/groups)."""

import os

import grpc
import pytest

import volumes
from inline import Inline
from node import Node
from staged import Staged
from volumes import CODES, MIB

# A call that hangs on a step for ever would never get through.
PLACES_MAX = 150
# Refusals that end by themselves: the dead plugin's own Ceph client is believed to be alive.
PASSING = volumes.PASSING | {CODES.FAILED_PRECONDITION}


class Killer:
    """A node whose plugin dies behind a given place."""

    def __init__(self, cluster, tmp_path):
        self.file = tmp_path / "armed"
        self.trace = tmp_path / "trace"
        self.node = Node(cluster.dir, preset="faults", environment={
            "IMPRINT_FAULT_FILE": str(self.file), "IMPRINT_FAULT_TRACE": str(self.trace)})
        self.seen = set()

    def arm(self, place):
        self.file.write_text(f"{place} {os.urandom(4).hex()}\n")

    def disarm(self):
        self.file.write_text("0\n")

    def dies_in(self, place, call):
        """Whether the plugin died behind its `place`th step of the call."""
        self.trace.write_text("")
        self.arm(place)
        try:
            call()
        except grpc.RpcError:
            if not volumes.wait_until(lambda: not self.node.is_running(), 5):
                raise
        self.disarm()
        self.seen |= set(self.trace.read_text().splitlines())
        # it may die yet, of what it does by itself while nobody calls
        if not volumes.wait_until(lambda: not self.node.is_running(), 0.3):
            return False
        self.node.wait()
        self.node.start()
        return True


@pytest.fixture
def killer(cluster, tmp_path):
    killer = Killer(cluster, tmp_path)
    with killer.node:
        yield killer
        assert killer.node.leftovers() == []


def write_file(folder):
    with open(f"{folder}/file", "w", encoding="ascii") as file:
        file.write("works")
        file.flush()
        os.fsync(file.fileno())


def places():
    return range(1, PLACES_MAX)


@pytest.mark.parametrize("fs_type", ["ext4", None])
def test_stage(killer, create, fs_type):
    for place in places():
        volume = create(f"v-{place}", 32 * MIB)
        with killer.node.client() as client:
            staged = Staged(client, killer.node, volume, fs_type)
            died = killer.dies_in(place, staged.stage)
        with killer.node.client() as client:
            staged.client = client
            volumes.patiently(staged.stage, passing=PASSING)
            target = staged.publish()
            if fs_type:
                write_file(target)
            staged.leave()
        assert killer.node.leftovers() == [], sorted(killer.seen)
        if not died:
            break
    assert place > 5 and any("LOOP_CONFIGURE" in name for name in killer.seen)


def test_stage_for_readers(killer, control, create):
    """The journal has to be replayed first, on a device that is writable for so long."""
    source = create("source", 320 * MIB)
    with killer.node.client() as client:
        staged = Staged(client, killer.node, source, "xfs").stage()
        write_file(staged.publish())
        snapshot = volumes.snapshot(control, "s", source.volume_id).snapshot_id
        staged.leave()
    for place in places():
        volume = create(f"v-{place}", 320 * MIB, source=snapshot)
        with killer.node.client() as client:
            staged = Staged(client, killer.node, volume, "xfs", "MULTI_NODE_READER_ONLY")
            died = killer.dies_in(place, staged.stage)
        with killer.node.client() as client:
            staged.client = client
            volumes.patiently(staged.stage, passing=PASSING)
            with open(f"{staged.publish()}/file", encoding="ascii") as file:
                assert file.read() == "works"
            staged.leave()
        assert killer.node.leftovers() == [], sorted(killer.seen)
        if not died:
            break
    assert place > 5


@pytest.mark.parametrize("fs_type", ["ext4", None])
def test_publish_and_unpublish(killer, create, fs_type):
    volume = create("v", 32 * MIB)
    with killer.node.client() as client:
        staged = Staged(client, killer.node, volume, fs_type).stage()
    for step in ("publish", "unpublish"):
        for place in places():
            with killer.node.client() as client:
                staged.client = client
                if step == "unpublish":
                    target = staged.publish("pod", readonly=True)
                    call = lambda: client.NodeUnpublishVolume(volume_id=staged.volume_id,
                                                              target_path=target)
                else:
                    call = lambda: staged.publish("pod", readonly=True)
                died = killer.dies_in(place, call)
            with killer.node.client() as client:
                staged.client = client
                target = staged.publish("pod", readonly=True)
                staged.unpublish(target)
                assert not os.path.exists(target)
            if not died:
                break
        assert place > 2
    with killer.node.client() as client:
        staged.client = client
        staged.unstage()


@pytest.mark.parametrize("fs_type", ["ext4", None])
def test_unstage(killer, create, fs_type):
    volume = create("v", 32 * MIB)
    for place in places():
        with killer.node.client() as client:
            staged = Staged(client, killer.node, volume, fs_type)
            volumes.patiently(staged.stage, passing=PASSING)
            died = killer.dies_in(place, staged.unstage)
        with killer.node.client() as client:
            staged.client = client
            volumes.patiently(staged.unstage)
        assert killer.node.leftovers() == [], sorted(killer.seen)
        if not died:
            break
    assert place > 4


def test_expand(killer, control, create):
    volume = create("v", 320 * MIB)
    size = 320 * MIB
    with killer.node.client() as client:
        staged = Staged(client, killer.node, volume, "xfs").stage()
        staged.publish()
    for place in places():
        size += 32 * MIB
        volumes.patiently(lambda: control.ControllerExpandVolume(
            volume_id=volume.volume_id, capacity_range={"required_bytes": size}))
        with killer.node.client() as client:
            staged.client = client
            died = killer.dies_in(place, lambda: staged.expand(size))
        with killer.node.client() as client:
            staged.client = client
            assert staged.expand(size).capacity_bytes == size
            assert staged.stats().usage[0].total > size - 80 * MIB
        if not died:
            break
    assert place > 2
    with killer.node.client() as client:
        staged.client = client
        staged.leave()


def inline_images(cluster):
    return [name for name in cluster.images(volumes.POOL) if name.startswith("imprint.e")]


def test_inline(killer, cluster, control, create):
    """Published and unpublished, killed in both: no image is left, also not of a pod that is gone
    before it was published."""
    parameters = volumes.parameters(**{"csi.storage.k8s.io/pvc/namespace": "team-a"})
    volume = create("v", 32 * MIB, parameters=parameters)
    with killer.node.client() as client:
        Staged(client, killer.node, volume, "ext4").stage().leave()
    snapshot = volumes.snapshot(control, "s", volume.volume_id).snapshot_id
    for step in ("publish", "unpublish"):
        for place in places():
            with killer.node.client() as client:
                inline = Inline(client, killer.node, f"{step}-{place}", snapshotHandle=snapshot)
                if step == "unpublish":
                    volumes.patiently(inline.publish, passing=PASSING)
                died = killer.dies_in(place, getattr(inline, step))
            with killer.node.client() as client:
                inline.client = client
                if step == "publish" and place % 3:  # else the pod is gone
                    target = volumes.patiently(inline.publish, passing=PASSING)
                    write_file(target)
                volumes.patiently(inline.unpublish, passing=PASSING)
            assert killer.node.leftovers() == [], sorted(killer.seen)
            assert inline_images(cluster) == [], sorted(killer.seen)
            if not died:
                break
        assert place > 5
    # where the clone is counted by its parent (lib/ceph/children.c)
    assert any(name.startswith("rados_exec(snap->location") for name in killer.seen), sorted(killer.seen)
