# SPDX-License-Identifier: Apache-2.0
"""Reports test cases: a line in the file $RESULTS, and a line on the screen (see tests/env/report.sh)."""

import os
import re
import sys

MARKS = {"pass": "✓", "fail": "✗", "skip": "-"}
COLOURS = {"pass": "32", "fail": "31", "skip": "2"}


def report(outcome, name, seconds=None, reason="", output="", stream=None):
    """Reports one case; output is shown, its last lines only, when the case failed."""
    stream = stream or sys.stdout
    name = re.sub(r"\s", "_", name)
    reason = " ".join(reason.split())
    if "RESULTS" in os.environ:
        with open(os.environ["RESULTS"], "a", encoding="utf-8") as results:
            results.write(f"{outcome} {name} {reason}".rstrip() + "\n")
    mark = MARKS[outcome]
    if stream.isatty() and not os.environ.get("NO_COLOR"):
        mark = f"\033[{COLOURS[outcome]}m{mark}\033[0m"
    took = "" if seconds is None else f"{seconds:.1f} s"
    shown = f"  {reason[:200]}" if reason else ""
    print(f"  {mark} {name:<62} {took:>7}{shown}", file=stream)
    if outcome == "fail":
        for line in output.rstrip().splitlines()[-60:]:
            print(f"      | {line}", file=stream)
    stream.flush()
