# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random, again and again, under many calls at once: every name ends right, and nothing
is left that no one refers to."""

import concurrent.futures
import random
import threading
import time

import grpc
import pytest
import rbd

import volumes
from controller import Controller
from volumes import MIB, create, delete, parameters, snapshot

KILLS = 50
IN_FLIGHT = 16
SIZE = 8 * MIB
PAUSE_S = 0.15  # at most so long after the first answers of a new process it is killed
PATIENCE_S = 300  # a call may be cut off until the killing is over
SEED = 1


class Crashing:
    """A controller that is killed again and again, and those who call it and do not give up."""

    def __init__(self, controller):
        self.controller = controller
        self.client = controller.client(deadline_s=30)
        self.is_over = threading.Event()
        self.answers = 0  # only ever compared: a lost count does no harm

    def wait_for_answers(self):
        """Until a new process has got somewhere: one that is killed before it does anything proves
        little."""
        before = self.answers
        volumes.wait_until(lambda: self.answers > before + 2, timeout_s=5, pause_s=0.01)

    def run_killer(self):
        pauses = random.Random(SEED)
        try:
            for _ in range(KILLS):
                self.wait_for_answers()
                time.sleep(pauses.uniform(0, PAUSE_S))
                self.controller.restart()
                # a channel of its own: one that was cut waits a second before it tries again
                old, self.client = self.client, self.controller.client(deadline_s=30)
                old.close()
        finally:
            self.is_over.set()

    def call(self, what):
        """Until it succeeds. A call that is cut off is made again, as a sidecar would."""

        def attempt():
            try:
                answer = what(self.client)
                self.answers += 1
                return answer
            except ValueError as error:  # the channel was closed under it
                raise Cut from error

        while True:
            try:
                return volumes.patiently(
                    attempt, PATIENCE_S, volumes.PASSING | {grpc.StatusCode.CANCELLED}, pause_s=0.01
                )
            except Cut:
                pass


class Cut(Exception):
    pass


class Worker:
    """Makes volumes, snapshots, clones, deletes some of them, and knows what must be there at the
    end: {request name: answer}."""

    def __init__(self, crashing, number):
        self.crashing = crashing
        self.number = number
        self.random = random.Random(SEED + number)
        self.volumes = {}  # name: (answer, keywords of the request)
        self.snapshots = {}  # name: (answer, source)
        self.turn = 0

    def name(self, kind):
        self.turn += 1
        return f"{kind}-{self.number}-{self.turn}"

    def make_volume(self, size=SIZE, **request):
        name = self.name("v")
        request["size"] = size
        answer = self.crashing.call(lambda client: create(client, name, **request))
        self.volumes[name] = (answer, request)

    def make_clone(self):
        source = self.random.choice([*self.volumes.values(), *self.snapshots.values()])[0]
        handle = getattr(source, "snapshot_id", "") or source.volume_id
        mode = self.random.choice(["cow", "cow", "clone"])
        size = SIZE * self.random.choice([1, 2])
        self.make_volume(size=size, source=handle, parameters=parameters(copyMode=mode))

    def make_snapshot(self):
        source = self.random.choice(list(self.volumes.values()))[0].volume_id
        name = self.name("s")
        answer = self.crashing.call(lambda client: snapshot(client, name, source))
        self.snapshots[name] = (answer, source)

    def delete_one(self):
        kind = self.random.choice([self.volumes, self.snapshots])
        if len(kind) > 1:
            name = self.random.choice(list(kind))
            answer, _ = kind.pop(name)
            handle = getattr(answer, "snapshot_id", "") or answer.volume_id
            self.crashing.call(lambda client: delete(client, handle))

    def run(self):
        self.make_volume()
        while not self.crashing.is_over.is_set():
            self.random.choice(
                [self.make_volume, self.make_clone, self.make_clone, self.make_snapshot]
                + [self.make_snapshot, self.delete_one, self.delete_one]
            )()
            if not self.volumes:
                self.make_volume()


def check_names(client, workers):
    """What is listed is what the workers made, and each request still has the same answer."""
    made = {answer.volume_id: answer for w in workers for answer, _ in w.volumes.values()}
    listed = {entry.volume.volume_id: entry.volume for entry in volumes.listed_volumes(client)}
    assert listed == made
    snaps = {answer.snapshot_id: answer for w in workers for answer, _ in w.snapshots.values()}
    assert {snap.snapshot_id: snap for snap in volumes.listed_snapshots(client)} == snaps
    for worker in workers:
        for name, (answer, request) in worker.volumes.items():
            source = request.get("source")
            if source and source not in listed and source not in snaps:
                continue  # its source was deleted since: the call could not even be made again
            assert create(client, name, **request) == answer
        for name, (answer, source) in worker.snapshots.items():
            if source in listed:
                assert snapshot(client, name, source) == answer
    return made, snaps


def snapshots_without_use(image, handles):
    """Snapshots that neither a handle leads to nor a clone stands on. librbd keeps deleted ones for
    their clones, in the image's own trash and under another name."""
    for snap in list(image.list_snaps()):
        if snap["namespace"] == rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH:
            image.set_snap_by_id(snap["id"])
            if not list(image.list_children2()):
                yield snap["name"]
        elif snap["id"] not in handles:
            yield snap["name"]


