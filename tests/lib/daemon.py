# SPDX-License-Identifier: Apache-2.0
"""A long-running program that tests start, kill and restart. It is killed by its pid, never by
name, and a pid file lets the shell stop it when Python itself died."""

import os
import signal
import subprocess

import process


class Daemon:

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = str(log)
        self.environment = environment or {}
        self.process = None
        self.pid_file = None

    def start(self):
        assert self.process is None, "already started"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command,
                                            stdin=subprocess.DEVNULL,
                                            stdout=log,
                                            stderr=log,
                                            start_new_session=True,
                                            env={**os.environ, **self.environment})
        self.pid_file = process.record(f"{self.name}.{self.process.pid}", self.process.pid)
        return self

    @property
    def pid(self):
        return self.process.pid

    def _gone(self, timeout_s):
        status = self.process.wait(timeout_s)
        self.process = None
        process.forget(self.pid_file)
        return status

    def kill(self):
        """kill -9, as a crash. No error when it is dead already."""
        if self.process is None:
            return None
        self.process.kill()
        return self._gone(30)

    def terminate(self, timeout_s=30):
        """SIGTERM and the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self._gone(timeout_s)

    def restart(self):
        self.kill()
        return self.start()

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
