# SPDX-License-Identifier: Apache-2.0
"""Ceph stops answering under load: every call still gets its answer in time, no thread is lost, and
everything goes on when Ceph is back."""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import threading
import time

import grpc

import volumes
from volumes import CODES, MIB, create, delete, patiently, snapshot

SIZE = 8 * MIB
CALLERS = 24
DEADLINE_S = 3
LATE_S = 0.5  # so much later an answer may arrive on a busy machine
OUTAGE_S = 7  # every caller makes a call that lies within it altogether
IN_TIME = {CODES.DEADLINE_EXCEEDED, CODES.UNAVAILABLE}

# Our own threads when there is nothing to do.
AT_REST = {"rpc-queue": 1, "rpc-worker": 0, "purge": 1, "flatten": 0}

Outcome = collections.namedtuple("Outcome", "call start end code details")


def threads_of(controller):
    """How many threads there are of each name."""
    names = collections.Counter()
    folder = f"/proc/{controller.pid}/task"
    for task in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(folder, task, "comm"), encoding="ascii") as comm:
                names[comm.read().strip()] += 1
    return names


def own_threads_of(controller):
    names = threads_of(controller)
    return {name: names[name] for name in AT_REST}


class Load:
    """Callers that go on calling, each on names of its own, and write down how each call ended."""

    def __init__(self, client):
        self.client = client
        self.is_over = threading.Event()
        self.outcomes = []
        self.pending = []  # calls that did not succeed: to be repeated at the end
        self.origin = create(client, "origin", SIZE).volume_id
        self.snapshot = snapshot(client, "origin-snapshot", self.origin).snapshot_id
        self.threads = concurrent.futures.ThreadPoolExecutor(CALLERS)
        self.running = [self.threads.submit(self.run, number) for number in range(CALLERS)]

    def calls(self, number, turn):
        """One call of each kind, with what it needs; those that need nothing come first."""
        client, name = self.client, f"{number}-{turn}"
        made = {}

        def keep(key, answer):
            made[key] = answer
            return answer

        yield "blank", lambda: keep("v", create(client, f"blank-{name}", SIZE))
        yield "clone", lambda: create(client, f"clone-{name}", SIZE, source=self.origin)
        yield "restore", lambda: create(client, f"restore-{name}", SIZE, source=self.snapshot)
        yield "snapshot", lambda: snapshot(client, f"s-{name}", self.origin)
        if "v" in made:
            handle = made["v"].volume_id
            larger = {"required_bytes": 2 * SIZE}
            yield "expand", lambda: client.ControllerExpandVolume(
                volume_id=handle, capacity_range=larger
            )
            yield "get", lambda: client.ControllerGetVolume(volume_id=handle)
            yield "delete", lambda: delete(client, handle)
        yield "list", lambda: client.ListVolumes(max_entries=10)

    def run(self, number):
        for turn in itertools.count():
            calls = list(self.calls(number, turn))
            for kind, call in calls[turn % len(calls) :] + calls[: turn % len(calls)]:
                if self.is_over.is_set():
                    return
                self.attempt(kind, call)

    def attempt(self, kind, call):
        start, code, details = time.monotonic(), CODES.OK, ""
        try:
            call()
        except grpc.RpcError as error:
            code, details = error.code(), error.details()
            self.pending.append(call)
        self.outcomes.append(Outcome(kind, start, time.monotonic(), code, details))

    def wait_for_answers(self, count):
        """Until so many more calls have succeeded."""
        good = sum(outcome.code == CODES.OK for outcome in self.outcomes)
        assert volumes.wait_until(
            lambda: sum(o.code == CODES.OK for o in self.outcomes) >= good + count, timeout_s=60
        ), self.outcomes[-5:]

    def stop(self):
        self.is_over.set()
        self.threads.shutdown()
        for run in self.running:
            run.result()


def check_in_time(outcomes, begin, end):
    """The calls that lay within the outage."""
    within = [o for o in outcomes if o.start > begin and o.end < end]
    late = [o for o in outcomes if o.end - o.start > DEADLINE_S + LATE_S]
    assert late == []
    assert len(within) >= CALLERS
    assert {o.code for o in within} <= IN_TIME | {CODES.OK}
    failed = [o for o in within if o.code != CODES.OK]
    assert failed  # else nothing was tried
    # the driver's own words; the client's say nothing, and come when the driver's did not
    told = [o for o in failed if "again" in o.details]
    assert len(told) > len(failed) * 3 // 4, failed[:5]
    return failed


def check_healthy(outcomes, begin, end):
    strange = [o for o in outcomes if o.code != CODES.OK and o.start > begin and o.end < end]
    assert strange == []


FAULTS = {
    "the OSD does not answer": ("osd_pause", "osd_resume"),
    "the monitor does not answer": ("mon_pause", "mon_resume"),
    "the OSD is gone": ("osd_stop", "osd_start"),
}


def go_through_outage(cluster, client, fault):
    """When it began and ended."""
    begin_fault, end_fault = (getattr(cluster, name) for name in FAULTS[fault])
    begin_fault()
    begin = time.monotonic()
    try:
        time.sleep(OUTAGE_S / 2)
        # what needs no Ceph goes on as ever
        assert client.Probe(timeout=1).ready.value
        assert client.ControllerGetCapabilities(timeout=1).capabilities
        time.sleep(OUTAGE_S / 2)
    finally:
        end = time.monotonic()
        end_fault()
    return begin, end


def test_outages_under_load(cluster, controller):
    with controller.client(DEADLINE_S) as client:
        load = Load(client)
        load.wait_for_answers(2 * CALLERS)
        before = threads_of(controller)
        outages, healthy_since = {}, 0
        for fault in FAULTS:
            begin, end = outages[fault] = go_through_outage(cluster, client, fault)
            check_healthy(load.outcomes, healthy_since, begin)
            load.wait_for_answers(2 * CALLERS)
            healthy_since = time.monotonic()
        load.stop()
        check_healthy(load.outcomes, healthy_since, time.monotonic())
        for fault, (begin, end) in outages.items():
            failed = check_in_time(load.outcomes, begin, end)
            print(f"{fault}: {len(failed)} of {len(load.outcomes)} calls failed")
        for call in load.pending:
            patiently(call)
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)
        # an idle worker goes after ten seconds
        volumes.wait_until(lambda: own_threads_of(controller) == AT_REST)
        assert own_threads_of(controller) == AT_REST
        # librbd makes some threads when it first needs them, one of a kind
        more = threads_of(controller) - before
        assert {name: n for name, n in more.items() if name in before or n > 1} == {}
