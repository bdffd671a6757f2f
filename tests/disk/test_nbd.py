# SPDX-License-Identifier: Apache-2.0
"""nbd://, nbds:// and nbd+unix:// as sources, on a real server and on one that misbehaves."""

import os
import signal
import socket
import threading
import time

import pytest

import nbd
import tls
from disk import QUICK, copy, finish, probe, same_content, start
from nbd_faults import HOLE, ZERO, FaultyServer

MIB = 1 << 20
LOCAL = "--allow-local"


def unix_uri(server):
    return f"nbd+unix:///?socket={server.socket}"


# A real server.

@pytest.fixture
def server(disk, tmp_path):
    with nbd.QemuNbd(disk, tmp_path, ["--read-only"]) as running:
        yield running


@pytest.mark.parametrize("arguments", [
    [], ["--threads", 1], ["--threads", 8, "--chunk", "8M"], ["--chunk", 12345], ["--only-data"],
    ["--stream"], ["--stream", "--chunk", "3M"]])
def test_all_is_read(server, disk, output, arguments):
    outcome = copy(unix_uri(server), output, LOCAL, *arguments)
    assert outcome.error is None
    assert outcome.size == os.path.getsize(disk)
    assert outcome.identity is None
    assert same_content(disk, output)


def test_holes_are_told(server):
    outcome = probe(LOCAL, "--map", unix_uri(server))
    assert outcome.data == [[0, 2 * MIB], [10 * MIB, 12 * MIB], [20 * MIB, 22 * MIB],
                            [33 * MIB + 4096, 33 * MIB + 4096 + 102400], [62 * MIB, 64 * MIB]]


def test_by_tcp(disk, tmp_path, output):
    port = nbd.free_port()
    with nbd.QemuNbd(disk, tmp_path, ["--export-name", "a b"], port=port):
        assert copy(f"nbd://localhost:{port}/a%20b", output, LOCAL).error is None
        assert same_content(disk, output)
        outcome = probe(*QUICK, LOCAL, f"nbd://localhost:{port}/another")
        assert outcome.code == "NOT_FOUND"


def test_blocks_that_the_server_wants(disk, tmp_path, output):
    """Of 4 KiB: what is asked for in the middle of them is fetched around."""
    image = f"driver=blkdebug,align=4096,image.driver=file,image.filename={disk}"
    options = ["--image-opts", image]
    server = nbd.QemuNbd("", tmp_path)
    server.command = [*server.command[:server.command.index("--format")], "--read-only", *options]
    with server:
        for arguments in (["--chunk", "1M"], ["--chunk", 10007], ["--only-data"]):
            assert copy(unix_uri(server), output, LOCAL, *arguments).error is None
            assert same_content(disk, output)


@pytest.mark.parametrize("url", [
    "nbd://127.0.0.1:{port}/", "nbd://localhost:{port}/", "nbd://[::1]:{port}/",
    "nbd://[::ffff:127.0.0.1]:{port}/", "nbd://0.0.0.0:{port}/", "nbd://169.254.169.254/",
    "nbds://127.0.0.1:{port}/"])
def test_local_addresses_are_not_asked(url):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        outcome = probe(*QUICK, url.format(port=listener.getsockname()[1]))
        assert outcome.code == "PERMISSION_DENIED"
        assert "which is not allowed" in outcome.error
        with pytest.raises(TimeoutError):
            listener.accept()


def test_local_sockets_are_not_asked(server):
    outcome = probe(*QUICK, unix_uri(server))
    assert outcome.code == "PERMISSION_DENIED"
    assert "a socket of this machine" in outcome.error


def test_nobody_there(tmp_path):
    begin = time.monotonic()
    outcome = probe(*QUICK, "--retries", 3, LOCAL, f"nbd://127.0.0.1:{nbd.free_port()}/")
    assert outcome.code == "UNAVAILABLE"
    assert "Connection refused" in outcome.error
    assert time.monotonic() - begin < 10
    assert probe(*QUICK, "--retries", 1, LOCAL,
                 f"nbd+unix:///?socket={tmp_path}/none").code == "NOT_FOUND"


# TLS.

@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return tls.make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_port(disk, tmp_path, certificates):
    port = nbd.free_port()
    options = ["--object", f"tls-creds-x509,id=tls0,endpoint=server,dir={certificates},verify-peer=no",
               "--tls-creds", "tls0", "--read-only"]
    with nbd.QemuNbd(disk, tmp_path, options, port=port):
        yield port