def stray_images(cluster, made, snaps):
    needed = {volumes.image_id_of(handle) for handle in snaps}
    live = {volumes.image_id_of(handle) for handle in made}
    for name in cluster.images(volumes.POOL):
        try:
            with cluster.image(volumes.POOL, name, read_only=True) as image:
                image_id = image.id()
                ours = [int(h.split("@")[1], 16) for h in snaps if volumes.image_id_of(h) == image_id]
                yield from (f"snapshot {name}@{n}" for n in snapshots_without_use(image, ours))
        except rbd.ImageNotFound:  # of an ancestor that is being flattened, librbd says the same
            yield f"image {name}, which does not open"
            continue
        if image_id not in (needed if name.startswith("imprint.d.") else live):
            yield f"image {name}"


def strays(cluster, made, snaps):
    """Images, snapshots, claims and other objects that no handle leads to."""
    found = list(stray_images(cluster, made, snaps))
    with cluster.ioctx(volumes.POOL) as ioctx:
        objects = [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]
    claims = [key for key in objects if key.startswith("imprint.claim.")]
    if len(claims) != len(snaps):
        found.append(f"{len(claims)} claims for {len(snaps)} snapshots")
    return found + [f"object {key}" for key in objects if key not in claims]


def test_crashes(cluster, tmp_path):
    with Controller(cluster.dir, tmp_path, preset="release") as controller:
        crashing = Crashing(controller)
        workers = [Worker(crashing, number) for number in range(IN_FLIGHT)]
        with concurrent.futures.ThreadPoolExecutor(IN_FLIGHT + 1) as threads:
            killer = threads.submit(crashing.run_killer)
            running = [threads.submit(worker.run) for worker in workers]
            for thread in [killer, *running]:
                thread.result()
        client = crashing.client
        made, snaps = check_names(client, workers)
        print(
            f"{KILLS} kills, {sum(w.turn for w in workers)} names, {len(made)} volumes and "
            f"{len(snaps)} snapshots at the end"
        )
        volumes.wait_until(lambda: not strays(cluster, made, snaps))
        assert strays(cluster, made, snaps) == []
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)
        client.close()


@pytest.mark.parametrize("delay_ms", [0, 30, 120])
def test_killed_while_it_starts(cluster, tmp_path, delay_ms):
    """It fences its predecessor and goes through the pools: cut that off, too."""
    with Controller(cluster.dir, tmp_path, preset="release") as controller:
        with controller.client() as client:
            volume = create(client, "v", SIZE)
            snap = snapshot(client, "s", volume.volume_id)
            create(client, "copy", SIZE, source=volume.volume_id)
            delete(client, volume.volume_id)
            delete(client, snap.snapshot_id)
        for _ in range(8):
            controller.restart()
            time.sleep(delay_ms / 1000)
        controller.restart()
        with controller.client() as client:
            volumes.delete_all(client)
            volumes.assert_nothing_left(cluster)
