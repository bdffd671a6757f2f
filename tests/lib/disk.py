# SPDX-License-Identifier: Apache-2.0
"""Runs disk_probe, which reads a source as the import engine does."""

import json
import os
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAMS = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "tests", "disk")
# Quick to lose patience: tests have little time.
QUICK = ("--retry-first-ms", "20", "--stall", "1")


class Outcome:
    """The values that disk_probe printed are attributes; error and code are None when all went well."""

    error = code = None

    def __init__(self, values):
        self.__dict__.update(values)

    def __repr__(self):
        return repr(self.__dict__)


def start(*arguments, environment=None):
    return subprocess.Popen(
        [os.path.join(PROGRAMS, "disk_probe"), *map(str, arguments)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})


def finish(process, timeout_s=120):
    output, _ = process.communicate(timeout=timeout_s)
    assert process.returncode in (0, 1), (process.returncode, output)
    outcome = Outcome(json.loads(output))
    print(process.args, "->", outcome)
    return outcome


def probe(*arguments, **options):
    return finish(start(*arguments, **options))


def copy(url, output, *arguments, **options):
    """Reads all of it into a file."""
    return probe(*QUICK, *arguments, "--output", output, url, **options)


def same_content(one, other):
    """Whether two files have the same bytes; the second may be longer, by zeros."""
    with open(one, "rb") as left, open(other, "rb") as right:
        while True:
            here, there = left.read(1 << 20), right.read(1 << 20)
            if here != there[:len(here)] or there[len(here):].strip(b"\0"):
                return False
            if not there:
                return True
