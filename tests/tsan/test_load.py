# SPDX-License-Identifier: Apache-2.0
"""The whole controller under ThreadSanitizer, with mixed calls on a real Ceph, the polls of the
sidecars beside them, and a stop with calls in flight."""

import contextlib
import os
import random
import threading
import time

import grpc
import pytest

import soak
import volumes
from controller import ROOT, Controller

CALLERS = 24
SECONDS = 15
SUPPRESSIONS = os.path.join(ROOT, "tests", "unit", "tsan.supp")
OPTIONS = {"TSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:halt_on_error=0:exitcode=66:history_size=4"}


def reports(controller):
    """What ThreadSanitizer said, a report each."""
    text = controller.log_text()
    parts = text.split("WARNING: ThreadSanitizer: ")[1:]
    return [part.split("\n==================")[0] for part in parts]


def call_until(client, end):
    """What the sidecars ask all the time."""
    while not end.wait(0.05):
        client.Probe()
        client.GetCapacity(parameters=volumes.parameters())
        client.ListVolumes(max_entries=10)
        client.ListSnapshots(max_entries=10)


@contextlib.contextmanager
def polled(client):
    end = threading.Event()
    thread = threading.Thread(target=call_until, args=(client, end))
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@pytest.fixture
def emptied(cluster, tmp_path):
    """What the last calls made, or a failed try left, goes by the hands of a new process."""
    yield
    with Controller(cluster.dir, tmp_path / "cleaner", "tsan", environment=OPTIONS) as cleaner:
        with cleaner.client() as client:
            volumes.delete_all(client)
            volumes.assert_nothing_left(cluster)
    assert reports(cleaner) == []


def test_mixed_calls(cluster, tmp_path, emptied):
    controller = Controller(cluster.dir, tmp_path, preset="tsan", environment=OPTIONS)
    with controller, controller.client(120) as client:
        source = volumes.create(client, "source", soak.SIZE)
        snapshot = volumes.snapshot(client, "source", source.volume_id)
        crowd = soak.Crowd(client, CALLERS, 1, source, snapshot)
        with polled(client):
            crowd.run(SECONDS)
        print(f"{sum(crowd.counts.values())} calls")
        assert crowd.wrong == [], "\n".join(crowd.wrong[:20])
        assert len(crowd.counts) >= 15, f"not mixed: {crowd.counts}"
        crowd.delete_everything(random.Random(1))
        last = [client.CreateVolume.future(**volumes.volume_request(f"last-{i}")) for i in range(16)]
        time.sleep(0.05)
    for future in last:
        assert future.exception() is None or future.code() in (
            grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), future.details()
    assert reports(controller) == [], "\n\n".join(reports(controller)[:3])