@pytest.mark.parametrize("bundle", ["", "ca-cert.pem"])
def test_tls(tls_port, certificates, disk, output, bundle):
    ca = os.path.join(certificates, bundle) if bundle else certificates
    assert copy(f"nbds://localhost:{tls_port}/", output, LOCAL, "--ca", ca).error is None
    assert same_content(disk, output)


def test_tls_with_a_stranger(tls_port, tmp_path):
    """The certificate must come from the CA that was named, and be for the host that was named."""
    strangers = tls.make_certificates(tmp_path / "strangers", "stranger")
    outcome = probe(*QUICK, LOCAL, "--ca", strangers, f"nbds://localhost:{tls_port}/")
    assert "ertificate" in outcome.error


def test_tls_with_another_host(disk, tmp_path, certificates):
    port = nbd.free_port()
    options = ["--object", f"tls-creds-x509,id=tls0,endpoint=server,dir={certificates},verify-peer=no",
               "--tls-creds", "tls0", "--read-only"]
    server = nbd.QemuNbd(disk, tmp_path, options, port=port)
    server.command[server.command.index("127.0.0.1")] = "127.0.0.2"
    server.host = "127.0.0.2"
    with server:
        outcome = probe(*QUICK, LOCAL, "--ca", certificates, f"nbds://127.0.0.2:{port}/")
        assert "ertificate" in outcome.error


def test_tls_without_a_ca_is_refused(tls_port, tmp_path):
    """libnbd would believe anybody then."""
    for arguments in ([], ["--ca", tmp_path], ["--ca", "/etc/ssl/certs/ca-certificates.crt"]):
        outcome = probe(*QUICK, LOCAL, *arguments, f"nbds://localhost:{tls_port}/")
        assert outcome.code == "INVALID_ARGUMENT"
        assert "TLS needs a CA" in outcome.error


def test_tls_is_not_given_up(disk, tmp_path, certificates):
    port = nbd.free_port()
    with nbd.QemuNbd(disk, tmp_path, port=port):
        outcome = probe(*QUICK, LOCAL, "--ca", certificates, f"nbds://localhost:{port}/")
        assert "refused TLS" in outcome.error


# Accidents of a real server.

def test_server_that_is_restarted(disk, tmp_path, output):
    server = nbd.QemuNbd(disk, tmp_path, ["--read-only"]).start()
    running = start("--retry-first-ms", 50, "--stall", 20, LOCAL, "--chunk", 2048, "--threads", 2,
                    "--output", output, unix_uri(server))
    time.sleep(0.3)
    server.kill()
    time.sleep(0.3)
    assert running.poll() is None
    with server:
        assert finish(running).error is None
    assert same_content(disk, output)


def test_server_that_hangs(disk, tmp_path, output):
    with nbd.QemuNbd(disk, tmp_path, ["--read-only"]) as server:
        running = start("--retry-first-ms", 50, "--stall", 1, LOCAL, "--chunk", 2048, "--threads", 2,
                        "--output", output, unix_uri(server))
        time.sleep(0.3)
        server.signal(signal.SIGSTOP)
        time.sleep(2.5)
        assert running.poll() is None
        server.signal(signal.SIGCONT)
        assert finish(running).error is None
    assert same_content(disk, output)


# A server that misbehaves.

@pytest.fixture(scope="module")
def content():
    return os.urandom(16 * MIB)


@pytest.fixture
def faulty(content):
    with FaultyServer(content) as server:
        yield server


def copied(server, output, *arguments):
    outcome = copy(server.uri, output, LOCAL, *arguments)
    if outcome.error is None:
        with open(output, "rb") as file:
            assert file.read() == server.content
    return outcome


def test_connections_are_shared_out(faulty, output):
    assert copied(faulty, output, "--threads", 8).error is None
    assert faulty.connections == 4


def test_server_that_wants_one_connection(faulty, output):
    faulty.multi_conn = False
    assert copied(faulty, output, "--threads", 8).error is None
    assert faulty.connections == 1


def test_server_that_bears_two_connections(faulty, output):
    faulty.max_connections = 2
    assert copied(faulty, output, "--threads", 8).error is None


def test_connections_that_break(faulty, output):
    faulty.drop_after = 3
    assert copied(faulty, output, "--chunk", "1M").error is None
    assert faulty.connections >= 16 / 3


def test_reads_that_fail_for_a_while(faulty, output):
    faulty.errors = {0: 2, 5 * MIB: 3}
    assert copied(faulty, output).error is None


