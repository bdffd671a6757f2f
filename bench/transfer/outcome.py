# SPDX-License-Identifier: Apache-2.0
"""How the samples of a run stand against the goals, as text for people and as JSON for programs.

A figure is the median of its rounds. A ratio is the median of those of each round, in which all were measured within
a minute, because the machine may be busier in one minute than in the next."""

import dataclasses
import statistics

from columns import number, print_judged
from verdict import at_least, at_most, judge, median_ratio


class CaseOutcome:
    """samples: a list a way, a Sample a round."""

    def __init__(self, case, samples):
        self.case = case
        self.samples = samples
        self.goal, self.verdict = judge(self.checks())

    def rounds(self, who):
        return [sample.seconds for sample in self.samples.get(who, [])]

    def floor_rounds(self):
        floors = [self.rounds(floor.who) for floor in self.case.floors]
        return [max(together) for together in zip(*floors)]

    def seconds(self, who):
        rounds = self.floor_rounds() if who == "floor" else self.rounds(who)
        return statistics.median(rounds) if rounds else None

    def floor_name(self):
        """What the floor was made of."""
        medians = {floor.who: statistics.median(self.rounds(floor.who)) for floor in self.case.floors}
        return max(medians, key=medians.get) if medians else None

    def times_ours(self, who):
        """How many times longer the others took."""
        return median_ratio(self.rounds(who), self.rounds("ours"))

    def times_floor(self):
        return median_ratio(self.rounds("ours"), self.floor_rounds())

    def checks(self):
        case = self.case
        yield from ((f"≥ {limit} {who}", self.times_ours(who), at_least(limit)) for who, limit in case.at_least.items())
        if case.floor_at_most:
            yield f"≤ {case.floor_at_most} floor", self.times_floor(), at_most(case.floor_at_most)
        for who, limit in case.at_most.items():
            times = self.times_ours(who)
            yield f"≤ {limit} {who}", 1 / times if times else None, at_most(limit)

    def rss_mib(self, who="ours"):
        return max(sample.rss_mib for sample in self.samples[who])

    def mib_out(self, who):
        made = [sample.bytes_out for sample in self.samples.get(who, []) if sample.bytes_out]
        return made[-1] / (1 << 20) if made else None

    def as_json(self):
        return {
            "case": self.case.name, "goal": self.goal, "verdict": self.verdict, "unit": "s",
            "seconds": {who: self.seconds(who) for who in self.samples},
            "floor": self.seconds("floor"), "floor_is": self.floor_name(), "ours_to_floor": self.times_floor(),
            "peer_to_ours": {peer.who: self.times_ours(peer.who) for peer in self.case.peers},
            "rss_mib": {who: self.rss_mib(who) for who in self.samples},
            "mib_out": {who: self.mib_out(who) for who in self.samples if self.mib_out(who)},
            "samples": {who: [dataclasses.asdict(sample) for sample in taken] for who, taken in self.samples.items()},
        }


def with_ratio(seconds, times):
    return "-" if seconds is None else f"{number(seconds)} ({number(times, True)}×)"


def print_outcomes(outcomes, peers):
    peers = [peer for peer in peers if any(outcome.rounds(peer) for outcome in outcomes)]
    has_sizes = any(outcome.mib_out("ours") for outcome in outcomes)
    cells = [["case", "ours s", "floor s", *(f"{peer} s" for peer in peers), "RSS MiB",
              *(["file MiB"] if has_sizes else []), "floor", "goal", ""]]
    for outcome in outcomes:
        cells.append([outcome.case.name, number(outcome.seconds("ours")),
                      with_ratio(outcome.seconds("floor"), outcome.times_floor()),
                      *(with_ratio(outcome.seconds(peer), outcome.times_ours(peer)) for peer in peers),
                      number(outcome.rss_mib()),
                      *([size_text(outcome, peers)] if has_sizes else []),
                      outcome.floor_name() or "-", outcome.goal, outcome.verdict])
    left = (0, len(cells[0]) - 3, len(cells[0]) - 2, len(cells[0]) - 1)
    print_judged(cells, left)
    print("\nBeside the floor: how many times longer ours takes than it. Beside the others: how many times longer they"
          "\ntake than ours. Each ratio is the median of those of the rounds, so it need not be that of the medians.")


def size_text(outcome, peers):
    sizes = [outcome.mib_out(who) for who in ("ours", *peers)]
    return " / ".join(number(round(size)) for size in sizes if size)
