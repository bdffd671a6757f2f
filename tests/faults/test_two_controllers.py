# SPDX-License-Identifier: Apache-2.0
"""Two controllers on one pool, as for a while when a leader is replaced: neither is in the other's
way."""

import concurrent.futures
import contextlib
import signal
import subprocess
import sys
import time

import pytest
import rbd

import volumes
from controller import Controller
from volumes import MIB, create

SIZE = 8 * MIB
VOLUMES = 24


@contextlib.contextmanager
def two_controllers(cluster, folder):
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(Controller(cluster.dir, folder / name)) for name in ("one", "other")
        ]
        yield running, [stack.enter_context(controller.client()) for controller in running]


@pytest.fixture(autouse=True)
def emptied(cluster, tmp_path):
    """What a failed try left does not fail the next one."""
    yield
    if any(cluster.leftovers(pool) for pool in volumes.POOLS):
        with Controller(cluster.dir, tmp_path / "cleaner") as cleaner, cleaner.client() as client:
            volumes.delete_all(client)
            volumes.assert_nothing_left(cluster)


def test_both_empty_the_trash(cluster, tmp_path):
    """Both find the same trash when they start, and begin to remove the same images."""
    with two_controllers(cluster, tmp_path) as (controllers, clients):
        made = [create(clients[0], f"v{i}", SIZE).volume_id for i in range(VOLUMES)]
        for handle in made:
            volumes.write(cluster, handle, "x")
        for controller in controllers:
            controller.kill()
        with cluster.ioctx(volumes.POOL) as ioctx:
            for name in cluster.images(volumes.POOL):
                rbd.RBD().trash_move(ioctx, name)
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda controller: controller.start(), controllers))
        begin = time.monotonic()
        volumes.assert_nothing_left(cluster)
        took = time.monotonic() - begin
        print(f"{VOLUMES} images were gone after {took:.1f} s")
        for controller in controllers:
            assert "failed" not in controller.log_text()


def test_both_delete_the_same(cluster, tmp_path):
    """A sidecar that was replaced amid its calls, and the new one: each deletes what the other is
    deleting, volumes and the snapshots that hold them back, and all of them succeed."""
    with two_controllers(cluster, tmp_path) as (_, clients):
        made = [create(clients[0], f"v{i}", SIZE).volume_id for i in range(VOLUMES)]
        snapshots = [volumes.snapshot(clients[0], f"s{i}", made[i]).snapshot_id for i in range(VOLUMES)]
        calls = [(client, handle) for pair in zip(made, snapshots) for handle in pair
                 for client in clients]
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            # while one has an image open to remove a snapshot of it, the volume is in use for the other
            list(threads.map(
                lambda call: volumes.patiently(lambda: volumes.delete(*call),
                                               passing=volumes.PASSING | {volumes.CODES.FAILED_PRECONDITION}),
                calls))
        assert volumes.listed_volumes(clients[0]) == []
        volumes.assert_nothing_left(cluster)


@pytest.mark.parametrize("kind", ["blank", "from a snapshot", "from a volume", "larger"])
def test_both_make_the_same(cluster, tmp_path, kind):
    """The same call at both, at the same time: one volume, and nobody is told of another. What was
    answered is there; an image that one is making is not the remains of a call that died."""
    with two_controllers(cluster, tmp_path) as (_, clients):
        origin = create(clients[0], "origin", SIZE).volume_id
        content = volumes.write(cluster, origin, "x")
        source = {
            "blank": None,
            "from a volume": origin
        }.get(kind, volumes.snapshot(clients[0], "s", origin).snapshot_id)
        size = 2 * SIZE if kind == "larger" else SIZE

        def make(call):
            client, name = call
            return name, volumes.patiently(
                lambda: create(client, name, size, source=source)).volume_id

        calls = [(client, f"v{i}") for i in range(VOLUMES) for client in clients]
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(make, calls))
        made = {}
        for name, handle in answers:
            assert made.setdefault(name, handle) == handle, f"{name} was made twice"
        listed = {entry.volume.volume_id for entry in volumes.listed_volumes(clients[0])}
        assert listed == {origin, *made.values()}
        for handle in made.values():
            assert volumes.size_of(cluster, handle) == size
            assert volumes.contents(cluster, handle)[:len(content)] == (content if source else
                                                                        bytes(len(content)))
        volumes.delete_all(clients[0])
        volumes.assert_nothing_left(cluster)


