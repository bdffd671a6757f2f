# SPDX-License-Identifier: Apache-2.0
"""Many callers at once, each with volumes of its own and a good memory: every answer is compared with
what it must be.

    crowd = Crowd(client, callers=200)
    crowd.run(seconds=12)
    assert crowd.wrong == []
"""

import collections
import concurrent.futures
import random
import threading
import time

import grpc

import volumes
from volumes import CODES, MIB

SIZE = 8 * MIB
OWN_MAX = 4  # volumes of a caller; beyond that it deletes


class Caller:
    """One line of calls, one behind the other."""

    def __init__(self, crowd, number):
        self.crowd = crowd
        self.client = crowd.client
        self.number = number
        self.random = random.Random(number)
        self.turn = 0
        self.volumes = {}  # handle: (name, size, keywords of its request)
        self.snapshots = {}  # handle: (name, handle of its volume, size)
        self.deleted = []  # handles

    def step(self):
        weighted = [(self.create, 4), (self.clone_shared, 3), (self.restore_shared, 3)]
        if self.volumes:
            weighted += [(self.create_again, 2), (self.create_otherwise, 1), (self.clone, 2),
                         (self.snapshot, 2), (self.expand, 3), (self.look, 2), (self.publish, 1),
                         (self.modify, 1), (self.delete, 2 if len(self.volumes) < OWN_MAX else 30),
                         (self.list_volumes, 0.3), (self.list_snapshots, 0.3)]
        if self.snapshots:
            weighted += [(self.restore, 2), (self.look_at_snapshot, 1), (self.delete_snapshot, 2)]
        if self.deleted:
            weighted += [(self.delete_again, 1), (self.look_at_deleted, 1)]
        kinds, weights = zip(*weighted)
        kind = self.random.choices(kinds, weights)[0]
        begin = time.monotonic()
        try:
            kind()
        except Exception as error:  # one that did not expect an error; the crowd goes on
            self.crowd.complain(self.number, kind.__name__, error)
        self.crowd.count(kind.__name__, time.monotonic() - begin)

    def name(self, kind):
        self.turn += 1
        return f"{kind}-{self.crowd.round}-{self.number}-{self.turn}"

    def one(self, things):
        return self.random.choice(sorted(things))

    # Volumes.

    def make(self, size=SIZE, source=None):
        name = self.name("v")
        made = volumes.create(self.client, name, size, source=source)
        assert made.capacity_bytes == size, made
        assert made.volume_id not in self.volumes, made
        if source:
            kind = "snapshot" if "@" in source else "volume"
            origin = getattr(made.content_source, kind)
            assert getattr(origin, f"{kind}_id") == source, made
        self.crowd.claim(made.volume_id, name)
        self.volumes[made.volume_id] = (name, size, source)

    def create(self):
        self.make(SIZE * self.random.randint(1, 3))

    def clone_shared(self):
        self.make(SIZE * self.random.randint(1, 2), self.crowd.source.volume_id)

    def restore_shared(self):
        self.make(SIZE * self.random.randint(1, 2), self.crowd.snapshot.snapshot_id)

    def clone(self):
        handle = self.one(self.volumes)
        if self.volumes[handle][2] is None:  # chains stay short
            self.make(self.volumes[handle][1], handle)

    def create_again(self):
        handle = self.one(self.volumes)
        name, size, source = self.volumes[handle]
        made = volumes.create(self.client, name, SIZE, source=source)
        assert made.volume_id == handle and made.capacity_bytes == size, made

    def create_otherwise(self):
        name, size, source = self.volumes[self.one(self.volumes)]
        with volumes.refused(CODES.ALREADY_EXISTS, name):
            volumes.create(self.client, name, 2 * size, limit=2 * size, source=source)

    def expand(self):
        handle = self.one(self.volumes)
        name, size, source = self.volumes[handle]
        grown = self.client.ControllerExpandVolume(
            volume_id=handle, capacity_range={"required_bytes": size + SIZE})
        assert grown.capacity_bytes == size + SIZE, grown
        self.volumes[handle] = (name, size + SIZE, source)

    def look(self):
        handle = self.one(self.volumes)
        found = self.client.ControllerGetVolume(volume_id=handle)
        assert found.volume.volume_id == handle, found
        assert found.volume.capacity_bytes == self.volumes[handle][1], found

    def publish(self):
        handle, node = self.one(self.volumes), f"imprint:node-{self.number}"
        fields = {"volume_id": handle, "node_id": node}
        self.client.ControllerPublishVolume(volume_capability=volumes.capability(), **fields)
        status = self.client.ControllerGetVolume(volume_id=handle).status
        assert list(status.published_node_ids) == [node], status
        self.client.ControllerUnpublishVolume(**fields)
        assert not self.client.ControllerGetVolume(volume_id=handle).status.published_node_ids

    def modify(self):
        self.client.ControllerModifyVolume(volume_id=self.one(self.volumes),
                                           mutable_parameters={"rbd_qos_iops_limit": "1000"})

    def delete(self):
        handle = self.one(self.volumes)
        self.client.DeleteVolume(volume_id=handle)
        del self.volumes[handle]
        self.deleted.append(handle)

    def delete_again(self):
        self.client.DeleteVolume(volume_id=self.one(self.deleted))

    def look_at_deleted(self):
        with volumes.refused(CODES.NOT_FOUND):
            self.client.ControllerGetVolume(volume_id=self.one(self.deleted))

    def list_volumes(self):
        """While others come and go, what is ours is there, once, as it should be."""
        found = collections.Counter()
        for entry in volumes.listed_volumes(self.client, self.random.choice([0, 100])):
            found[entry.volume.volume_id] += 1
            if entry.volume.volume_id in self.volumes:
                assert entry.volume.capacity_bytes == self.volumes[entry.volume.volume_id][1], entry
        assert all(found[handle] == 1 for handle in self.volumes), "not listed once"
        assert not any(found[handle] for handle in self.deleted), "listed though it was deleted"

    # Snapshots.

    def snapshot(self):
        handle = self.one(self.volumes)
        name = self.name("s")
        made = volumes.snapshot(self.client, name, handle)
        assert made.source_volume_id == handle and made.ready_to_use, made
        again = volumes.snapshot(self.client, name, handle)
        assert again == made, f"{again} is not {made}"
        self.snapshots[made.snapshot_id] = (name, handle, self.volumes[handle][1])

    def restore(self):
        handle = self.one(self.snapshots)
        self.make(self.snapshots[handle][2], handle)

    def look_at_snapshot(self):
        handle = self.one(self.snapshots)
        found = self.client.GetSnapshot(snapshot_id=handle).snapshot
        assert found.source_volume_id == self.snapshots[handle][1], found
        assert found.size_bytes == self.snapshots[handle][2], found

    def list_snapshots(self):
        found = {snap.snapshot_id for snap in volumes.listed_snapshots(self.client)}
        assert found >= set(self.snapshots), "not listed"

    def delete_snapshot(self):
        handle = self.one(self.snapshots)
        self.client.DeleteSnapshot(snapshot_id=handle)
        del self.snapshots[handle]
        self.client.DeleteSnapshot(snapshot_id=handle)


