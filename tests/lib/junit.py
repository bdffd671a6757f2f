# SPDX-License-Identifier: Apache-2.0
"""Reports the cases of a JUnit file, as CTest and csi-sanity write it.

usage: junit.py FILE [--prefix TEXT] [--keep REGEX]
TEXT goes before each name; only cases whose name matches REGEX are reported.
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
            return "fail", problem.get("message") or last_line(output_of(case)) or tag
    skipped = case.find("skipped")
    message = skipped.get("message") if skipped is not None else ""
    # CTest writes a test that it could not start, and one that skipped itself, alike
    if case.get("status") == "notrun" and not message.startswith("SKIP_"):
        return "fail", message
    if skipped is not None or case.get("status") in ("skipped", "disabled"):
        return "skip", message or case.get("status")
    return "pass", ""


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


def output_of(case):
    """What tells most: the failure's own text, or else what the test printed."""
    texts = (case.findtext(tag) for tag in ("failure", "error", "system-out", "system-err"))
    return next((text for text in texts if text and text.strip()), "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--keep", default="")
    arguments = parser.parse_args()
    for case in ElementTree.parse(arguments.file).iter("testcase"):
        name = arguments.prefix + case.get("name").removeprefix("[It] ")  # Ginkgo marks its cases
        if not re.search(arguments.keep, name):
            continue
        outcome, reason = outcome_of(case)
        output = output_of(case) if outcome == "fail" else ""
        report(outcome, name, float(case.get("time") or 0), reason, output)


if __name__ == "__main__":
    main()
