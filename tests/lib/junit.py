# SPDX-License-Identifier: Apache-2.0
"""Reports the cases of a JUnit file, as CTest and csi-sanity write it.

usage: junit.py FILE [--keep REGEX]   only cases whose name matches are reported
"""

import argparse
import re
import xml.etree.ElementTree as ElementTree

from results import report


def outcome_of(case):
    """(outcome, reason) of one <testcase>."""
    for tag in ("failure", "error"):
        problem = case.find(tag)
        if problem is not None:
            return "fail", problem.get("message") or (problem.text or tag).strip()[:200]
    skipped = case.find("skipped")
    # CTest writes a test that it could not start as skipped too
    if case.get("status") == "notrun":
        return "fail", "could not be run: " + (skipped.get("message") if skipped is not None else "")
    if skipped is not None or case.get("status") in ("skipped", "disabled"):
        return "skip", (skipped.get("message") if skipped is not None else "") or "no reason given"
    return "pass", ""


def output_of(case):
    texts = [case.findtext(tag) for tag in ("failure", "error", "system-out", "system-err")]
    return "\n".join(text for text in texts if text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--keep", default="")
    arguments = parser.parse_args()
    for case in ElementTree.parse(arguments.file).iter("testcase"):
        if not re.search(arguments.keep, case.get("name")):
            continue
        outcome, reason = outcome_of(case)
        output = output_of(case) if outcome == "fail" else ""
        report(outcome, case.get("name"), float(case.get("time") or 0), reason, output)


if __name__ == "__main__":
    main()
