# SPDX-License-Identifier: Apache-2.0
"""kill -9 behind every single Ceph call of an RPC; start again; repeat the RPC: it must succeed,
its result must be right, and after everything is deleted nothing may be left in the pool.

The controller of this build counts the calls that it makes to Ceph, and kills itself behind the Nth
when told to (lib/base/fault.h). A scenario is repeated with N = 1, 2, 3 … until the process
outlives both the RPC and what the RPC left to its background threads. So nobody lists the calls,
and a new one is covered as soon as it is made."""

import concurrent.futures
import os
import queue
import signal
import time

import grpc
import pytest

import volumes
from controller import Controller
from tenancy import Tenancy
from volumes import MIB, capability, delete, patiently

SIZE = 8 * MIB
LARGER = 24 * MIB
QUIET_S = 0.25  # no call for so long: the background has nothing more to do
FEWEST = 2  # a scenario with fewer places to die at has not been tested
SIDE_BY_SIDE = 4  # scenarios at once, each in pools of its own


class World:
    """A controller that can be armed, its client, made anew after each death, and pools that nobody
    else sees."""

    def __init__(self, cluster, name, folder):
        self.cluster = cluster
        self.place = Tenancy(cluster, name, folder)
        self.fault_file = os.path.join(folder, "fault")
        self.trace_file = os.path.join(folder, "trace")
        self.nonce = 0
        self.client = None
        self.controller = Controller(
            folder,
            folder,
            preset="faults",
            environment={
                "IMPRINT_FAULT_FILE": self.fault_file,
                "IMPRINT_FAULT_TRACE": self.trace_file,
            },
        )

    def start(self):
        self.controller.start()
        self.client = self.controller.client(deadline_s=30)

    def stop(self):
        self.client.close()
        self.controller.__exit__()

    def arm(self, number):
        """The Nth Ceph call from now on is the last one."""
        if os.path.exists(self.trace_file):
            os.unlink(self.trace_file)
        self.nonce += 1
        with open(self.fault_file + ".new", "w", encoding="ascii") as file:
            file.write(f"{number} {self.nonce}\n")
        os.rename(self.fault_file + ".new", self.fault_file)

    def disarm(self):
        if os.path.exists(self.fault_file):
            os.unlink(self.fault_file)

    def passed(self):
        """The calls since it was armed, by their text in the source."""
        if not os.path.exists(self.trace_file):
            return []
        with open(self.trace_file, encoding="utf-8") as file:
            return file.read().splitlines()

    def settle(self):
        """Waits until the process has died or has nothing more to do; whether it lives."""
        count, since = len(self.passed()), time.monotonic()
        while self.controller.is_running():
            time.sleep(0.01)
            if len(self.passed()) != count:
                count, since = len(self.passed()), time.monotonic()
            elif time.monotonic() - since > QUIET_S:
                return True
        return False

    def revive(self):
        assert self.controller.wait() == -signal.SIGKILL, self.controller.log_tail()
        self.client.close()
        self.disarm()
        self.start()

    def begin_anew(self):
        """After a failure: what comes next must not suffer for it."""
        self.controller.kill()
        self.client.close()
        self.disarm()
        self.place.scrub()
        self.start()


class Scenario:
    """One RPC. prepare() makes what it needs; call() is repeated until it succeeds; verify() looks
    at the result. `made` holds handles by name."""

    def __init__(self, world):
        self.world = world
        self.place = world.place
        self.cluster = world.cluster
        self.made = {}

    @property
    def client(self):
        return self.world.client  # another one after each death

    def prepare(self):
        pass

    def call(self):
        raise NotImplementedError

    def verify(self, answer):
        raise NotImplementedError

    # what scenarios are made of

    def create(self, name, size=SIZE, source=None, **given):
        parameters = self.place.parameters(**given)
        return volumes.create(self.client, name, size, source=source, parameters=parameters)

    def volume(self, name, **more):
        self.made[name] = self.create(name, **more).volume_id

    def filled(self, name):
        self.volume(name)
        volumes.write(self.cluster, self.made[name], name)

    def snapshot(self, name, source):
        self.made[name] = volumes.snapshot(self.client, name, self.made[source]).snapshot_id

    def delete(self, name):
        delete(self.client, self.made[name])

    def assert_data(self, handle, name, size=SIZE):
        contents = volumes.contents(self.cluster, handle)
        assert len(contents) == size
        assert contents[:MIB] == volumes.bytes_of(name, MIB)
        assert not any(contents[MIB:])

    def listed(self):
        found = {entry.volume.volume_id for entry in volumes.listed_volumes(self.client)}
        return found | {snap.snapshot_id for snap in volumes.listed_snapshots(self.client)}


