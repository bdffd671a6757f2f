# SPDX-License-Identifier: Apache-2.0
"""Runs the plan: round after round, case after case, the subjects by turns."""

import collections
import sys
import time

import freed
from subject import status_mib
from turns import progress

IN_FLIGHT = 16  # where a case does not say
BESIDE_SNAPSHOTS = 16
BESIDE_CREATES = 12  # less than the snapshots take
BESIDE_DELAY_S = 0.1  # until the snapshots are under way
DELETES = ("delete", "delete-children", "delete-snapshots")
SETTLE_S = 30


class Rounds:
    """Collects: samples[subject][case, in_flight] is a list of phase results, each with its "turn", which those that
    were measured side by side share; memory[subject] a list of MiB pairs (idle first, then after each round);
    freed[subject] a list of what freed.measure() gave."""

    def __init__(self, cluster, plan, subjects):
        self.cluster = cluster
        self.plan = plan
        self.subjects = subjects
        self.turn = 0
        self.samples = {subject.name: collections.defaultdict(list) for subject in subjects}
        self.memory = {subject.name: [] for subject in subjects}
        self.freed = {subject.name: [] for subject in subjects}

    def run(self):
        self.note_memory()
        for number in range(1, self.plan.rounds + 1):
            start = time.monotonic()
            self.run_round(number)
            self.note_memory()
            progress("")
            print(f"  round {number} of {self.plan.rounds}: {time.monotonic() - start:.0f} s", file=sys.stderr)

    def run_round(self, number):
        try:
            for subject in self.subjects:
                subject.open(f"bench{number}")
                subject.run("create", 1, 1)  # connections are made with the first call
                subject.run("delete", 1, 1)
            self.measure_freed(number)
            for case in self.plan.blank:
                self.run_case(number, case)
            for subject in self.subjects:
                subject.run("create", IN_FLIGHT, self.plan.sources_for(subject))
            for case in self.plan.copies:
                self.run_case(number, case)
            self.run_beside(number)
            for subject in self.subjects:
                self.clear(subject)
        finally:
            for subject in self.subjects:
                subject.close()

    def in_turn(self):
        """All subjects, another one first each time."""
        self.turn += 1
        first = self.turn % len(self.subjects)
        return self.subjects[first:] + self.subjects[:first]

    def run_case(self, number, case):
        for repeat in range(case.repeats):
            for subject in self.in_turn():
                if subject.is_peer and repeat >= case.peer_repeats:
                    continue
                progress(f"round {number}: {case.phase}, {case.in_flight} in flight, {subject.name}")
                result = subject.run(case.phase, case.in_flight, case.count_for(subject), case.cap_s)
                self.note(subject, case.phase, case.in_flight, (number, repeat), result)
                if case.phase in DELETES:
                    self.settle(subject)

    def note(self, subject, case, in_flight, turn, result):
        self.samples[subject.name][case, in_flight].append({"turn": turn, **result})

    def run_beside(self, number):
        """Creates while snapshots, which wait for the monitors, are under way: neither may wait for the other."""
        for subject in self.in_turn():
            progress(f"round {number}: create beside snapshots, {subject.name}")
            busy = subject.second(f"beside{number}")
            try:
                busy.run("create", IN_FLIGHT, BESIDE_SNAPSHOTS)
                busy.begin("snapshot", IN_FLIGHT, BESIDE_SNAPSHOTS)
                time.sleep(BESIDE_DELAY_S)
                result = subject.run("create", 1, BESIDE_CREATES)
                busy.end()
                self.note(subject, "create-beside", 1, (number, 0), result)
                if not subject.is_reference:
                    busy.run("delete-snapshots", IN_FLIGHT, 0)
                    busy.run("delete", IN_FLIGHT, 0)
            finally:
                busy.close()

    def settle(self, subject):
        """Waits for work that a subject still has in the background, so that it does not meet the next one's turn.
        A peer that frees an image a second cannot be waited for. Its trash is not emptied past it either: librbd
        may hang for ever when two clients remove one image at the same time."""
        subject.free()
        if not subject.is_peer:
            freed.wait_trash(self.cluster, subject.pool, SETTLE_S)

    def clear(self, subject):
        """What is left of the round, if it is ours. The others' stays: it takes long and disturbs nobody."""
        if subject.is_reference:
            return
        progress(f"clear {subject.name}")
        for phase in ("delete-children", "delete-snapshots", "delete"):
            subject.run(phase, IN_FLIGHT, 0)
            self.settle(subject)

    def measure_freed(self, number):
        for subject in self.in_turn():
            if number == 1 or not subject.is_reference:
                progress(f"round {number}: space freed, {subject.name}")
                count = self.plan.freed_images // (2 if subject.is_peer else 1)
                self.freed[subject.name].append(freed.measure(self.cluster, subject, count))
                self.settle(subject)

    def note_memory(self):
        for subject in self.subjects:
            if subject.pid:
                self.memory[subject.name].append(status_mib(subject.pid))