class Crowd:
    """`source` is a volume and `snapshot` a snapshot that all of them copy."""

    def __init__(self, client, callers, round, source, snapshot):
        self.client = client
        self.round = round
        self.source = source
        self.snapshot = snapshot
        self.callers = [Caller(self, number) for number in range(callers)]
        self.mutex = threading.Lock()  # guards all below
        self.wrong = []
        self.counts = collections.Counter()
        self.slowest_s = 0
        self.owners = {}  # handle: name of the volume it was given out for

    def complain(self, number, what, error):
        said = (f"{error.code().name}: {error.details()}" if isinstance(error, grpc.RpcError)
                else f"{type(error).__name__}: {error}")
        with self.mutex:
            self.wrong.append(f"caller {number}, {what}: {said}")

    def count(self, what, seconds):
        with self.mutex:
            self.counts[what] += 1
            self.slowest_s = max(self.slowest_s, seconds)

    def claim(self, handle, name):
        """No handle is given out for two names."""
        with self.mutex:
            assert self.owners.setdefault(handle, name) == name, f"{handle} has two names"

    def run(self, seconds):
        end = time.monotonic() + seconds

        def call_on(caller):
            while time.monotonic() < end:
                caller.step()

        with concurrent.futures.ThreadPoolExecutor(len(self.callers)) as threads:
            list(threads.map(call_on, self.callers))

    def handles(self):
        """What must be there now: volumes and snapshots."""
        found = {self.source.volume_id}, {self.snapshot.snapshot_id}
        for caller in self.callers:
            found[0].update(caller.volumes)
            found[1].update(caller.snapshots)
        return found

    def copies(self):
        """Volumes that must hold what the shared source holds."""
        shared = (self.source.volume_id, self.snapshot.snapshot_id)
        return [handle for caller in self.callers
                for handle, (_, _, source) in caller.volumes.items() if source in shared]

    def delete_everything(self, dice):
        """In any order, all at once."""
        handles = sorted(set().union(*self.handles()))
        dice.shuffle(handles)
        with concurrent.futures.ThreadPoolExecutor(64) as threads:
            list(threads.map(lambda handle: volumes.delete(self.client, handle), handles))
