# SPDX-License-Identifier: Apache-2.0
"""Runs sandbox_probe, which goes into the sandbox and tries one thing, and stands in for the others that
it tries to reach."""

import os
import signal
import socket
import subprocess
import threading

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "tests", "sandbox",
                       "sandbox_probe")
CONTAINER = os.path.join(os.path.dirname(PROGRAM), "container_filter")
KILLED = -signal.SIGSYS
NOBODY = "65534"


class Outcome:
    def __init__(self, finished):
        self.status = finished.returncode
        self.output = finished.stdout.splitlines()
        self.log = finished.stderr

    def __repr__(self):
        return f"status {self.status}, {self.output}, log {self.log!r}"

    @property
    def is_allowed(self):
        return self.status == 0 and self.output[-1:] == ["allowed"]

    @property
    def is_refused(self):
        """By an error, or by death."""
        return self.status == KILLED or (self.status == 0 and
                                         self.output[-1].startswith("refused: "))

    @property
    def reason(self):
        return self.output[-1].removeprefix("refused: ")


def run_probe(*arguments, wrapper=(), **options):
    finished = subprocess.run(
        [*wrapper, PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120,
        # the search for leaks traces the process, which is just what must not be
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": ""}, **options)
    outcome = Outcome(finished)
    print(" ".join(map(str, arguments)), "->", outcome)
    return outcome


class Listener:
    """Accepts TCP connections on an address of this machine, and counts what it got."""

    def __init__(self, host="127.0.0.1", family=socket.AF_INET):
        self.socket = socket.create_server((host, 0), family=family, backlog=128)
        self.host, self.port = self.socket.getsockname()[:2]
        self.peers = []
        self.change = threading.Condition()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, peer = self.socket.accept()
            except OSError:
                return
            with self.change:
                self.peers.append(peer)
                self.change.notify_all()
            connection.close()

    @property
    def accepted(self):
        """All that were made before: they are accepted in their order, so one more is waited for."""
        with socket.create_connection((self.host, self.port)) as own, self.change:
            assert self.change.wait_for(lambda: own.getsockname() in self.peers, timeout=30)
            self.peers.remove(own.getsockname())
            return len(self.peers)

    @property
    def rule(self):
        return f"{self.host}:{self.port}"

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def processes_of(parent):
    """Its children: (pid, lines of /proc/PID/status)."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                lines = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        except OSError:
            continue
        found.setdefault(int(lines["PPid"]), []).append((int(pid), lines))
    return found.get(parent, [])


def is_running(pid):
    try:
        os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:  # gone, or a zombie
        return False
    return True