class CreateBlank(Scenario):
    def call(self):
        return self.create("blank")

    def verify(self, answer):
        assert answer.capacity_bytes == SIZE == volumes.size_of(self.cluster, answer.volume_id)
        assert not any(volumes.contents(self.cluster, answer.volume_id))


class CreateInPlaces(CreateBlank):
    """In a namespace, with its data in another pool."""

    def call(self):
        place = self.place
        return self.create("blank", namespace=place.namespace, dataPool=place.data_pool)


class CreateFromSnapshot(Scenario):
    source, size, mode = "snap", SIZE, "cow"

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")

    def call(self):
        return self.create("copy", self.size, self.made[self.source], copyMode=self.mode)

    def verify(self, answer):
        self.assert_data(answer.volume_id, "origin", self.size)
        asked = answer.content_source
        assert self.made[self.source] in (asked.snapshot.snapshot_id, asked.volume.volume_id)
        with self.cluster.volume(answer.volume_id, read_only=True) as image:
            keys = dict(image.metadata_list())
            assert image.overlap() == (SIZE if self.mode == "cow" else 0)
        assert keys["imprint.name"] == "copy" and "imprint.copying" not in keys
        self.assert_data(self.made["origin"], "origin")


class CreateFromSnapshotLarger(CreateFromSnapshot):
    size = LARGER


class CreateFromVolume(CreateFromSnapshot):
    source = "origin"

    def prepare(self):
        self.filled("origin")


class CreateFromVolumeLarger(CreateFromVolume):
    size = LARGER


class CopySnapshot(CreateFromSnapshot):
    mode = "clone"


class CopyVolumeLarger(CreateFromVolume):
    mode, size = "clone", LARGER


class CreateFromDeletedVolumesSnapshot(CreateFromSnapshot):
    def prepare(self):
        super().prepare()
        self.delete("origin")

    def assert_data(self, handle, name, size=SIZE):
        if handle != self.made["origin"]:
            super().assert_data(handle, name, size)


class CreateSnapshot(Scenario):
    def prepare(self):
        self.filled("origin")

    def call(self):
        return volumes.snapshot(self.client, "snap", self.made["origin"])

    def verify(self, answer):
        assert answer.source_volume_id == self.made["origin"] and answer.size_bytes == SIZE
        assert volumes.listed_snapshots(self.client) == [answer]
        with self.cluster.volume(self.made["origin"], read_only=True) as image:
            assert len(list(image.list_snaps())) == 1
        copy = self.create("restored", source=answer.snapshot_id)
        self.assert_data(copy.volume_id, "origin")


class Deletion(Scenario):
    """Deletes `victim`; `survivors` must be as they were."""

    victim = "origin"
    survivors = ()

    def call(self):
        delete(self.client, self.made[self.victim])

    def verify(self, answer):
        assert self.listed() == {self.made[name] for name in self.survivors}
        for name in self.survivors:
            handle = self.made[name]
            if "@" in handle:
                handle = self.create(f"from-{name}", source=handle).volume_id
            self.assert_data(handle, "origin")


class DeleteVolume(Deletion):
    def prepare(self):
        self.filled("origin")


class DeleteVolumeWithSnapshots(Deletion):
    survivors = ("one", "two")

    def prepare(self):
        self.filled("origin")
        self.snapshot("one", "origin")
        self.snapshot("two", "origin")


class DeleteVolumeWithClones(Deletion):
    survivors = ("copy",)

    def prepare(self):
        self.filled("origin")
        self.volume("copy", source=self.made["origin"])


class DeleteVolumeWithBoth(Deletion):
    survivors = ("snap", "copy", "restored")

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")
        self.volume("copy", source=self.made["origin"])
        self.volume("restored", source=self.made["snap"])


class DeleteSnapshot(Deletion):
    victim, survivors = "snap", ("origin",)

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")


class DeleteSnapshotWithClones(Deletion):
    victim, survivors = "snap", ("origin", "copy")

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")
        self.volume("copy", source=self.made["snap"])


class DeleteLastSnapshotOfDeletedVolume(Deletion):
    victim = "snap"

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")
        self.delete("origin")


class DeleteLastSnapshotOfDeletedVolumeWithClone(Deletion):
    victim, survivors = "snap", ("copy",)

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")
        self.volume("copy", source=self.made["snap"])
        self.delete("origin")


