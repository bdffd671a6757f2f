# SPDX-License-Identifier: Apache-2.0
"""What a process leaves that is killed inside a call of librbd, where no fault point can be: each
state is made here by hand, object by object, and must be no obstacle to anyone."""

import struct

import pytest
import rados
import rbd

import volumes
from controller import Controller
from volumes import MIB, create, delete, parameters, patiently, snapshot

SIZE = 8 * MIB
POOL = volumes.POOL


@pytest.fixture
def restarted(cluster, tmp_path):
    """A controller and its client, made anew by restarted.again(): as after a kill."""

    class Restarted:
        def __init__(self):
            self.controller = Controller(cluster.dir, tmp_path, preset="release").start()
            self.client = self.controller.client(30)

        def again(self):
            self.client.close()
            self.controller.restart()
            self.client = self.controller.client(30)

    running = Restarted()
    yield running
    volumes.delete_all(running.client)
    volumes.assert_nothing_left(cluster)
    running.client.close()
    assert running.controller.terminate() == 0


def packed(text):
    return struct.pack("<I", len(text)) + text.encode()


def write_omap(ioctx, name, values):
    with rados.WriteOpCtx() as operation:
        ioctx.set_omap(operation, tuple(values), tuple(values.values()))
        ioctx.operate_write_op(operation, name)


def read_omap(ioctx, name):
    with rados.ReadOpCtx() as operation:
        values, _ = ioctx.get_omap_vals(operation, "", "", 1000)
        ioctx.operate_read_op(operation, name)
        return dict(values)


def leave_name_object(ioctx, name, image_id):
    ioctx.write_full(f"rbd_id.{name}", packed(image_id))


def leave_directory_entry(ioctx, name, image_id):
    write_omap(
        ioctx, "rbd_directory", {f"name_{name}": packed(image_id), f"id_{image_id}": packed(name)}
    )


def leave_object_map(ioctx, image_id):
    ioctx.execute(
        f"rbd_object_map.{image_id}", "rbd", "object_map_resize", struct.pack("<QB", 2, 0)
    )


def make_blank(client):
    return create(client, "v", SIZE)


def make_clone(client):
    origin = create(client, "origin", SIZE)
    return create(client, "v", SIZE, source=origin.volume_id)


def make_copy(client):
    origin = create(client, "origin", SIZE)
    copying = parameters(copyMode="clone")
    return create(client, "v", SIZE, source=origin.volume_id, parameters=copying)


MAKERS = [make_blank, make_clone, make_copy]
NAME, ID = "imprint.v.v", "abcdef012345"
STATES = {
    "name object": [leave_name_object],
    "directory entry": [leave_directory_entry],
    "both": [leave_name_object, leave_directory_entry],
    "both and object map": [
        leave_name_object,
        leave_directory_entry,
        lambda ioctx, _, image_id: leave_object_map(ioctx, image_id),
    ],
}


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("state", STATES)
def test_half_made_image_without_header(cluster, restarted, state, maker):
    with cluster.ioctx(POOL) as ioctx:
        for leave in STATES[state]:
            leave(ioctx, NAME, ID)
    volume = patiently(lambda: maker(restarted.client))
    assert not any(volumes.contents(cluster, volume.volume_id))
    assert volumes.image_id_of(volume.volume_id) != ID


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_image_without_record(cluster, restarted, maker):
    """Made by librbd to the end, but its commit record was never written."""
    with cluster.ioctx(POOL) as ioctx:
        rbd.RBD().create(ioctx, NAME, 3 * MIB)
    volume = patiently(lambda: maker(restarted.client))
    assert volumes.size_of(cluster, volume.volume_id) == SIZE


def test_clone_without_record(cluster, restarted):
    origin = create(restarted.client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "origin")
    snap = snapshot(restarted.client, "s", origin.volume_id)
    cluster.rados.conf_set("rbd_default_clone_format", "2")
    with cluster.ioctx(POOL) as ioctx:
        rbd.RBD().clone(ioctx, "imprint.v.origin", "imprint.s.s", ioctx, NAME)
    volume = patiently(lambda: create(restarted.client, "v", SIZE, source=snap.snapshot_id))
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data


