# SPDX-License-Identifier: Apache-2.0
"""What one round does, and how often each case is repeated in it.

Counts are per repetition. Peers get fewer where a call of theirs takes seconds: their figures are as plain with
few. In a case every subject has its turn before the next repetition, so noise of the machine meets all alike."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    phase: str
    in_flight: int
    count: int
    peer_count: int
    repeats: int = 1
    cap_s: int = 60

    def count_for(self, subject):
        return self.peer_count if subject.is_peer else self.count


@dataclasses.dataclass(frozen=True)
class Plan:
    blank: tuple  # cases on volumes that are made, grown and deleted
    copies: tuple  # cases on volumes that are copied
    freed_images: int
    rounds: int

    def sources_for(self, subject):
        """How many volumes the cases on copies need to copy from."""
        return sum(case.count_for(subject) * case.repeats for case in self.copies
                   if case.phase in ("snapshot", "clone"))


# A phase at 1 in flight and at 16, each as (count, peers' count, repetitions).
BLANK = {
    "create": ((8, 4, 3), (64, 24, 2)),
    "create-again": ((8, 4, 3), (64, 24, 2)),
    "expand": ((8, 4, 3), (64, 24, 2)),
    "delete": ((8, 4, 3), (64, 24, 2)),
}
COPIES = {
    "snapshot": ((4, 2, 1), (48, 24, 1)),
    "restore": ((6, 3, 2), (32, 16, 1)),
    "restore-same": ((6, 2, 3), (64, 16, 1)),
    "clone": ((4, 2, 1), (32, 16, 1)),
    "delete-children": ((6, 2, 3), (64, 24, 1)),
    "delete-snapshots": ((3, 2, 1), (48, 16, 1)),
}
COPIES_CAP_S = 12  # a driver that locks the source needs minutes for restore-same: what is done by then counts


def cases(phases, is_quick, **options):
    return tuple(Case(phase, in_flight, count, peer_count, 1 if is_quick else repeats, **options)
                 for phase, both in phases.items()
                 for in_flight, (count, peer_count, repeats) in zip((1, 16), both))


def make_plan(is_quick, rounds):
    return Plan(
        blank=cases(BLANK, is_quick),
        copies=cases(COPIES, is_quick, cap_s=COPIES_CAP_S),
        freed_images=16 if is_quick else 32,
        rounds=rounds or (1 if is_quick else 3))
