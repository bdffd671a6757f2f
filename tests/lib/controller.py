# SPDX-License-Identifier: Apache-2.0
"""An imprint-controller process that tests start, kill and restart.

    with Controller(ceph_dir, workdir=tmp_path, preset="faults") as controller:
        controller.client().Probe()
        controller.kill()
        controller.start()

It is killed by its pid, never by name, and a pid file lets the shell stop it when Python itself
died.
"""

import os
import signal
import socket
import subprocess
import time

import csi
import process

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Controller:
    """ceph_dir holds clusters.json; workdir (made if missing) gets the socket, state and log."""

    def __init__(self, ceph_dir, workdir, preset=None, arguments=(), environment=None):
        self.workdir = str(workdir)
        self.socket = os.path.join(self.workdir, "csi.sock")
        self.log = os.path.join(self.workdir, "controller.log")
        self.environment = dict(environment or {})
        self.process = None
        self.pid_file = None
        preset = preset or os.environ.get("PRESET", "release")
        program = os.path.join(ROOT, "build", preset, "controllerplugin", "imprint-controller")
        self.command = [program, "--endpoint", f"unix://{self.socket}",
                        "--config", os.path.join(str(ceph_dir), "clusters.json"),
                        "--state-dir", os.path.join(self.workdir, "state"), "--log-level", "info",
                        *arguments]

    def start(self, environment=None, timeout_s=30):
        """Starts the process; returns when its socket accepts. `environment` is for this start."""
        assert self.process is None, "already started"
        os.makedirs(os.path.join(self.workdir, "state"), exist_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
                env={**os.environ, **self.environment, **(environment or {})})
        self.pid_file = process.record(f"controller.{self.process.pid}", self.process.pid)
        try:
            self._wait_listening(timeout_s)
        except BaseException:
            self.kill()
            raise
        return self

    def _wait_listening(self, timeout_s):
        deadline = time.monotonic() + timeout_s
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"the controller exited with {self.process.returncode}:\n{self.log_tail()}")
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self.socket) == 0:
                    return
            if time.monotonic() > deadline:
                raise TimeoutError(f"the controller does not listen:\n{self.log_tail()}")
            time.sleep(0.02)

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def client(self, deadline_s=csi.DEADLINE_S):
        return csi.Client(self.socket, deadline_s)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout_s=60):
        """Waits for it to end by itself; its exit status, negative when a signal ended it."""
        status = self.process.wait(timeout_s)
        self.process = None
        process.forget(self.pid_file)
        return status

    def kill(self):
        """kill -9, as a crash: nothing is cleaned up. No error when it is dead already."""
        if self.process is None:
            return None
        self.process.kill()
        return self.wait()

    def terminate(self, timeout_s=60):
        """SIGTERM and the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def restart(self, environment=None):
        """kill -9 and a new process on the same state."""
        self.kill()
        return self.start(environment)

    def status_field(self, name):
        """A number of /proc/PID/status: VmRSS and RssAnon in KiB, Threads."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                key, _, value = line.partition(":")
                if key == name:
                    return int(value.split()[0])
        raise KeyError(name)

    def rss_kib(self):
        return self.status_field("VmRSS")

    def threads(self):
        return self.status_field("Threads")

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def log_tail(self, lines=40):
        return "\n".join(self.log_text().splitlines()[-lines:])

    def __enter__(self):
        return self if self.is_running() else self.start()

    def __exit__(self, *_):
        if self.process is None:
            return
        try:
            status = self.terminate()
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        assert status == 0, f"the controller exited with {status}:\n{self.log_tail()}"
