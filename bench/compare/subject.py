# SPDX-License-Identifier: Apache-2.0
"""What is compared: a process that runs the phases it is told on stdin and answers each with a JSON line.

    ours = Subject("ours", "imprint", ["build/release/bench/csi_load", …])
    ours.open("names-begin-so")
    ours.run("create", in_flight=16, count=64)["per_second"]
"""

import json
import subprocess


class SubjectError(Exception):
    """The program behind a subject has ended before it should."""


class Subject:
    """`pool` is where its images lie, `pid` the process whose memory counts, if any."""

    is_peer = False
    is_reference = False  # it runs for the sake of comparison only

    def __init__(self, name, pool, command, pid=None):
        self.name = name
        self.pool = pool
        self.pid = pid
        self.command = command
        self.process = None

    def open(self, prefix):
        """Connects. Names begin with `prefix`; what an earlier opening made is not known any more."""
        self.process = subprocess.Popen(
            [*self.command, f"--prefix={prefix}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, phase, in_flight, count, cap_s=60):
        """Runs a phase to its end, or until cap_s is over; the JSON object that tells of it."""
        self.begin(phase, in_flight, count, cap_s)
        return self.end()

    def begin(self, phase, in_flight, count, cap_s=60):
        try:
            self.process.stdin.write(f"{phase}:{in_flight}:{count}:{cap_s}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its message is on stderr

    def end(self):
        line = self.process.stdout.readline()
        if not line:
            raise SubjectError(f"{self.name} ended too early, with status {self.process.wait()}")
        return json.loads(line)

    def second(self, prefix):
        """Another connection to the same, open."""
        other = Subject(self.name, self.pool, self.command, self.pid)
        other.open(prefix)
        return other

    def free(self):
        """Frees the space of what was deleted, where that does not happen by itself."""

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


class Floor(Subject):
    """librbd: nobody empties its trash but itself."""

    is_reference = True

    def free(self):
        self.run("purge", 16, 0)


class Peer(Subject):
    """Another driver."""

    is_peer = True
    is_reference = True


def status_mib(pid):
    """Resident memory of a process in MiB: all of it, and its own data alone."""
    fields = {}
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        for line in status:
            key, _, value = line.partition(":")
            fields[key] = value
    return tuple(int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon"))
