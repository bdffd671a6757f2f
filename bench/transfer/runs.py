# SPDX-License-Identifier: Apache-2.0
"""Commands, run and measured one at a time."""

import dataclasses
import json
import os
import re
import subprocess
import tempfile
import time


class RunError(Exception):
    """A command that failed; the text is the end of what it said."""


@dataclasses.dataclass
class Sample:
    seconds: float
    cpu_s: float  # of the command and its children, not of Ceph
    rss_mib: float  # of the largest of them
    bytes_out: int = None


def measure(command, env=None):
    """Runs it; the sample and what it wrote."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != 0:
        raise RunError(f"{command[0]} ended with {process.returncode}: {text[-2000:]}")
    return Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), text


def measure_floor(command):
    """A floor tells its seconds itself: what it has to prepare does not count."""
    sample, text = measure(command)
    return dataclasses.replace(sample, seconds=json.loads(text.splitlines()[-1])["seconds"])


def measure_cdi(command, env):
    """CDI's script tells what the importer took; the rest is its scenery."""
    _, text = measure(command, env)
    told = re.search(r"wall=([0-9.]+)s cpu=([0-9.]+)s .* mem_max=([0-9]+)MiB", text)
    if not told:
        raise RunError(f"{command[0]} does not tell its time: {text[-2000:]}")
    return Sample(*(float(figure) for figure in told.groups()))


def evict(path):
    """Takes a file out of the page cache: whoever imports an image reads it for the first time."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
