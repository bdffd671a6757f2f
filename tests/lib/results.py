# SPDX-License-Identifier: Apache-2.0
"""Reports test cases: a line in the file $RESULTS, a line on the screen (see tests/env/report.sh)."""

import os
import sys

MARKS = {"pass": "✓", "fail": "✗", "skip": "-"}
COLOURS = {"pass": "32", "fail": "31", "skip": "2"}


def key_of(name):
    """As it stands in $RESULTS."""
    return "_".join(name.split())


def report(outcome, name, seconds=None, reason="", output="", stream=None):
    """Reports one case; output is shown, its last lines only, when the case failed."""
    stream = stream or sys.stdout
    reason = " ".join(reason.split())[:160]
    if "RESULTS" in os.environ:
        with open(os.environ["RESULTS"], "a", encoding="utf-8") as results:
            results.write(f"{outcome} {key_of(name)} {reason}".rstrip() + "\n")
    mark = MARKS[outcome]
    if stream.isatty() and not os.environ.get("NO_COLOR"):
        mark = f"\033[{COLOURS[outcome]}m{mark}\033[0m"
    took = "" if seconds is None else f"{seconds:.1f} s"
    print(f"  {mark} {name:<62} {took:>7}  {reason}".rstrip(), file=stream)
    if outcome == "fail":
        for line in output.rstrip().splitlines()[-40:]:
            print(f"      | {line}", file=stream)
    stream.flush()
