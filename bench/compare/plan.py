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
    repeats: int
    peer_repeats: int
    cap_s: int = 60

    def count_for(self, subject):
        """Of one repetition."""
        return self.peer_count if subject.is_peer else self.count

    def total_for(self, subject):
        return self.peer_count * self.peer_repeats if subject.is_peer else self.count * self.repeats


@dataclasses.dataclass(frozen=True)
class Plan:
    blank: tuple  # cases on volumes that are made, grown and deleted
    copies: tuple  # cases on volumes that are copied
    freed_images: int
    rounds: int

    def sources_for(self, subject):
        """How many volumes the cases on copies need to copy from."""
        return sum(case.total_for(subject) for case in self.copies
                   if case.phase in ("snapshot", "clone"))


# A phase at 1 in flight and at 16, each as (count, peers' count, repetitions, peers' repetitions).
BLANK = {
    "create": ((6, 4, 5, 3), (48, 24, 4, 2)),
    "create-again": ((6, 4, 3, 3), (48, 24, 2, 2)),
    "expand": ((6, 4, 5, 3), (48, 24, 4, 2)),
    "delete": ((6, 4, 5, 3), (48, 24, 4, 2)),
}
COPIES = {
    "snapshot": ((4, 2, 1, 1), (64, 24, 1, 1)),
    "restore": ((5, 3, 3, 2), (24, 16, 2, 1)),
    "restore-same": ((5, 2, 3, 3), (48, 16, 2, 1)),
    "clone": ((4, 2, 1, 1), (32, 16, 1, 1)),
    "delete-children": ((6, 2, 3, 3), (48, 36, 2, 1)),
    "delete-snapshots": ((3, 2, 1, 1), (48, 16, 1, 1)),
}
COPIES_CAP_S = 12  # a driver that locks the source needs minutes for restore-same: what is done by then counts


def cases(phases, is_quick, **options):
    return tuple(Case(phase, in_flight, count, peer_count, *((1, 1) if is_quick else repeats), **options)
                 for phase, both in phases.items()
                 for in_flight, (count, peer_count, *repeats) in zip((1, 16), both))


def make_plan(is_quick, rounds):
    return Plan(
        blank=cases(BLANK, is_quick),
        copies=cases(COPIES, is_quick, cap_s=COPIES_CAP_S),
        freed_images=16 if is_quick else 32,
        rounds=rounds or (1 if is_quick else 3))
