# SPDX-License-Identifier: Apache-2.0
"""Long chains of clones: cut in the background above a soft limit, when nobody wants the volume; not
made above the hard one."""

import concurrent.futures
import time

import pytest

import chains
import volumes
from ceph import Cluster
from chains import DEPTH_HARD, DEPTH_SOFT, SLOW_BYTES, depth_of
from controller import Controller
from volumes import CODES, MIB, create, refused

SIZE = 8 * MIB
SOON_S = 20  # on a busy machine; the copying takes longer there, too


def test_soft_limit(cluster, client):
    origin = create(client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "first")
    handles = chains.make(cluster, origin.volume_id, DEPTH_SOFT)
    deep = create(client, "deep", SIZE, source=handles[-1]).volume_id
    assert volumes.wait_until(lambda: chains.is_flat(cluster, deep))
    assert volumes.contents(cluster, deep)[:MIB] == data


def test_a_chain_that_grows_fast(cluster, client):
    """Each of 18 volumes has the first one's data; none stands on more than the kernel can map."""
    last = create(client, "v00", SIZE)
    data = volumes.write(cluster, last.volume_id, "first")
    chain = [last]
    for number in range(1, 18):
        last = volumes.patiently(
            lambda: create(client, f"v{number:02}", SIZE, source=last.volume_id), 60
        )
        chain.append(last)
    for volume in chain:
        assert volumes.contents(cluster, volume.volume_id)[:MIB] == data
    assert max(depth_of(cluster, volume.volume_id) for volume in chain) <= DEPTH_HARD


def test_hard_limit(cluster, client):
    """A volume that would stand on too many is copied. Its source may be in use: it is left alone."""
    origin = create(client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "first")
    handles = chains.make(cluster, origin.volume_id, DEPTH_HARD)
    with cluster.volume(handles[-1]) as image:
        image.write(b"y", SIZE - 1)
        made = [create(client, "deep", SIZE, source=handles[-1])]
        snap = volumes.snapshot(client, "s", handles[-1])
        made.append(create(client, "restored", SIZE, source=snap.snapshot_id))
        assert chains.lock_owner(cluster, handles[-1]) is not None
    assert depth_of(cluster, handles[-1]) == DEPTH_HARD
    for volume in made:
        assert depth_of(cluster, volume.volume_id) == 0
        contents = volumes.contents(cluster, volume.volume_id)
        assert contents[:MIB] == data and contents[-1:] == b"y"


# ---- who wants a volume that is being copied -----------------------------------------------------


@pytest.fixture
def deep(cluster, client):
    """The handle of a volume that is being flattened, and its contents."""
    handles, data = chains.make_slow(cluster, client, DEPTH_SOFT)
    handle = create(client, "deep", SLOW_BYTES, source=handles[-1]).volume_id
    assert volumes.wait_until(lambda: chains.lock_owner(cluster, handle))
    return handle, data


def snapshot_contents(cluster, snapshot, length):
    with cluster.volume(snapshot.source_volume_id, read_only=True) as image:
        image.set_snap_by_id(int(snapshot.snapshot_id.rpartition("@")[2], 16))
        return image.read(0, length)


def test_snapshot_grow_and_clone_while_it_is_flattened(cluster, client, deep):
    """They do not wait for the copying, and lack nothing that was being copied at that moment."""
    handle, data = deep
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        growing = threads.submit(volumes.patiently, lambda: client.ControllerExpandVolume(
            volume_id=handle, capacity_range={"required_bytes": 2 * SLOW_BYTES}))
        snapshot = volumes.snapshot(client, "s", handle)
        assert growing.result().capacity_bytes == 2 * SLOW_BYTES
    clone = create(client, "clone", 2 * SLOW_BYTES, source=handle).volume_id
    assert time.monotonic() - started < SOON_S
    assert not chains.is_flat(cluster, handle), "the copying was over too early"
    assert volumes.contents(cluster, handle) == data + bytes(SLOW_BYTES)
    assert volumes.contents(cluster, clone)[:SLOW_BYTES] == data
    # While something stands on it, it is left alone: what reads through the snapshots would not
    # learn that it has to look elsewhere.
    client.DeleteVolume(volume_id=clone)
    assert not chains.is_flat(cluster, handle)
    assert snapshot_contents(cluster, snapshot, SLOW_BYTES) == data
    client.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    assert volumes.wait_until(lambda: chains.is_flat(cluster, handle), 90)
    assert volumes.contents(cluster, handle) == data + bytes(SLOW_BYTES)


def test_snapshot_by_another_controller(cluster, deep, tmp_path):
    """It has the one that copies make room."""
    handle, data = deep
    with Controller(cluster.dir, tmp_path / "other") as other, other.client() as other_client:
        snapshot = volumes.snapshot(other_client, "s", handle)
        assert not chains.is_flat(cluster, handle), "the copying was over too early"
        assert snapshot_contents(cluster, snapshot, SLOW_BYTES) == data


def test_delete_while_it_is_flattened(cluster, client, deep):
    handle, _ = deep
    client.DeleteVolume(volume_id=handle)
    volumes.delete_all(client)
    volumes.assert_nothing_left(cluster)


def test_delete_by_another_controller(cluster, deep, tmp_path):
    """It sees a client that has the volume open, which makes room: it is deleted soon."""
    handle, _ = deep
    started = time.monotonic()
    with Controller(cluster.dir, tmp_path / "other") as other, other.client() as other_client:
        volumes.patiently(lambda: other_client.DeleteVolume(volume_id=handle),
                          passing={CODES.FAILED_PRECONDITION})
        assert time.monotonic() - started < SOON_S


def restart(controller, client):
    controller.restart()
    volumes.patiently(client.Probe)  # the connection is another one


def test_the_next_process_goes_on(cluster, controller, client, deep):
    """Also when the one before was killed in the middle: the lock that it left is its own."""
    handle, data = deep
    restart(controller, client)
    assert not chains.is_flat(cluster, handle), "the copying was over too early"
    assert volumes.wait_until(lambda: chains.is_flat(cluster, handle), 90)
    assert volumes.contents(cluster, handle) == data


def wait_until_put_off(controller, handle):
    said = f"volume '{handle}' is wanted, or in use"
    assert volumes.wait_until(lambda: said in controller.log_text())


def make_marked(cluster, client):
    """A clone that the next controller will flatten."""
    origin = create(client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "first")
    handle = create(client, "v", SIZE, source=origin.volume_id).volume_id
    with cluster.volume(handle) as image:
        image.metadata_set("imprint.flattening", volumes.image_id_of(handle))
    return handle, data


def test_a_volume_in_use_is_flattened_later(cluster, controller, client):
    handle, data = make_marked(cluster, client)
    with cluster.volume(handle):
        restart(controller, client)
        wait_until_put_off(controller, handle)
        assert not chains.is_flat(cluster, handle)
    assert volumes.wait_until(lambda: chains.is_flat(cluster, handle))
    assert volumes.contents(cluster, handle)[:MIB] == data


def test_the_lock_of_one_out_of_reach_is_left_alone(cluster, controller, client):
    """A node that is cut off may come back. To break its lock it would have to be thrown out."""
    handle, _ = make_marked(cluster, client)
    with Cluster(cluster.dir) as node:
        with node.volume(handle) as image:
            image.write(b"x", 0)
            owner = chains.lock_owner(cluster, handle)
            assert owner
            cluster.blocklist(node.rados.get_addrs().split(",")[0].strip("[]"))
            restart(controller, client)
            wait_until_put_off(controller, handle)
            assert chains.lock_owner(cluster, handle) == owner
            assert not chains.is_flat(cluster, handle)
