# SPDX-License-Identifier: Apache-2.0
"""200 mixed calls at once, round after round: no wrong answer, nothing left, no more memory than
after the first round.

SOAK_SECONDS is how long they call, in all rounds together."""

import os
import random
import time

import pytest

import soak
import volumes
from controller import Controller
from volumes import MIB

CALLERS = 200
ROUNDS = 5
SECONDS = float(os.environ.get("SOAK_SECONDS", "60"))
DEADLINE_S = 240  # whoever waits longer was forgotten
CHECKED = 10  # copies whose contents are read, each round


def quiet_rss_kib(controller):
    """What it holds when it has been without calls for a while and gave back what was free."""
    lowest, since = controller.rss_kib(), time.monotonic()
    while time.monotonic() < since + 6:
        time.sleep(0.2)
        lowest = min(lowest, controller.rss_kib())
    return lowest


def run_round(cluster, client, number):
    """One round, from an empty pool to an empty pool; the calls that were made."""
    source = volumes.create(client, f"source-{number}", soak.SIZE)
    data = volumes.write(cluster, source.volume_id, number)
    snapshot = volumes.snapshot(client, f"source-{number}", source.volume_id)
    crowd = soak.Crowd(client, CALLERS, number, source, snapshot)
    crowd.run(SECONDS / ROUNDS)
    assert crowd.wrong == [], f"{len(crowd.wrong)} of {sum(crowd.counts.values())}:\n" + "\n".join(
        crowd.wrong[:20])
    expected = crowd.handles()
    assert {entry.volume.volume_id for entry in volumes.listed_volumes(client)} == expected[0]
    assert {snap.snapshot_id for snap in volumes.listed_snapshots(client)} == expected[1]
    for handle in random.Random(number).sample(crowd.copies(), min(CHECKED, len(crowd.copies()))):
        with cluster.volume(handle, read_only=True) as image:
            assert image.read(0, MIB) == data[:MIB]
    crowd.delete_everything(random.Random(number))
    volumes.assert_nothing_left(cluster, timeout_s=120)
    return crowd


@pytest.fixture
def emptied(cluster, tmp_path):
    """What a failed try left does not fail the next one."""
    yield
    if any(cluster.leftovers(pool) for pool in volumes.POOLS):
        with Controller(cluster.dir, tmp_path / "cleaner") as cleaner, cleaner.client() as client:
            volumes.delete_all(client)
            volumes.assert_nothing_left(cluster)


def test_two_hundred_callers(cluster, tmp_path, emptied):
    with Controller(cluster.dir, tmp_path) as controller, controller.client(DEADLINE_S) as client:
        rss, threads = [], []
        for number in range(1, ROUNDS + 1):
            begin = time.monotonic()
            crowd = run_round(cluster, client, number)
            rss.append(quiet_rss_kib(controller))
            threads.append(controller.threads())
            print(f"round {number}: {sum(crowd.counts.values())} calls, the slowest "
                  f"{crowd.slowest_s:.1f} s, then {rss[-1] / 1024:.1f} MiB, {threads[-1]} threads, "
                  f"{time.monotonic() - begin:.0f} s in all")
            assert len(crowd.counts) >= 15, f"not mixed: {crowd.counts}"
        assert rss[-1] < rss[0] * 1.1 + 1024, f"KiB after each round: {rss}"
        assert threads[-1] <= threads[0] + 2, f"threads after each round: {threads}"