def test_both_take_the_same_snapshot(cluster, tmp_path):
    """One snapshot each name, and the same answer from both."""
    with two_controllers(cluster, tmp_path) as (_, clients):
        origin = create(clients[0], "origin", SIZE).volume_id
        calls = [(client, f"s{i}") for i in range(VOLUMES // 2) for client in clients]
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            taken = list(threads.map(
                lambda call: volumes.patiently(
                    lambda: volumes.snapshot(call[0], call[1], origin)), calls))
        assert taken[::2] == taken[1::2]
        handles = {snap.snapshot_id for snap in taken}
        assert len(handles) == VOLUMES // 2
        assert {snap.snapshot_id for snap in volumes.listed_snapshots(clients[1])} == handles
        volumes.delete_all(clients[1])
        volumes.assert_nothing_left(cluster)


HOLDER = """
import sys, rados, rbd
conf, pool, name = sys.argv[1:]
with rados.Rados(conffile=conf, name="client.admin") as cluster, cluster.open_ioctx(pool) as ioctx:
    with rbd.Image(ioctx, name) as image:
        image.write(b"x", 0)  # and so it has the lock
        print("ready", flush=True)
        sys.stdin.readline()
"""


@contextlib.contextmanager
def slow_owner(cluster, pool, name):
    """Another process that has the image's lock, and does nothing for now."""
    command = [sys.executable, "-c", HOLDER, cluster.conf, pool, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout.readline() == b"ready\n"
            yield holder
        finally:
            holder.send_signal(signal.SIGCONT)
            holder.communicate(b"\n")


def test_a_snapshot_that_another_is_taking_is_left_to_him(cluster, tmp_path):
    """librbd enters a snapshot first and copies the object map then. Here somebody who has the image's
    lock is stopped in between: as long as he lives it is his, and what he completes is the answer."""
    with two_controllers(cluster, tmp_path) as (_, (client, _other)):
        origin = create(client, "origin", SIZE).volume_id
        image_id = volumes.image_id_of(origin)
        with cluster.ioctx(volumes.POOL) as ioctx, slow_owner(cluster, volumes.POOL,
                                                              "imprint.v.origin") as owner:
            with rbd.Image(ioctx, "imprint.v.origin") as image:
                image.create_snap("imprint.s.s")
                snap_id = image.snap_get_id("imprint.s.s")
            map_object = f"rbd_object_map.{image_id}.{snap_id:016x}"
            content = ioctx.read(map_object)
            ioctx.remove_object(map_object)
            owner.send_signal(signal.SIGSTOP)
            with concurrent.futures.ThreadPoolExecutor(1) as threads:
                call = threads.submit(volumes.patiently, lambda: volumes.snapshot(client, "s", origin))
                time.sleep(3)
                assert not call.done()
                ioctx.write_full(map_object, content)
                owner.send_signal(signal.SIGCONT)
                taken = call.result()
        assert taken.snapshot_id.endswith(f"@{snap_id:x}"), taken.snapshot_id
        copy = create(client, "copy", SIZE, source=taken.snapshot_id).volume_id
        assert volumes.contents(cluster, copy)[:1] == b"x"
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)


def test_a_snapshot_that_nobody_is_taking_any_more_is_taken_anew(cluster, tmp_path):
    with two_controllers(cluster, tmp_path) as (_, clients):
        origin = create(clients[0], "origin", SIZE).volume_id
        content = volumes.write(cluster, origin, "x")
        image_id = volumes.image_id_of(origin)
        with cluster.ioctx(volumes.POOL) as ioctx:
            with rbd.Image(ioctx, "imprint.v.origin") as image:
                image.create_snap("imprint.s.s")
                snap_id = image.snap_get_id("imprint.s.s")
            ioctx.remove_object(f"rbd_object_map.{image_id}.{snap_id:016x}")
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            taken = list(threads.map(
                lambda client: volumes.patiently(lambda: volumes.snapshot(client, "s", origin)), clients))
        assert taken[0] == taken[1] and not taken[0].snapshot_id.endswith(f"@{snap_id:x}")
        copy = create(clients[0], "copy", SIZE, source=taken[0].snapshot_id).volume_id
        assert volumes.contents(cluster, copy)[:len(content)] == content
        volumes.delete_all(clients[0])
        volumes.assert_nothing_left(cluster)
