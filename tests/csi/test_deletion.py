# SPDX-License-Identifier: Apache-2.0
"""Deletion always succeeds at once, in whatever order; the space comes back when the last dependant
goes."""

import concurrent.futures
import itertools

import pytest
import rados
import rbd

import volumes
from volumes import CODES, MIB, create, delete, parameters, refused

SIZE = 16 * MIB


def used(cluster, pool=volumes.POOL):
    """What `rados df` says of the pool."""
    usage = cluster.usage(pool)
    return usage["num_objects"], usage["num_object_clones"], usage["num_bytes"]


def family(cluster, client):
    """A volume, two snapshots of it with something written in between, a clone of the first, a
    clone of the volume, and a snapshot of the first clone."""
    volume = create(client, "v", SIZE).volume_id
    volumes.write(cluster, volume, "one", 4 * MIB)
    first = volumes.snapshot(client, "s1", volume).snapshot_id
    volumes.write(cluster, volume, "two", 4 * MIB)
    second = volumes.snapshot(client, "s2", volume).snapshot_id
    restored = create(client, "restored", SIZE, source=first).volume_id
    copied = create(client, "copied", SIZE, source=volume).volume_id
    volumes.write(cluster, restored, "three", MIB)
    of_clone = volumes.snapshot(client, "s3", restored).snapshot_id
    return [volume, first, second, restored, copied, of_clone]


ORDERS = list(itertools.permutations(range(6)))


@pytest.mark.parametrize("order", ORDERS[::97], ids=lambda order: "".join(map(str, order)))
def test_any_order(cluster, client, order):
    handles = family(cluster, client)
    for step, index in enumerate(order):
        delete(client, handles[index])
        delete(client, handles[index])
        gone = {handles[i] for i in order[: step + 1]}
        listed = {entry.volume.volume_id for entry in volumes.listed_volumes(client)}
        listed |= {snap.snapshot_id for snap in volumes.listed_snapshots(client)}
        assert listed == set(handles) - gone
    volumes.assert_nothing_left(cluster)


def test_all_at_once_many_times(cluster, client):
    handles = [handle for i in range(5) for handle in renamed_family(cluster, client, i)]
    with concurrent.futures.ThreadPoolExecutor(30) as threads:
        list(threads.map(lambda handle: volumes.patiently(lambda: delete(client, handle)), handles))
    assert volumes.listed_volumes(client) == [] and volumes.listed_snapshots(client) == []
    volumes.assert_nothing_left(cluster)


def renamed_family(cluster, client, number):
    volume = create(client, f"v{number}", SIZE).volume_id
    volumes.write(cluster, volume, "one", MIB)
    snap = volumes.snapshot(client, f"s{number}", volume).snapshot_id
    restored = create(client, f"r{number}", SIZE, source=snap).volume_id
    copied = create(client, f"c{number}", SIZE, source=restored).volume_id
    return [
        volume,
        snap,
        restored,
        copied,
        volumes.snapshot(client, f"t{number}", copied).snapshot_id,
    ]


def test_space_comes_back(cluster, client):
    """Seen with `rados df`: nothing before the last dependant goes, all of it after."""
    before = volumes.wait_until(lambda: used(cluster)[2] < MIB and used(cluster))
    volume = create(client, "v", SIZE).volume_id
    volumes.write(cluster, volume, "data", SIZE)
    snap = volumes.snapshot(client, "s", volume).snapshot_id
    copy = create(client, "copy", SIZE, source=snap).volume_id
    assert volumes.wait_until(lambda: used(cluster)[2] >= SIZE)
    delete(client, volume)
    delete(client, snap)
    assert volumes.contents(cluster, copy) == volumes.bytes_of("data", SIZE)
    assert used(cluster)[2] >= SIZE
    delete(client, copy)
    assert volumes.wait_until(
        lambda: used(cluster)[2] <= before[2] and used(cluster)[0] <= before[0]
    )
    assert volumes.wait_until(lambda: used(cluster)[1] == 0)  # the OSD has trimmed the snapshots


def test_snapshot_space_comes_back_while_the_volume_lives(cluster, client):
    volume = create(client, "v", SIZE).volume_id
    volumes.write(cluster, volume, "one", SIZE)
    snap = volumes.snapshot(client, "s", volume).snapshot_id
    volumes.write(cluster, volume, "two", SIZE)
    assert volumes.wait_until(lambda: used(cluster)[1] >= 4)
    delete(client, snap)
    assert volumes.wait_until(lambda: used(cluster)[1] == 0)
    assert volumes.contents(cluster, volume) == volumes.bytes_of("two", SIZE)


@pytest.mark.parametrize(
    "place",
    [{"namespace": volumes.NAMESPACE}, {"pool": volumes.DATA_POOL}],
    ids=["namespace", "pool"],
)
def test_dependants_elsewhere(cluster, client, place):
    """The parent lies in one place, its clones in another: its space comes back as soon."""
    volume = create(client, "v", SIZE).volume_id
    copies = [
        create(client, f"c{i}", SIZE, source=volume, parameters=parameters(**place)).volume_id
        for i in range(3)
    ]
    delete(client, volume)
    for copy in copies:
        delete(client, copy)
    volumes.assert_nothing_left(cluster, timeout_s=10)


