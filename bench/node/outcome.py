# SPDX-License-Identifier: Apache-2.0
"""How the samples of a run stand against the goals. A figure is the median of its rounds, a ratio the median of those
of each round: all ways take turns in it, so noise of the machine meets them alike."""

import statistics

from columns import number, print_judged
from verdict import at_least, at_most, judge, median_ratio


class CaseOutcome:
    """samples: a list a way, a figure a round."""

    def __init__(self, case, samples):
        self.case, self.samples = case, samples
        self.goal, self.verdict = judge(self.checks())

    def figure(self, who):
        rounds = self.samples.get(who)
        return statistics.median(rounds) if rounds else None

    def ours_to(self, who):
        return median_ratio(self.samples["ours"], self.samples.get(who, []))

    def checks(self):
        case = self.case
        if case.at_most:
            yield f"≤ {case.at_most} by hand", self.ours_to("by hand"), at_most(case.at_most)
        if case.at_least:
            yield f"≥ {case.at_least} by hand", self.ours_to("by hand"), at_least(case.at_least)
        if case.librbd_at_least:
            yield f"≥ {case.librbd_at_least} librbd", self.ours_to("librbd"), at_least(case.librbd_at_least)

    def as_json(self):
        others = [who for who in self.samples if who != "ours"]
        return {"case": self.case.name, "unit": self.case.unit, "goal": self.goal, "verdict": self.verdict,
                "figures": {who: self.figure(who) for who in self.samples},
                "ours_to": {who: self.ours_to(who) for who in others}, "samples": self.samples}


def print_outcomes(outcomes):
    cells = [["case", "unit", "ours", "by hand", "ratio", "librbd", "ratio", "goal", ""]]
    for outcome in outcomes:
        cells.append([outcome.case.name, outcome.case.unit, number(outcome.figure("ours")),
                      number(outcome.figure("by hand")), number(outcome.ours_to("by hand"), True),
                      number(outcome.figure("librbd")), number(outcome.ours_to("librbd"), True),
                      outcome.goal, outcome.verdict])
    print_judged(cells, (0, 1, 7, 8))
    print("\nA ratio is ours to the figure on its left: of milliseconds less is better, of MiB/s more. fuse ran on this"
          "\nmachine, krbd and nbd in a virtual one without KVM: figures of the two do not compare, ratios do.")
