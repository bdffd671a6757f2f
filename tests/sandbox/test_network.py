# SPDX-License-Identifier: Apache-2.0
"""Connections: only to the addresses of the policy, whichever way an address is given."""

import os
import socket
import struct
import threading
import time

import pytest

from sandbox import NOBODY, Listener

WAYS = ["tcp", "tcp-nonblocking", "tcp-mapped"]


@pytest.mark.parametrize("way", WAYS)
def test_allowed_address_is_connected_to(probe, listener, way):
    assert probe("--allow", listener.rule, way, listener.host, listener.port).is_allowed
    assert listener.accepted == 1


@pytest.mark.parametrize("way", WAYS)
def test_other_addresses_are_refused(probe, outside, listener, other_listener, way):
    assert outside(way, other_listener.host, other_listener.port).is_allowed
    outcome = probe("--allow", listener.rule, way, other_listener.host, other_listener.port)
    assert outcome.is_refused and outcome.reason == "Permission denied"
    assert f"has refused a connection to {other_listener.rule}" in outcome.log
    assert other_listener.accepted == 1  # the one from outside


def test_ipv6_is_looked_at_too(probe):
    here = Listener("::1", socket.AF_INET6)
    try:
        assert probe("--allow", f"[::1]:{here.port}", "tcp", "::1", here.port).is_allowed
        assert probe("tcp", "::1", here.port).is_refused
        assert here.accepted == 1
    finally:
        here.close()


def test_nothing_is_connected_to_without_a_policy(probe, listener):
    assert probe("tcp", listener.host, listener.port).is_refused
    assert listener.accepted == 0


def test_refused_by_the_other_side_is_told_as_such(probe):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    for way in WAYS:
        outcome = probe("--allow", f"127.0.0.1:{port}", way, "127.0.0.1", port)
        assert outcome.reason == "Connection refused"


@pytest.mark.parametrize("way", ["fast-open-sendto", "fast-open-sendmsg"])
def test_tcp_has_no_second_way_to_connect(probe, listener, way):
    assert probe("--allow", listener.rule, way, listener.host, listener.port).is_refused


def test_address_changed_meanwhile_gains_nothing(probe, listener, other_listener):
    """Another thread writes the address of the one that is not allowed over and over again."""
    outcome = probe("--allow", listener.rule, "tcp-race", listener.host, listener.port,
                    other_listener.port)
    assert outcome.is_refused and outcome.reason == "Permission denied"
    assert listener.accepted > 0
    assert other_listener.accepted == 0


def test_public_internet_does_not_mean_what_is_inside(probe, listener):
    assert probe("--public", listener.port, "tcp", listener.host, listener.port).is_refused
    assert probe("--public", "80", "tcp", "169.254.169.254", 80).reason == "Permission denied"


def test_policy_is_added_to_until_it_is_sealed(probe, listener):
    attempt = ("allow-more", listener.rule, listener.host, listener.port)
    assert probe("--unsealed", *attempt).is_allowed
    assert probe(*attempt).reason == "Operation not permitted"
    assert listener.accepted == 1


def test_guard_serves_another_user(probe, listener):
    assert probe("--uid", NOBODY, "--allow", listener.rule, "tcp", listener.host,
                 listener.port).is_allowed
    assert probe("--uid", NOBODY, "tcp", listener.host, listener.port).is_refused


def test_guard_serves_without_privileges(probe, listener, other_listener):
    """As in a container that is not root."""
    wrapper = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all",
               "--bounding-set=-all", "--no-new-privs"]
    assert probe("--allow", listener.rule, "tcp", listener.host, listener.port,
                 wrapper=wrapper).is_allowed
    assert probe("--allow", listener.rule, "tcp", other_listener.host, other_listener.port,
                 wrapper=wrapper).is_refused
    outcome = probe("privileges", wrapper=wrapper)
    assert "dumpable 0" in outcome.output[0]


@pytest.mark.parametrize("way", WAYS)
def test_guard_serves_in_a_container(probe, container, listener, other_listener, way):
    """Under the filter that containers have by default, which keeps processes apart."""
    wrapper = [container]
    assert probe("--allow", listener.rule, way, listener.host, listener.port,
                 wrapper=wrapper).is_allowed
    outcome = probe("--allow", listener.rule, way, other_listener.host, other_listener.port,
                    wrapper=wrapper)
    assert outcome.is_refused and outcome.reason == "Permission denied"
    assert (listener.accepted, other_listener.accepted) == (1, 0)


def test_the_filter_of_containers_is_one(outside, container):
    """pidfd_getfd, of no descriptor."""
    assert outside("call", "438", wrapper=[container]).reason == "Operation not permitted"
    assert outside("call", "438").reason == "Bad file descriptor"


def test_names_are_resolved_in_a_container(probe, container, name_server, tmp_path):
    conf = tmp_path / "resolv.conf"
    conf.write_text("nameserver 127.0.53.1\noptions timeout:2 attempts:1\n")
    wrapper = [*with_file("/etc/resolv.conf", conf), container]
    assert probe("resolve", "image.example", wrapper=wrapper).is_allowed
    assert name_server.asked >= 2


def test_a_connection_ends_when_it_is_closed(probe):
    """The guard has a descriptor of it, too: the end comes well before that of the process."""
    ends = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with server.accept()[0] as connection:
                assert connection.recv(1) == b""
                ends.append(time.monotonic())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = server.getsockname()
        assert probe("--allow", f"{host}:{port}", "closed", host, port).is_allowed
        over = time.monotonic()
        thread.join(10)
    assert len(ends) == 1 and ends[0] < over - 1