class DeleteLastClone(Deletion):
    """The end of a chain of which all else is deleted: all of it goes."""

    victim = "last"

    def prepare(self):
        self.filled("origin")
        self.snapshot("snap", "origin")
        self.volume("middle", source=self.made["snap"])
        self.volume("last", source=self.made["middle"])
        for name in ("origin", "snap", "middle"):
            self.delete(name)


class Expand(Scenario):
    def prepare(self):
        self.filled("origin")

    def call(self):
        return self.client.ControllerExpandVolume(
            volume_id=self.made["origin"], capacity_range={"required_bytes": LARGER}
        )

    def verify(self, answer):
        assert answer.capacity_bytes == LARGER
        self.assert_data(self.made["origin"], "origin", LARGER)


class Modify(Scenario):
    limits = {"rbd_qos_iops_limit": "500", "rbd_qos_bps_limit": "1000000"}

    def prepare(self):
        self.filled("origin")

    def call(self):
        self.client.ControllerModifyVolume(
            volume_id=self.made["origin"], mutable_parameters=self.limits
        )

    def verify(self, answer):
        with self.cluster.volume(self.made["origin"], read_only=True) as image:
            keys = dict(image.metadata_list())
        assert {k: v for k, v in keys.items() if k.startswith("conf_")} == {
            f"conf_{name}": value for name, value in self.limits.items()
        }


class Publish(Scenario):
    node = "imprint:node-a"

    def prepare(self):
        self.filled("origin")

    def call(self):
        self.client.ControllerPublishVolume(
            volume_id=self.made["origin"], node_id=self.node, volume_capability=capability()
        )

    def nodes(self):
        answer = self.client.ControllerGetVolume(volume_id=self.made["origin"])
        return list(answer.status.published_node_ids)

    def verify(self, answer):
        assert self.nodes() == [self.node]


class Unpublish(Publish):
    def prepare(self):
        super().prepare()
        Publish.call(self)

    def call(self):
        self.client.ControllerUnpublishVolume(volume_id=self.made["origin"], node_id=self.node)

    def verify(self, answer):
        assert self.nodes() == []


def leaves(cls):
    """The scenarios: classes that say what their call is."""
    for sub in cls.__subclasses__():
        if sub is not Deletion:
            yield sub
        yield from leaves(sub)


SCENARIOS = list(leaves(Scenario))


def survive(world, scenario, number):
    """Kills at the Nth call. Whether the process lived to the end, and the calls that it passed."""
    scenario.prepare()
    known = scenario.listed()
    world.arm(number)
    answer, is_answered = None, False
    try:
        answer, is_answered = scenario.call(), True
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
    lives = world.settle()
    calls = world.passed()
    if not lives:
        world.revive()
    world.disarm()
    assert is_answered or not lives
    half_made = scenario.listed() - known
    again = patiently(scenario.call)
    assert not is_answered or again == answer, "another answer than before"
    handles = {getattr(again, name, None) for name in ("volume_id", "snapshot_id")}
    assert half_made <= handles, "what was listed before the call was repeated is not its result"
    scenario.verify(again)
    volumes.delete_all(world.client)
    world.place.assert_nothing_left()
    return lives, calls


def die_everywhere(world, kind):
    """Runs the scenario once for each place to die at; these places, by their text in the source."""
    deaths = []
    while True:
        number = len(deaths) + 1
        assert number < 300, "it does not come to an end"
        try:
            lives, calls = survive(world, kind(world), number)
        except Exception as error:
            place = world.passed()[-1:]
            world.begin_anew()
            raise AssertionError(f"killed behind call {number}, {place}: {error}") from error
        if lives:
            return deaths
        deaths.append(calls[-1])


@pytest.fixture(scope="module")
def running(cluster, tmp_path_factory):
    """All scenarios, some at a time: what becomes of each."""
    worlds = queue.SimpleQueue()
    made = []
    for number in range(SIDE_BY_SIDE):
        name = f"world-{number}"
        made.append(World(cluster, name, str(tmp_path_factory.mktemp(name))))
        made[-1].start()
        worlds.put(made[-1])

    def run(kind):
        world = worlds.get()
        try:
            return die_everywhere(world, kind)
        finally:
            worlds.put(world)

    threads = concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE)
    yield {kind: threads.submit(run, kind) for kind in SCENARIOS}
    threads.shutdown(cancel_futures=True)
    for world in made:
        world.stop()


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.__name__)
def test_killed_behind_every_call(running, kind):
    deaths = running[kind].result()
    print(f"{kind.__name__}: {len(deaths)} places, the last {deaths[-1:]}")
    assert len(deaths) >= FEWEST
