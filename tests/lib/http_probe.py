# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/http: what they print, or what they failed with."""

import dataclasses
import json
import os
import subprocess
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TIMEOUT_S = 60
# Quick to lose patience: tests have little time.
QUICK = ("--retry-first-ms", "20", "--stall", "1", "--allow-local")
STREAM = ("--stream", )
PIECES = ("--chunk", "262144", "--threads", "4")


@dataclasses.dataclass
class Outcome:
    values: dict
    seconds: float

    @property
    def is_good(self):
        return "error" not in self.values

    def __getattr__(self, name):
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(f"no '{name}' in {self.values}") from None


def run(program, *arguments, stdin=None, prefix=(), environment=None, timeout_s=TIMEOUT_S):
    """An Outcome; anything but a JSON object on stdout and status 0 or 1 fails the test."""
    path = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "tests", "http",
                        program)
    start = time.monotonic()
    # a proxy of the machine's must not get between
    clean = {
        name: value
        for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    done = subprocess.run([*prefix, path, *map(str, arguments)],
                          input=stdin,
                          capture_output=True,
                          timeout=timeout_s,
                          check=False,
                          env={
                              **clean,
                              **(environment or {})
                          })
    seconds = time.monotonic() - start
    assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr.decode())
    assert not done.stderr, done.stderr.decode()
    return Outcome(json.loads(done.stdout), seconds)


def probe(url, *arguments, **options):
    """Reads a URL with http_probe, quickly impatient."""
    return run("http_probe", *QUICK, *arguments, url, **options)
