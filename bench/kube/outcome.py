# SPDX-License-Identifier: Apache-2.0
"""What is to be reached, and how the samples of a run stand against it.

The floor of a claim is what cannot be left out: Kubernetes' own share, a claim that is bound to a PersistentVolume
written by hand, and the volume, a bare CreateVolume on the controller's socket. A figure is the median of its rounds,
a ratio the median of those of each round: all take turns in it, so noise of the machine meets them alike."""

import dataclasses
import statistics

from columns import number, print_judged
from verdict import at_least, at_most, judge, median_ratio, ratio

# One at a time there are two more things than in the floor: the watch that tells us of the claim, and a finalizer that
# keeps the volume from being lost if we are killed. With fifty at once the queue has to keep all of Ceph busy.
GOALS = {  # at once, percentile: times the floor, the provisioner's time in ours
    (1, 50): (1.3, 1.0),
    (1, 99): (1.5, 1.0),
    (50, 50): (1.2, 1.0),
    (50, 99): (1.2, 1.0),
}
REST_AT_MOST = 0.8    # of a bare Ceph client: the populator has no Ceph of its own
QUEUED_AT_MOST = 1.2  # times that at rest
AFTER_AT_MOST = 1.3   # likewise, when all claims have been made


@dataclasses.dataclass
class Row:
    """One line of the outcome; figures that were not taken are None."""
    case: str
    unit: str
    ours: float
    floor: float
    ours_to_floor: float
    provisioner: float = None
    provisioner_to_ours: float = None
    kubernetes: float = None
    volume: float = None
    goal: str = ""
    verdict: str = "-"

    def judge(self, *checks):
        self.goal, self.verdict = judge(checks)
        return self


def percentile(times, percent):
    """The nearest one that is not below."""
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def timed_row(samples, at_once, percent):
    """samples: {way: [times of a round, …]}."""
    rounds = {way: [percentile(times, percent) for times in taken] for way, taken in samples.items()}
    floors = [sum(both) for both in zip(rounds["kubernetes"], rounds["volume"])]
    figures = {way: statistics.median(taken) for way, taken in rounds.items()}
    row = Row(f"claim of an image, {at_once} at once, p{percent}", "ms", figures["ours"], statistics.median(floors),
              median_ratio(rounds["ours"], floors), figures["provisioner"],
              median_ratio(rounds["provisioner"], rounds["ours"]), figures["kubernetes"], figures["volume"])
    floor_at_most, provisioner_at_least = GOALS[at_once, percent]
    return row.judge((f"≤ {floor_at_most} floor", row.ours_to_floor, at_most(floor_at_most)),
                     (f"≥ {provisioner_at_least} provisioner", row.provisioner_to_ours,
                      at_least(provisioner_at_least)))


def memory_rows(bare_mib, rest_mib, queued_mib, after_mib):
    def row(label, mib, limit, times, of):
        return Row(label, "MiB", mib, bare_mib, ratio(mib, bare_mib)).judge((f"≤ {limit} {of}", times, at_most(limit)))

    return [row("populator's memory at rest", rest_mib, REST_AT_MOST, ratio(rest_mib, bare_mib), "bare client"),
            row("the same, 20 imports queued", queued_mib, QUEUED_AT_MOST, ratio(queued_mib, rest_mib), "at rest"),
            row("the same, after the run", after_mib, AFTER_AT_MOST, ratio(after_mib, rest_mib), "at rest")]


def rows_of(samples, *memories):
    """samples: {at_once: {way: [times of a round, …]}}; memories: as memory_rows() takes them."""
    timed = [timed_row(samples[at_once], at_once, percent) for at_once, percent in GOALS]
    return timed + memory_rows(*memories)


def print_rows(rows):
    cells = [["case", "ours", "floor", "= kubernetes", "+ volume", "", "ours/floor", "provisioner", "provisioner/ours",
              "goal", ""]]
    cells += [[row.case, number(row.ours), number(row.floor), number(row.kubernetes), number(row.volume), row.unit,
               number(row.ours_to_floor, True), number(row.provisioner), number(row.provisioner_to_ours, True),
               row.goal, row.verdict] for row in rows]
    print_judged(cells, (0, 5, 9, 10))
    print("\nFrom the request until a watch tells that the claim is Bound. kubernetes: the same with a PersistentVolume"
          "\nwritten by hand and no volume; volume: a bare CreateVolume. Of memory the floor is a bare Ceph client.")