def lose_parent(ioctx, image_id):
    """Points the header at a parent's snapshot that is not there."""
    header = f"rbd_header.{image_id}"
    parent = bytearray(read_omap(ioctx, header)["parent"])
    # behind the envelope (6 bytes): pool id, namespace, image id, snapshot id
    at = 6 + 8
    for _ in range(2):
        at += 4 + struct.unpack_from("<I", parent, at)[0]
    struct.pack_into("<Q", parent, at, 0xFFFFFF)
    write_omap(ioctx, header, {"parent": bytes(parent)})


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_clone_without_record_that_lost_its_parent(cluster, restarted, maker):
    """Tied to its parent, but not yet entered there: the parent's snapshot went meanwhile."""
    client = restarted.client
    first = create(client, "first", SIZE)
    made = create(client, "v", SIZE, source=first.volume_id)
    image_id = volumes.image_id_of(made.volume_id)
    with cluster.ioctx(POOL) as ioctx:
        with rados.WriteOpCtx() as operation:
            ioctx.remove_omap_keys(operation, ("metadata_imprint.ready",))
            ioctx.operate_write_op(operation, f"rbd_header.{image_id}")
        true_parent = read_omap(ioctx, f"rbd_header.{image_id}")["parent"]
        # as if it had never been entered in the parent's list
        snap_id = struct.unpack_from("<Q", true_parent, len(true_parent) - 17)[0]
        pool_id = cluster.rados.pool_lookup(POOL)
        detach_child(ioctx, pool_id, volumes.image_id_of(first.volume_id), snap_id, image_id)
        lose_parent(ioctx, image_id)
    volume = patiently(lambda: maker(client))
    assert volume.volume_id != made.volume_id
    assert not any(volumes.contents(cluster, volume.volume_id))


def detach_child(ioctx, pool_id, parent_id, snap_id, child_id):
    """Takes a child off its parent's list, and removes the snapshot that was kept for it alone."""
    spec = struct.pack("<q", pool_id) + packed(child_id) + packed("")
    child = struct.pack("<BBI", 2, 1, len(spec)) + spec
    header = f"rbd_header.{parent_id}"
    ioctx.execute(header, "rbd", "child_detach", struct.pack("<Q", snap_id) + child)
    with rbd.Image(ioctx, image_id=parent_id) as image:
        image.remove_snap_by_id(snap_id)


def kill_flatten_at_its_end(cluster, handle):
    """Flattens and puts the tie back: what is there between librbd's last two steps."""
    image_id = volumes.image_id_of(handle)
    header = f"rbd_header.{image_id}"
    with cluster.ioctx(POOL) as ioctx:
        tie = {key: read_omap(ioctx, header)[key] for key in ("parent", "op_features", "features")}
        with rbd.Image(ioctx, image_id=image_id) as image:
            image.flatten()
        write_omap(ioctx, header, tie)
        with pytest.raises(rbd.ImageNotFound):
            rbd.Image(ioctx, image_id=image_id)


def test_background_flatten_killed_at_its_end(cluster, restarted):
    """The volume could not be opened; the next process mends it without being asked."""
    origin = create(restarted.client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "origin")
    volume = create(restarted.client, "v", SIZE, source=origin.volume_id)
    image_id = volumes.image_id_of(volume.volume_id)
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.flattening", image_id)
    kill_flatten_at_its_end(cluster, volume.volume_id)
    restarted.again()

    def opens():
        try:
            with cluster.volume(volume.volume_id) as image:
                keys = dict(image.metadata_list())
                return "imprint.flattening" not in keys
        except rbd.ImageNotFound:
            return False

    assert volumes.wait_until(opens)
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data


def test_background_flatten_killed_in_the_middle(cluster, restarted):
    origin = create(restarted.client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "origin")
    volume = create(restarted.client, "v", SIZE, source=origin.volume_id)
    image_id = volumes.image_id_of(volume.volume_id)
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.flattening", image_id)
    restarted.again()
    # a clone has its parent's keys: the mark of another is none
    other = create(restarted.client, "other", SIZE, source=origin.volume_id)

    def is_flat():
        with cluster.volume(volume.volume_id, read_only=True) as image:
            return image.overlap() == 0 and "imprint.flattening" not in dict(image.metadata_list())

    assert volumes.wait_until(is_flat)
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data
    with cluster.volume(other.volume_id, read_only=True) as image:
        assert image.overlap() == SIZE


