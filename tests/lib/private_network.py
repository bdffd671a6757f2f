# SPDX-License-Identifier: Apache-2.0
"""A network namespace of the test's own, for addresses that are not loopback and reach nobody.

    with PrivateNetwork("198.51.100.1", "169.254.169.254") as network:
        server = FaultServer(handler, bind=network.listener("198.51.100.1"))
        probe(server.url(), prefix=network.prefix)

It has its own mounts too, so that it may have its own /etc/resolv.conf.
"""

import ctypes
import os
import socket
import subprocess
import threading

import process

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class PrivateNetwork:

    def __init__(self, *addresses):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", "echo; exec sleep 600"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True)
        self.pid_file = process.record(f"network.{self.holder.pid}", self.holder.pid)
        self.holder.stdout.readline()  # the namespaces are there
        self.prefix = ["nsenter", "--target", str(self.holder.pid), "--net", "--mount"]
        self.run("ip", "link", "set", "lo", "up")
        for address in addresses:
            self.run("ip", "address", "add", f"{address}/32", "dev", "lo")

    def run(self, *command):
        subprocess.run([*self.prefix, *command], check=True, stdin=subprocess.DEVNULL)

    def socket(self, family, kind, address):
        """A socket bound there: it stays in the network it was made in."""
        made = []

        def make():
            fd = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                if LIBC.setns(fd, CLONE_NEWNET) != 0:  # of this thread only
                    raise OSError(ctypes.get_errno(), "setns")
            finally:
                os.close(fd)
            bound = socket.socket(family, kind)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            made.append(bound)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]

    def listener(self, address, port=0):
        """For FaultServer."""

        def bind():
            listening = self.socket(socket.AF_INET, socket.SOCK_STREAM, (address, port))
            listening.listen(64)
            return listening

        return bind

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
        process.forget(self.pid_file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
