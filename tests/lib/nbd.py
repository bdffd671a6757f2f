# SPDX-License-Identifier: Apache-2.0
"""qemu-nbd and nbdkit as servers that are not ours."""

import os
import shutil
import socket
import subprocess
import time

import process


class QemuNbd:
    """Serves an image file on a unix socket in `folder`, or by TCP. `options` go before the file."""

    def __init__(self, image, folder, options=(), image_format="raw", port=None, path=None):
        self.socket = path or os.path.join(str(folder), "nbd.sock")
        self.port = port
        self.host = "127.0.0.1"
        self.log = os.path.join(str(folder), "qemu-nbd.log")
        where = ["--bind", "127.0.0.1", "--port", str(port)] if port else ["--socket", self.socket]
        self.command = [shutil.which("qemu-nbd"), *where, "--persistent", "--shared", "16",
                        "--format", image_format, *options, str(image)]
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        self.pid_file = process.record(f"qemu-nbd.{self.process.pid}", self.process.pid)
        deadline = time.monotonic() + 20
        while not self._is_listening():
            assert self.process.poll() is None, open(self.log, encoding="utf-8").read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return self

    def _is_listening(self):
        family, address = ((socket.AF_INET, (self.host, self.port)) if self.port
                           else (socket.AF_UNIX, self.socket))
        with socket.socket(family) as probe:
            return probe.connect_ex(address) == 0

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            process.forget(self.pid_file)

    def signal(self, number):
        self.process.send_signal(number)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


class NbdKit(QemuNbd):
    """nbdkit with a file, on a unix socket in `folder`; `filters` like "rate", with their settings."""

    def __init__(self, image, folder, filters=(), settings=()):
        super().__init__(image, folder)
        self.log = os.path.join(str(folder), "nbdkit.log")
        self.command = [shutil.which("nbdkit"), "--foreground", "--unix", self.socket,
                        *[f"--filter={name}" for name in filters], "file", str(image), *settings]

    def start(self):
        if os.path.exists(self.socket):  # of one that was killed
            os.unlink(self.socket)
        return super().start()


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]