def test_streams_come_back(probe):
    outcome = probe("tcp-many", wrapper=["prlimit", "--nofile=1024:1024"])
    assert outcome.is_allowed
    counts = [int(line.split()[0]) for line in outcome.output[:2]]
    assert counts[0] == counts[1] > 200


def test_threads_do_not_close_what_others_were_given(probe, listener):
    assert probe("--allow", listener.rule, "tcp-threads", listener.host, listener.port).is_allowed


# Unix sockets.

@pytest.fixture
def unix_socket(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(path))
        here.listen()
        yield path


def test_unix_socket_by_its_path(probe, outside, unix_socket, tmp_path):
    assert outside("unix", unix_socket).is_allowed
    assert probe("--socket", unix_socket, "unix", unix_socket).is_allowed
    assert probe("unix", unix_socket).is_refused
    (tmp_path / "other").symlink_to(unix_socket)
    assert probe("--socket", unix_socket, "unix", tmp_path / "other").is_refused


def test_abstract_unix_socket(probe, outside):
    name = f"imprint-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as here:
        here.bind("\0" + name)
        here.listen()
        assert outside("unix-abstract", name).is_allowed
        assert probe("unix-abstract", name).is_refused


def test_unix_datagrams(probe, outside, tmp_path):
    path = tmp_path / "d"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        here.bind(str(path))
        assert outside("unix-datagram", path).is_allowed
        assert probe("--socket", path, "unix-datagram", path).is_refused
    assert probe("unix-pair").is_refused


# Datagrams.

ESCAPES = ["udp", "udp-sendto", "udp-sendmsg", "udp-sendmmsg", "udp-high-bits", "udp-dup", "udp-dup2",
           "udp-fcntl-dup", "udp-passed"]


@pytest.mark.parametrize("way", ESCAPES)
def test_datagrams_go_nowhere(probe, outside, receiver, way):
    if way != "udp-high-bits":
        assert outside(way, receiver.host, receiver.port).is_allowed
        assert receiver.received() == b"x"
    # TCP to the same port does not count
    outcome = probe("--allow", f"{receiver.host}:{receiver.port}", way, receiver.host, receiver.port)
    assert outcome.is_refused
    assert receiver.received() is None


def test_datagram_sockets_are_few_and_come_back(probe):
    outcome = probe("udp-many")
    assert outcome.is_allowed
    counts = [int(line.split()[0]) for line in outcome.output[:2]]
    assert counts[0] == counts[1] > 100


class NameServer(threading.Thread):
    """Answers every question of type A with 192.0.2.7, and those of type AAAA with nothing."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((host, 53))
        self.asked = 0

    def run(self):
        while True:
            question, peer = self.socket.recvfrom(512)
            if question == b"stop":
                return
            self.asked += 1
            end = question.index(b"\0", 12) + 5
            is_a = struct.unpack("!H", question[end - 4:end - 2])[0] == 1
            header = question[:2] + struct.pack("!HHHHH", 0x8180, 1, int(is_a), 0, 0)
            answer = struct.pack("!HHHIH4B", 0xc00c, 1, 1, 60, 4, 192, 0, 2, 7) if is_a else b""
            self.socket.sendto(header + question[12:end] + answer, peer)

    def stop(self):
        self.socket.sendto(b"stop", self.socket.getsockname())
        self.join()
        self.socket.close()


@pytest.fixture
def name_server():
    server = NameServer("127.0.53.1")
    server.start()
    yield server
    server.stop()


def with_file(path, replacement):
    """A command that runs another one where `path` is `replacement`."""
    script = f'mount --make-rprivate / && mount --bind "{replacement}" "{path}" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def test_names_are_resolved(probe, name_server, tmp_path):
    conf = tmp_path / "resolv.conf"
    conf.write_text("nameserver 127.0.53.1\noptions timeout:2 attempts:1\n")
    assert probe("resolve", "image.example", wrapper=with_file("/etc/resolv.conf", conf)).is_allowed
    assert name_server.asked >= 2  # A and AAAA


def test_other_name_servers_are_not_asked(probe, name_server, receiver):
    assert probe("udp", "127.0.53.1", "53").is_refused
    assert name_server.asked == 0


def test_connected_datagrams_name_nobody_else(probe, name_server, receiver, tmp_path):
    conf = tmp_path / "resolv.conf"
    conf.write_text("nameserver 127.0.53.1\n")
    outcome = probe("udp-connected-sendmsg", receiver.host, receiver.port, "127.0.53.1", 53,
                    wrapper=with_file("/etc/resolv.conf", conf))
    assert outcome.is_refused and outcome.reason == "Operation not permitted"
    assert receiver.received() is None


# Sockets as such.

@pytest.mark.parametrize("attempt", ["listen", "listen-unbound"])
def test_nobody_can_connect_to_it(probe, outside, attempt):
    assert outside(attempt).is_allowed
    assert probe(attempt).is_refused


OTHER_SOCKETS = {
    "netlink": (16, 3, 0),
    "packets": (17, 3, 0),
    "raw IP": (2, 3, 255),
    "raw ICMP": (2, 3, 1),
    "ping": (2, 2, 1),
    "multipath TCP": (2, 1, 262),
    "SCTP": (2, 1, 132),
    "virtual machines": (40, 1, 0),
    "kernel crypto": (38, 5, 0),
    "unix seqpacket": (1, 5, 0),
}


@pytest.mark.parametrize("kind", OTHER_SOCKETS)
def test_other_kinds_of_sockets_are_not_made(probe, kind):
    outcome = probe("socket", *OTHER_SOCKETS[kind])
    assert outcome.is_refused and outcome.reason == "Operation not permitted"
