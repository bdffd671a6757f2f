# SPDX-License-Identifier: Apache-2.0
"""Pid files as tests/env/process.sh reads them, "PID STARTTIME", so that whatever a killed test
leaves running is stopped with the group that ran it."""

import os
import subprocess


def start_time(pid):
    """When a process started, in ticks; None when it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def children(pid, words=""):
    """Of all its threads; those with the words on their command line."""
    done = subprocess.run(["pgrep", "-P", str(pid), *(["-f", words] if words else [])], capture_output=True,
                          text=True)
    return [int(child) for child in done.stdout.split()]


def record(name, pid):
    """Puts a process under the care of the group, if there is one; returns the file's path."""
    if "SCRATCH" not in os.environ:
        return None
    path = os.path.join(os.environ["SCRATCH"], "pids", name)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{pid} {start_time(pid) or ''}\n")
    return path


def forget(path):
    if path and os.path.exists(path):
        os.unlink(path)
