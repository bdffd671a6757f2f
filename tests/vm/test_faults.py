# SPDX-License-Identifier: Apache-2.0
"""kill -9 behind every system call that changes the node in an RPC, with krbd on one machine and nbd
on the other, at the same time; then the same RPC again, and nothing is left.

The places are not listed here. Each RPC is run once to see which ones it passes; then it is killed
behind each of them in turn. What it asks of Ceph is the same for every mapper: tests/node kills it
there as well, on a machine that is not as slow as these."""

import concurrent.futures

import grpc
import pytest

import volumes
from staged import Staged
from volumes import CODES, MIB

# Refusals that end by themselves: the dead plugin's own Ceph client is believed to be alive.
PASSING = volumes.PASSING | {CODES.FAILED_PRECONDITION}
PROGRAM, ARMED, TRACE = "imprint-node-faults", "/tmp/armed", "/tmp/trace"
NEVER = 100000


class Victim:
    """A machine whose plugin dies behind a given place."""

    def __init__(self, guest, mapper, control):
        self.guest, self.mapper, self.control = guest, mapper, control
        self.nonce = self.count = 0
        self.hit = []  # places, in the order of the deaths behind them

    def volume(self, size=64 * MIB):
        self.count += 1
        return volumes.create(self.control, f"{self.mapper}-{self.count}", size,
                              parameters=volumes.parameters(mapper=self.mapper))

    def run(self, call, place=NEVER):
        """The places that the call passed; the plugin is dead behind the last one, if it got there."""
        self.nonce += 1
        self.guest.sh(f"rm -f {TRACE}; echo {place} {self.nonce} >{ARMED}")
        try:
            call()
        except grpc.RpcError:
            if self.guest.plugin_runs():
                raise
        return self.guest.sh(f"echo 0 >{ARMED}; cat {TRACE}; true").splitlines()

    def places_of(self, call):
        """Numbers of the places that it passes. Of a loop in which it waits, the end is enough."""
        names = self.run(call)
        return [number for number, name in enumerate(names, 1)
                if names[number - 1:number + 2] != [name] * 3]

    def kill_in(self, call, place):
        names = self.run(call, place)
        if not self.guest.plugin_runs():
            self.hit.append(names[-1])
            self.guest.start_plugin()

    def client(self):
        return self.guest.client()


@pytest.fixture
def victims(guests, control):
    made = [Victim(guest, mapper, control) for guest, mapper in zip(guests, ("krbd", "nbd"))]
    for guest in guests:
        guest.kill_plugin()
        guest.program = PROGRAM
        guest.environment = {"IMPRINT_FAULT_FILE": ARMED, "IMPRINT_FAULT_TRACE": TRACE,
                             "IMPRINT_FAULT_ONLY": "sys"}
        guest.sh(f"echo 0 >{ARMED}")
        guest.start_plugin()
    yield made
    for guest in guests:
        guest.kill_plugin()
        guest.program, guest.environment = "imprint-node", {}
        guest.start_plugin()


def side_by_side(victims, test):
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for outcome in [threads.submit(test, victim) for victim in victims]:
            outcome.result()


def died_in(victim, *words):
    """It was killed behind all of these."""
    for word in words:
        assert any(word in place for place in victim.hit), (word, victim.mapper, victim.hit)


MAPS = {"krbd": "write(fd", "nbd": "subprocess_start"}


def test_stage_and_unstage(victims):
    """A new volume each time, so that its filesystem is made."""

    def test(victim):
        with victim.client() as client:
            staged = Staged(client, victim.guest, victim.volume(), "ext4")
            stages = victim.places_of(staged.stage)
            unstages = victim.places_of(staged.unstage)
            assert victim.guest.leftovers() == []
            for turn in range(max(len(stages), len(unstages))):
                staged = Staged(client, victim.guest, victim.volume(), "ext4")
                if turn < len(stages):
                    victim.kill_in(staged.stage, stages[turn])
                volumes.patiently(staged.stage, 120, PASSING)
                victim.guest.sh(f"echo works >{staged.staging}/file; sync")
                if turn < len(unstages):
                    victim.kill_in(staged.unstage, unstages[turn])
                volumes.patiently(staged.unstage, 120)
                assert victim.guest.leftovers() == [], victim.hit[-2:]
        assert len(victim.hit) >= len(stages) + len(unstages) - 2, victim.hit
        died_in(victim, MAPS[victim.mapper], "wait_for", "FSCONFIG_CMD_CREATE", "move_mount", "umount2")

    side_by_side(victims, test)


def test_publish_and_unpublish(victims):
    """Read-only, of a disk: that takes a device more."""

    def test(victim):
        with victim.client() as client:
            staged = Staged(client, victim.guest, victim.volume()).stage()
            publish = lambda: staged.publish(readonly=True)
            for_one = lambda: client.NodeUnpublishVolume(volume_id=staged.volume_id,
                                                         target_path=victim.guest.target("pod"))
            publishes, unpublishes = victim.places_of(publish), victim.places_of(for_one)
            for turn in range(max(len(publishes), len(unpublishes))):
                if turn < len(publishes):
                    victim.kill_in(publish, publishes[turn])
                volumes.patiently(publish)
                if turn < len(unpublishes):
                    victim.kill_in(for_one, unpublishes[turn])
                volumes.patiently(for_one)
                assert "gone" in victim.guest.sh(f"[ -e {victim.guest.target('pod')} ] || echo gone")
            staged.unstage()
        assert len(victim.hit) >= len(publishes) + len(unpublishes) - 2, victim.hit
        died_in(victim, "LOOP_CONFIGURE", "openat", "move_mount", "umount2", "unlinkat")

    side_by_side(victims, test)


def test_expand(victims):

    def test(victim):
        volume, sizes = victim.volume(), iter(range(96 * MIB, 4096 * MIB, 32 * MIB))
        with victim.client() as client:
            staged = Staged(client, victim.guest, volume, "ext4").stage()
            staged.publish()

            def grow():
                size = next(sizes)
                volumes.patiently(lambda: victim.control.ControllerExpandVolume(
                    volume_id=volume.volume_id, capacity_range={"required_bytes": size}))
                return size

            size = grow()
            places = victim.places_of(lambda: staged.expand(size))
            for place in places:
                size = grow()
                victim.kill_in(lambda: staged.expand(size), place)
                assert volumes.patiently(lambda: staged.expand(size)).capacity_bytes == size
                assert staged.stats().usage[0].total > size - 32 * MIB
            staged.leave()
        assert len(victim.hit) >= len(places) - 2, victim.hit
        died_in(victim, "subprocess_start", "wait_for")

    side_by_side(victims, test)