def test_in_use(cluster, client):
    volume = create(client, "v", SIZE).volume_id
    with cluster.volume(volume) as image:
        image.write(b"x", 0)
        with refused(
            CODES.FAILED_PRECONDITION, "in use by the Ceph client at .*127.0.0.1", "unmap it"
        ):
            delete(client, volume)
        assert len(volumes.listed_volumes(client)) == 1
        snap = volumes.snapshot(client, "s", volume).snapshot_id  # others may go on meanwhile
        with refused(CODES.FAILED_PRECONDITION, "in use by the Ceph client at"):
            delete(client, volume)
        copy = create(client, "copy", SIZE, source=volume).volume_id
        assert volumes.contents(cluster, copy)[:1] == b"x"
    for handle in (volume, snap, copy):
        delete(client, handle)


def test_open_for_reading_is_not_in_use(cluster, client):
    """A reader holds no watch that would be seen; what it gets afterwards is its own affair."""
    volume = create(client, "v", SIZE).volume_id
    with cluster.volume(volume, read_only=True):
        code = None
        try:
            delete(client, volume)
        except Exception as error:  # librbd may or may not register a watch for a reader
            code = error.code()
        assert code in (None, CODES.FAILED_PRECONDITION)


def test_clone_in_use_keeps_its_parent(cluster, client):
    volume = create(client, "v", SIZE).volume_id
    data = volumes.write(cluster, volume, "data")
    copy = create(client, "copy", SIZE, source=volume).volume_id
    with cluster.volume(copy) as image:
        delete(client, volume)
        assert image.read(0, MIB) == data
        with refused(CODES.FAILED_PRECONDITION, "in use"):
            delete(client, copy)
    delete(client, copy)


def test_administrators_snapshot_is_respected(cluster, client):
    """A snapshot that a person made by hand keeps a deleted volume until the person removes it."""
    volume = create(client, "v", SIZE).volume_id
    with cluster.volume(volume) as image:
        image.create_snap("by-hand")
    delete(client, volume)
    assert volumes.listed_volumes(client) == []
    image_id = volumes.image_id_of(volume)
    with cluster.ioctx(volumes.POOL) as ioctx:
        names = rbd.RBD().list(ioctx)
        assert names == [f"imprint.d.{image_id}"]
        with rbd.Image(ioctx, names[0]) as image:
            image.remove_snap("by-hand")
        rbd.RBD().remove(ioctx, names[0])


def test_foreign_trash_is_left_alone(cluster, client):
    with cluster.ioctx(volumes.POOL) as ioctx:
        rbd.RBD().create(ioctx, "somebodys", MIB)
        rbd.RBD().trash_move(ioctx, "somebodys", 0)
        create(client, "v", SIZE)
        volumes.delete_all(client)
        assert volumes.wait_until(lambda: len(cluster.trash(volumes.POOL)) == 1)
        entry = cluster.trash(volumes.POOL)[0]
        assert entry["name"] == "somebodys"
        rbd.RBD().trash_remove(ioctx, entry["id"])


def test_objects_in_the_data_pool_go_too(cluster, client):
    volume = create(client, "v", SIZE, parameters=parameters(dataPool=volumes.DATA_POOL)).volume_id
    volumes.write(cluster, volume, "data", SIZE)
    snap = volumes.snapshot(client, "s", volume).snapshot_id
    volumes.write(cluster, volume, "more", SIZE)
    delete(client, volume)
    delete(client, snap)
    volumes.assert_nothing_left(cluster)
    assert volumes.wait_until(lambda: used(cluster, volumes.DATA_POOL)[1] == 0)


def test_names_are_free_again(cluster, client):
    for _ in range(3):
        volume = create(client, "v", SIZE).volume_id
        snap = volumes.snapshot(client, "s", volume).snapshot_id
        delete(client, volume)
        delete(client, snap)


def test_snapshot_name_is_free_for_another_volume(client):
    first = create(client, "first", SIZE).volume_id
    second = create(client, "second", SIZE).volume_id
    for _ in range(2):
        for volume in (first, second):
            delete(client, volumes.snapshot(client, "s", volume).snapshot_id)


def test_no_claim_outlives_its_snapshot(cluster, client):
    volume = create(client, "v", SIZE).volume_id
    snaps = [volumes.snapshot(client, f"s{i}", volume).snapshot_id for i in range(4)]
    delete(client, volume)
    for snap in snaps:
        delete(client, snap)

    def claims():
        with cluster.ioctx(volumes.POOL, rados.LIBRADOS_ALL_NSPACES) as ioctx:
            return [item.key for item in ioctx.list_objects() if "claim" in item.key]

    assert claims() == []