def test_full_copy_killed_at_its_end(cluster, restarted):
    origin = create(restarted.client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "origin")
    plain = create(restarted.client, "v", SIZE, source=origin.volume_id)
    image_id = volumes.image_id_of(plain.volume_id)
    # made into one that is being copied
    with cluster.volume(plain.volume_id) as image:
        image.metadata_set("imprint.set.copyMode", "clone")
        image.metadata_set("imprint.copying", image_id)
        image.metadata_remove("imprint.ready")
    kill_flatten_at_its_end(cluster, plain.volume_id)
    copying = parameters(copyMode="clone")
    volume = patiently(
        lambda: create(restarted.client, "v", SIZE, source=origin.volume_id, parameters=copying)
    )
    assert volume.volume_id == plain.volume_id
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data


def test_snapshot_without_object_map(cluster, restarted):
    """In the header, but its map was not copied: nothing can be cloned from it."""
    origin = create(restarted.client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "origin")
    image_id = volumes.image_id_of(origin.volume_id)
    with cluster.volume(origin.volume_id) as image:
        image.create_snap("imprint.s.s")
        snap_id = next(iter(image.list_snaps()))["id"]
    with cluster.ioctx(POOL) as ioctx:
        ioctx.remove_object(f"rbd_object_map.{image_id}.{snap_id:016x}")
    snap = patiently(lambda: snapshot(restarted.client, "s", origin.volume_id))
    assert snapshot(restarted.client, "s", origin.volume_id) == snap
    copy = create(restarted.client, "copy", SIZE, source=snap.snapshot_id)
    assert volumes.contents(cluster, copy.volume_id)[:MIB] == data


def test_a_clone_that_is_counted_and_gone(cluster, restarted):
    """Its maker was slow, lost it to another controller, counted it then, and died."""
    client = restarted.client
    origin = create(client, "origin", SIZE)
    image_id = volumes.image_id_of(origin.volume_id)
    snap = snapshot(client, "s", origin.volume_id)
    copy = create(client, "copy", SIZE, source=snap.snapshot_id)
    with cluster.volume(origin.volume_id) as image:
        snap_id = next(iter(image.list_snaps()))["id"]
    with cluster.ioctx(POOL) as ioctx:
        child = struct.pack("<q", ioctx.get_pool_id()) + packed("beef") + packed("")
        ioctx.execute(f"rbd_header.{image_id}", "rbd", "child_attach",
                      struct.pack("<Q", snap_id) + struct.pack("<BBI", 2, 1, len(child)) + child)
    delete(client, origin.volume_id)
    delete(client, snap.snapshot_id)
    restarted.again()
    assert volumes.contents(cluster, copy.volume_id)  # it still has its parent
    delete(restarted.client, copy.volume_id)  # and all goes with it


@pytest.mark.parametrize("source", [0, 3], ids=["by us", "by librbd"])
@pytest.mark.parametrize("state", [0, 1, 2], ids=["moved", "moving", "removing"])
def test_trash_entry_of_a_killed_removal(cluster, restarted, source, state):
    """librbd enters what it removes in the trash itself, and hides it from its own list."""
    client = restarted.client
    volume = create(client, "v", SIZE)
    image_id = volumes.image_id_of(volume.volume_id)
    long_ago = struct.pack("<II", 1600000000, 0)
    spec = bytes([source]) + packed(NAME) + long_ago + long_ago + bytes([state])
    entry = struct.pack("<BBI", 2, 1, len(spec)) + spec
    with cluster.ioctx(POOL) as ioctx:
        write_omap(ioctx, "rbd_trash", {f"id_{image_id}": entry})
        if state != 1:
            with rados.WriteOpCtx() as operation:
                keys = (f"name_{NAME}", f"id_{image_id}")
                ioctx.remove_omap_keys(operation, keys)
                ioctx.operate_write_op(operation, "rbd_directory")
            ioctx.remove_object(f"rbd_id.{NAME}")
    restarted.again()
    volumes.assert_nothing_left(cluster)
    # the name is free
    again = create(restarted.client, "v", SIZE)
    assert again.volume_id != volume.volume_id
    delete(restarted.client, again.volume_id)
