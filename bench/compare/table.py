# SPDX-License-Identifier: Apache-2.0
"""The outcome as text for people, and as JSON for programs."""

import dataclasses

from columns import lines, number, print_judged
from goals import FLOOR, OURS, PEER, median


def print_rows(rows, has_peer):
    def columns(case, ours, peer, floor, to_floor, to_ours, unit, goal, verdict):
        return [case, ours, *([peer] if has_peer else []), floor, unit, to_floor,
                *([to_ours] if has_peer else []), goal, verdict]

    left = (0, 4, 7, 8) if has_peer else (0, 3, 5, 6)
    cells = [columns("case", OURS, PEER, FLOOR, "ours/floor", f"{PEER}/ours", "", "goal", "")]
    cells += [columns(row.case, *(number(figure, row.unit == "×") for figure in (row.ours, row.peer, row.floor)),
                      number(row.ours_to_floor, True), number(row.peer_to_ours, True),
                      row.unit, row.goal, row.verdict) for row in rows]
    print_judged(cells, left)
    print("\nRatios compare time: of one operation at 1 in flight (p50), per operation at 16 (rates). Each is the"
          "\nmedian of what was measured side by side, so it need not be that of the medians beside it.")


def figures(rounds):
    """The medians of everything that was measured, a dict a subject and case."""
    return [{"subject": name, "case": case, "in_flight": in_flight,
             **{key: median(samples, key) for key in ("p50_ms", "p90_ms", "p99_ms", "per_second")},
             "cpu_ms_each": cpu_each(samples),
             **{key: sum(sample[key] for sample in samples)
                for key in ("succeeded", "failed", "unfinished", "retries", "seconds")}}
            for name, cases in rounds.samples.items() for (case, in_flight), samples in cases.items()]


def cpu_each(samples):
    done = sum(sample["succeeded"] for sample in samples)
    return sum(sample["cpu_ms"] for sample in samples) / done if done and "cpu_ms" in samples[0] else None


def print_figures(rounds):
    cells = [["case", "in flight", "", "p50 ms", "p90 ms", "p99 ms", "per s", "CPU ms", "calls", "failed",
              "unfinished", "retries"]]
    order = {name: i for i, name in enumerate((OURS, PEER, FLOOR))}
    cases = {key: i for i, key in enumerate(next(iter(rounds.samples.values())))}
    for f in sorted(figures(rounds), key=lambda f: (cases[f["case"], f["in_flight"]], order[f["subject"]])):
        cells.append([f["case"], str(f["in_flight"]), f["subject"],
                      *(number(f[key]) for key in ("p50_ms", "p90_ms", "p99_ms", "per_second", "cpu_ms_each")),
                      *(str(f[key]) for key in ("succeeded", "failed", "unfinished", "retries"))])
    print("\n" + "\n".join(lines(cells, (0, 2))))


def as_json(rows, rounds, bare_mib):
    return {
        "rows": [dataclasses.asdict(row) for row in rows],
        "figures": figures(rounds),
        "samples": [{"subject": name, "case": case, "in_flight": in_flight, **sample}
                    for name, cases in rounds.samples.items()
                    for (case, in_flight), samples in cases.items() for sample in samples],
        "freed": rounds.freed,
        "memory_mib": {"bare client": [bare_mib], **rounds.memory},
        "first_errors": {name: sorted({sample["first_error"] for case in cases.values() for sample in case
                                       if "first_error" in sample})
                         for name, cases in rounds.samples.items()},
    }