def test_reads_that_fail_for_ever(faulty, output):
    faulty.errors = {5 * MIB: 1000}
    outcome = copied(faulty, output, "--retries", 3)
    assert "Input/output error" in outcome.error
    assert "given up after 4 attempts" in outcome.error


def test_answers_that_never_come(faulty, output):
    faulty.stalls = 2
    assert copied(faulty, output).error is None


def test_answers_that_trickle(faulty, output):
    """A byte every 50 ms is no server: it ends in ten times the time that a stall would take."""
    faulty.trickles = True
    begin = time.monotonic()
    outcome = copied(faulty, output, "--retries", 1, "--threads", 1)
    assert outcome.code == "UNAVAILABLE"
    assert "does not answer in time" in outcome.error
    assert 15 < time.monotonic() - begin < 60


def test_greeting_that_never_comes(faulty):
    faulty.greets = False
    begin = time.monotonic()
    outcome = probe(*QUICK, "--retries", 1, LOCAL, faulty.uri)
    assert outcome.code == "UNAVAILABLE"
    assert time.monotonic() - begin < 20


def test_size_that_changes(faulty, output):
    faulty.sizes = [len(faulty.content), len(faulty.content) // 2]
    faulty.multi_conn = False
    faulty.drop_after = 3
    outcome = copied(faulty, output, "--chunk", "1M", "--threads", 1)
    assert outcome.code == "FAILED_PRECONDITION"
    assert "changed its size" in outcome.error


def test_size_that_is_a_lie(faulty, output):
    faulty.sizes = [1 << 40]
    outcome = probe(*QUICK, LOCAL, "--output", output, "--offset", 1 << 39, "--len", 4096, faulty.uri)
    assert outcome.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("sizes", [(4096, 4096, MIB), (512, 65536, 65536), (1, 4096, 32 * MIB)])
def test_sizes_of_requests_are_kept_to(faulty, output, sizes):
    faulty.block_sizes = sizes
    assert copied(faulty, output, "--chunk", 1000003).error is None
    assert all(offset % sizes[0] == 0 and length % sizes[0] == 0 and length <= sizes[2]
               for offset, length in faulty.reads)


# Lies about holes.

ALL_DATA = [[0, 16 * MIB]]


def mapped(faulty, extents):
    faulty.extents = extents
    outcome = probe(*QUICK, LOCAL, "--map", faulty.uri)
    assert outcome.error is None
    return outcome.data


def test_holes_one_at_a_time(faulty):
    def extents(offset, length):
        return [(MIB, 0 if offset // MIB % 2 else HOLE | ZERO)]
    assert mapped(faulty, extents) == [[i * MIB, (i + 1) * MIB] for i in range(1, 16, 2)]


def test_holes_that_do_not_read_as_zeros_are_data(faulty):
    assert mapped(faulty, lambda offset, length: [(length, HOLE)]) == ALL_DATA


def test_zeros_are_not_fetched(faulty, output):
    faulty.content = bytes(16 * MIB)
    faulty.extents = lambda offset, length: [(length, ZERO)]
    assert copied(faulty, output, "--only-data").error is None
    assert faulty.reads == []


def test_parts_of_no_length(faulty):
    assert mapped(faulty, lambda offset, length: [(0, ZERO)]) == ALL_DATA


def test_parts_beyond_the_end(faulty):
    assert mapped(faulty, lambda offset, length: [(0xffffffff, 0)]) == ALL_DATA
    assert mapped(faulty, lambda offset, length: [(0xffffffff, ZERO)]) == []


def test_parts_without_number(faulty):
    """More than are taken from one answer: the rest is asked for again."""
    def extents(offset, length):
        return [(64, 0 if (offset // 64 + i) % 2 else ZERO) for i in range(length // 64)]
    found = mapped(faulty, extents)
    assert found == [[i * 64, (i + 1) * 64] for i in range(1, 2001, 2)]  # as many as are shown
    assert all(offset % 64 == 0 for offset, _ in faulty.statuses)


def test_holes_are_asked_for_again_after_an_accident(faulty):
    lock, asked = threading.Lock(), []

    def extents(offset, length):
        with lock:
            asked.append(offset)
            if len(asked) == 2:
                raise EOFError  # the connection breaks
        return [(MIB, ZERO if offset < 8 * MIB else 0)]
    assert mapped(faulty, extents) == [[i * MIB, (i + 1) * MIB] for i in range(8, 16)]
