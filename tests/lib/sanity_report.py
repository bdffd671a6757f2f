# SPDX-License-Identifier: Apache-2.0
"""Reports the specs of csi-sanity from its JUnit file.

A spec that is not run needs a line in a list that says why; one without such a line is a failure,
and so is a line that no spec needs any more."""

import os
import re
import xml.etree.ElementTree as ElementTree

import results


def read_skips(path):
    """(regular expression, reason) a line, " | " between them."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [tuple(part.strip() for part in line.split(" | ", 1)) for line in lines]


def report_case(case, skips, used):
    name = case.get("name").removeprefix("[It] ")
    seconds = float(case.get("time") or 0)
    problem = next(
        (case.find(tag) for tag in ("failure", "error") if case.find(tag) is not None), None
    )
    if problem is not None:
        results.report("fail", name, seconds, problem.get("message") or "", problem.text or "")
        return
    if case.get("status") == "passed":
        results.report("pass", name, seconds)
        return
    skipped = case.find("skipped")
    said = skipped.get("message") if skipped is not None else case.get("status")
    for pattern, reason in skips:
        if re.search(pattern, name):
            used.add(pattern)
            results.report("skip", name, None, reason)
            return
    results.report(
        "fail", name, seconds, f"not run ({said}), and the list of skips has no reason for it"
    )


def report(junit, skips_path, asked=""):
    """Every spec whose name matches the regular expression `asked`."""
    skips, used = read_skips(skips_path), set()
    for case in ElementTree.parse(junit).iter("testcase"):
        if re.search(asked, case.get("name")):
            report_case(case, skips, used)
    for pattern, _ in skips:
        if pattern not in used:
            results.report(
                "fail", os.path.basename(skips_path), None, f"no spec needs '{pattern}' any more"
            )
