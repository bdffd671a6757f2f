# SPDX-License-Identifier: Apache-2.0
"""Runs the real `imprint` command, as the Ceph user that has what it needs and no more.

    imprint = Imprint(cluster)
    done = imprint.run("import", "disk.qcow2", "imprint/x", "--json")
    assert done.status == 0, done.stderr
    assert done.result["format"] == "qcow2"

    running = imprint.start("export", "imprint/x", "s3://images/x")
    running.kill()
"""

import json
import os
import re
import signal
import subprocess
import time

import process

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TIMEOUT_S = 120
# What is said when it was asked to do without.
NO_SANDBOX = re.compile(r"^.*sandbox: off, as --no-sandbox says.*\n", re.MULTILINE)
# Exit codes, as imprint --help documents them.
(DONE, FAILED, REFUSED, NOT_FOUND, EXISTS, NOT_ALLOWED, UNREACHABLE, DAMAGED, TOO_LARGE, WRONG_STATE,
 STOPPED) = range(11)


class Done:
    """How a run ended: status (minus the signal, if one ended it), stdout (bytes), stderr (text)."""

    def __init__(self, status, stdout, stderr, seconds):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.seconds = seconds

    @property
    def events(self):
        """With --json: the objects, each on a line of its own."""
        return [json.loads(line) for line in self.stdout.decode().splitlines()]

    @property
    def result(self):
        last = self.events[-1]
        assert last["event"] == "done", last
        return last

    def __repr__(self):
        return f"<status {self.status} after {self.seconds:.1f} s: {self.stderr.strip()}>"


class Running:

    def __init__(self, popen, has_sandbox=True):
        self.popen = popen
        self.has_sandbox = has_sandbox
        self.start = time.monotonic()
        self.pid_file = process.record(f"imprint.{popen.pid}", popen.pid)

    @property
    def pid(self):
        return self.popen.pid

    def signal(self, number):
        self.popen.send_signal(number)

    def kill(self):
        """kill -9; returns when it is dead."""
        self.popen.kill()
        return self.wait()

    def peak_rss(self):
        """VmHWM so far, in bytes; None when it has ended."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) << 10
        except (FileNotFoundError, ProcessLookupError):
            pass
        return None

    def wait(self, stdin=None, timeout_s=TIMEOUT_S):
        try:
            stdout, stderr = self.popen.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.popen.send_signal(signal.SIGABRT)  # leaves its stacks with the sanitizers
            raise AssertionError(f"it hangs: {self.last_words()}") from None
        finally:
            process.forget(self.pid_file)
        text = (stderr or b"").decode(errors="replace")
        if not self.has_sandbox:
            text = NO_SANDBOX.sub("", text)
        done = Done(self.popen.returncode, stdout or b"", text, time.monotonic() - self.start)
        print(*self.popen.args[1:], "->", done)
        assert "Sanitizer" not in done.stderr, done.stderr
        return done

    def last_words(self):
        """What it said before it was told to end; a helper of it may hold the pipe open for longer."""
        try:
            stderr = self.popen.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired as expired:
            self.popen.kill()
            stderr = expired.stderr
        return (stderr or b"").decode(errors="replace")


class Imprint:

    def __init__(self, cluster, environment=None, user="imprint", has_sandbox=True, preset=None):
        """Without the sandbox, a build with sanitizers looks for leaks: that traces the process."""
        self.environment = environment or {}
        self.preset = preset or os.environ.get("PRESET", "release")
        self.has_sandbox = has_sandbox
        self.access = [
            "--conf", cluster.conf, "--id", user, "--keyring",
            os.path.join(cluster.dir, f"{user}.keyring")
        ]

    def start(self, command, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, environment=None, prefix=(), **options):
        program = os.path.join(ROOT, "build", self.preset, "cli", "imprint")
        # a proxy of the machine's must not get between
        clean = {name: value for name, value in os.environ.items()
                 if not name.lower().endswith("_proxy")}
        return Running(subprocess.Popen(
            [*prefix, program, command, *map(str, arguments), *self.access,
             *([] if self.has_sandbox else ["--no-sandbox"])], stdin=stdin,
            stdout=stdout, stderr=stderr, env={**clean, **self.environment, **(environment or {})},
            **options), self.has_sandbox)

    def run(self, command, *arguments, input=None, timeout_s=TIMEOUT_S, **options):
        if input is not None:
            options["stdin"] = subprocess.PIPE
        return self.start(command, *arguments, **options).wait(input, timeout_s)
