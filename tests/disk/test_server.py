# SPDX-License-Identifier: Apache-2.0
"""Our NBD server, seen by clients that are not ours, and by some that mean no good."""

import os
import socket
import struct
import subprocess
import time

import pytest

import disk as disk_lib
import process


def is_listening(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


@pytest.fixture
def server(disk, tmp_path):
    """Its socket."""
    path = str(tmp_path / "s")
    running = subprocess.Popen([os.path.join(disk_lib.PROGRAMS, "disk_serve"), path, str(disk)],
                               start_new_session=True)
    pid_file = process.record(f"disk_serve.{running.pid}", running.pid)
    deadline = time.monotonic() + 20
    while not is_listening(path):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    yield path
    alive = running.poll() is None
    running.kill()
    running.wait()
    process.forget(pid_file)
    assert alive, "the server did not survive"


def uri(server, export=""):
    return f"nbd+unix:///{export}?socket={server}"


def run(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True,
                          timeout=120).stdout


# Clients of others.

def test_nbdinfo(server, disk):
    assert int(run("nbdinfo", "--size", uri(server))) == os.path.getsize(disk)
    assert "is_read_only: true" in run("nbdinfo", uri(server, "any-name"))
    assert "protocol: newstyle-fixed without TLS, using simple packets" in run("nbdinfo", uri(server))
    assert 'export=""' in run("nbdinfo", "--list", uri(server))


@pytest.mark.parametrize("options", [[], ["--synchronous"], ["--connections=4", "--requests=64"],
                                     ["--request-size=33554432", "--requests=2"],
                                     ["--request-size=4096"]])
def test_nbdcopy(server, disk, output, options):
    run("nbdcopy", *options, uri(server), output)
    assert disk_lib.same_content(disk, output)


def test_qemu_img(server, disk, output):
    assert "virtual size: 64 MiB" in run("qemu-img", "info", "-f", "raw", uri(server))
    run("qemu-img", "convert", "-f", "raw", "-O", "raw", uri(server), output)
    assert disk_lib.same_content(disk, output)
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri(server), disk)


def test_qemu_io_cannot_write(server):
    done = subprocess.run(["qemu-io", "-f", "raw", "-c", "write 0 4096", uri(server)],
                          capture_output=True, text=True, timeout=60)
    assert "Permission denied" in done.stderr


def test_our_own_client(server, disk, output):
    outcome = disk_lib.copy(uri(server), output, "--allow-local", "--threads", 8, "--chunk", "3M")
    assert outcome.error is None
    assert disk_lib.same_content(disk, output)


# Clients that mean no good.

class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(20)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self, length):
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                break
            data += part
        return data

    def go(self):
        assert self.receive(18) == b"NBDMAGICIHAVEOPT\0\3"
        self.send(struct.pack("!I8sII", 3, b"IHAVEOPT", 1, 0))
        assert len(self.receive(10)) == 10
        return self

    def request(self, command, offset, length, cookie=1, flags=0):
        self.send(struct.pack("!IHHQQI", 0x25609513, flags, command, cookie, offset, length))

    def is_hung_up(self):
        try:
            return self.receive(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def is_well(server):
    with Client(server) as client:
        client.go().request(0, 0, 512)
        return len(client.receive(16 + 512)) == 528


def test_garbage(server):
    for garbage in (b"\0" * 1000, os.urandom(1000), b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100000,
                    struct.pack("!I", 3) + b"IHAVEOPT" * 100):
        with Client(server) as client:
            client.receive(18)
            client.send(garbage)
            assert client.is_hung_up()
    assert is_well(server)


def test_clients_that_hang(server):
    """Each has a thread over there; they do not keep others from being served."""
    clients = [Client(server) for _ in range(20)]
    for client in clients[:10]:
        client.receive(18)
    for client in clients[:5]:
        client.send(b"\0\0\0\3IHAVE")
    assert is_well(server)
    for client in clients:
        client.socket.close()


def test_client_that_asks_and_never_reads(server):
    with Client(server) as greedy:
        greedy.go()
        for cookie in range(30):
            greedy.request(0, 0, 32 << 20, cookie)
        assert is_well(server)
    assert is_well(server)


def test_client_that_writes(server):
    with Client(server) as client:
        client.go().request(1, 0, 1000)
        client.send(b"x" * 1000)
        assert client.receive(16)[4:8] == b"\0\0\0\1"
        client.request(1, 0, 0xffffffff)
        client.send(b"x" * 1000)
        assert client.is_hung_up()
    assert is_well(server)


def test_requests_beyond_the_end(server, disk):
    size = os.path.getsize(disk)
    with Client(server) as client:
        client.go()
        for offset, length in ((size, 1), (size - 1, 2), ((1 << 64) - 1, 1), (0, (32 << 20) + 1)):
            client.request(0, offset, length)
            assert client.receive(16)[4:8] == b"\0\0\0\x16"
    assert is_well(server)
