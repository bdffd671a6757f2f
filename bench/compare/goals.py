# SPDX-License-Identifier: Apache-2.0
"""The goals, and how the figures of a run stand against them.

A figure is the median of its repetitions. Ratios compare time: of one operation where the figure is a p50, per
operation where it is a rate. A ratio is the median of those of each turn, in which both were measured within
seconds, because the machine may be busier in one minute than in the next. A goal that needs a subject which did not
run is not judged."""

import dataclasses
import statistics

from verdict import at_least, at_most, judge as judge_checks, ratio

OURS, FLOOR, PEER = "ours", "floor", "ceph-csi"


@dataclasses.dataclass
class Row:
    """One line of the outcome; figures that were not taken are None."""
    case: str
    unit: str
    ours: float
    floor: float = None
    peer: float = None
    ours_to_floor: float = None
    peer_to_ours: float = None
    goal: str = ""
    verdict: str = "-"  # "met", "missed", or no goal could be judged

    def judge(self, *checks):
        self.goal, self.verdict = judge_checks(checks)
        return self


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a case should reach. `peer_case` is the peer's case to compare with when it is another one."""
    label: str
    case: str
    in_flight: int
    floor_at_most: float = None
    peer_at_least: float = None
    peer_case: str = None


GOALS = (
    Goal("create", "create", 1, floor_at_most=1.4, peer_at_least=1.5),
    Goal("create beside 16 snapshots", "create-beside", 1, floor_at_most=1.4),
    Goal("create, the same again", "create-again", 1),
    Goal("expand", "expand", 1),
    Goal("snapshot", "snapshot", 1, peer_at_least=1.8),
    Goal("restore, own snapshot", "restore", 1, peer_at_least=5),
    Goal("restore, one snapshot for all", "restore-same", 1),
    Goal("volume from an image (peer: clone)", "restore-same", 1, peer_at_least=20, peer_case="clone"),
    Goal("clone of a live volume", "clone", 1, peer_at_least=1.8),
    Goal("delete", "delete", 1),
    Goal("delete of a copy", "delete-children", 1),
    Goal("delete of a snapshot", "delete-snapshots", 1),
    Goal("create", "create", 16, floor_at_most=1.3),
    Goal("create, the same again", "create-again", 16),
    Goal("expand", "expand", 16, floor_at_most=1.3),
    Goal("snapshot", "snapshot", 16),
    Goal("restore, own snapshot", "restore", 16, floor_at_most=1.3),
    Goal("restore, one snapshot for all", "restore-same", 16, floor_at_most=1.3, peer_at_least=20),
    Goal("clone of a live volume", "clone", 16),
    Goal("delete", "delete", 16, floor_at_most=1.3),
    Goal("delete of a copy", "delete-children", 16, floor_at_most=1.3, peer_at_least=8),
    Goal("delete of a snapshot", "delete-snapshots", 16),
)
FREED_AT_LEAST = 10  # images a second
IDLE_AT_MOST = 1.3  # times a bare client
AFTER_AT_MOST = 1.6
GROWTH_AT_MOST = 1.05  # from the first round to the last


def median(samples, key):
    values = [sample[key] for sample in samples if sample.get("succeeded", 1)]
    return statistics.median(values) if values else None


class Figures:
    """The samples of a run by subject and case: p50 at 1 in flight, rates above."""

    def __init__(self, rounds, in_flight):
        self.samples = rounds.samples
        self.in_flight = in_flight
        self.key, self.unit = ("p50_ms", "ms") if in_flight == 1 else ("per_second", "/s")

    def by_turn(self, subject, case):
        samples = self.samples.get(subject, {}).get((case, self.in_flight), [])
        return {sample["turn"]: sample[self.key] for sample in samples if sample["succeeded"]}

    def median(self, subject, case):
        values = self.by_turn(subject, case).values()
        return statistics.median(values) if values else None

    def time_ratio(self, above, below):
        """How many times longer `above` takes than `below`, each a subject and a case."""
        above, below = self.by_turn(*above), self.by_turn(*below)
        if self.in_flight > 1:  # the time is the inverse of the rate
            above, below = below, above
        ratios = [above[turn] / below[turn] for turn in above if turn in below]
        return statistics.median(ratios) if ratios else None


def timed_row(rounds, goal):
    figures = Figures(rounds, goal.in_flight)
    ours, floor, peer = (OURS, goal.case), (FLOOR, goal.case), (PEER, goal.peer_case or goal.case)
    row = Row(f"{goal.label}, {goal.in_flight} in flight", figures.unit,
              figures.median(*ours), figures.median(*floor), figures.median(*peer),
              figures.time_ratio(ours, floor), figures.time_ratio(peer, ours))
    checks = []
    if goal.floor_at_most:
        checks.append((f"≤ {goal.floor_at_most} floor", row.ours_to_floor, at_most(goal.floor_at_most)))
    if goal.peer_at_least:
        checks.append((f"≥ {goal.peer_at_least} {PEER}", row.peer_to_ours, at_least(goal.peer_at_least)))
    return row.judge(*checks) if checks else row


def freed_row(rounds):
    ours, floor, peer = (median(rounds.freed.get(name, []), "per_second") for name in (OURS, FLOOR, PEER))
    row = Row("images with data freed", "/s", ours, floor, peer, ratio(floor, ours), ratio(ours, peer))
    is_gone = all(sample["bytes_after"] < sample["bytes_before"] / 4 for sample in rounds.freed[OURS])
    return row.judge((f"≥ {FREED_AT_LEAST} /s", ours, at_least(FREED_AT_LEAST)),
                     ("space back", is_gone, bool))


def count_row(rounds, label, key):
    """Something that must never happen to ours, summed over all phases."""
    total = {name: sum(sample[key] for case in cases.values() for sample in case)
             for name, cases in rounds.samples.items()}
    row = Row(label, "", total[OURS], total[FLOOR], total.get(PEER))
    return row.judge(("0", row.ours, at_most(0)))


def memory_rows(rounds, bare_mib):
    ours, peer = rounds.memory[OURS], rounds.memory.get(PEER) or [(None, None)]

    def against_bare(label, index, limit):
        own_mib, peer_mib = ours[index][0], peer[index][0]
        times = ratio(own_mib, bare_mib[0])
        row = Row(label, "MiB", own_mib, bare_mib[0], peer_mib, times, ratio(peer_mib, own_mib))
        return row.judge((f"≤ {limit} bare client", times, at_most(limit)))

    growth = ratio(ours[-1][0], ours[1][0]) if len(ours) > 2 else None
    peer_growth = ratio(peer[-1][0], peer[1][0]) if len(peer) > 2 else None
    return [
        against_bare("memory at rest", 0, IDLE_AT_MOST),
        against_bare("memory after the run", -1, AFTER_AT_MOST),
        Row("memory, last round to first", "×", growth, None, peer_growth).judge(
            (f"≤ {GROWTH_AT_MOST}", growth, at_most(GROWTH_AT_MOST))),
    ]


def judge(rounds, bare_mib):
    """All rows; bare_mib is the memory of a client at rest."""
    return [*(timed_row(rounds, goal) for goal in GOALS),
            freed_row(rounds),
            count_row(rounds, "ABORTED or UNAVAILABLE, other volumes", "retries"),
            count_row(rounds, "failed calls", "failed"),
            *memory_rows(rounds, bare_mib)]
