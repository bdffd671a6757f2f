# SPDX-License-Identifier: Apache-2.0
"""Addresses that a URL must not lead to, by itself, by a redirect or by its name; in a network of the
test's own, where 198.51.100.1 is the outside and every address answers."""

import socket
import struct
import threading

import pytest

from connect_proxy import ConnectProxy
from fault_server import FaultServer, File
from http_probe import PIECES, STREAM, probe, run
from private_network import PrivateNetwork

FILE = File(size=2_000_000)
OUTSIDE = "198.51.100.1"
METADATA = "169.254.169.254"


@pytest.fixture(scope="module")
def network():
    with PrivateNetwork(OUTSIDE, METADATA) as made:
        yield made


def fetch(network, url, *arguments):
    """As a user's URL is fetched: local addresses are not allowed."""
    return run("http_probe",
               *STREAM,
               "--retry-first-ms",
               10,
               "--retries",
               2,
               *arguments,
               url,
               prefix=network.prefix)


def redirect(location):
    return lambda request, reply: reply.answer(302, {"Location": location})


def test_the_outside_is_reached(network):
    with FaultServer(FILE.serve, bind=network.listener(OUTSIDE)) as server:
        assert fetch(network, server.url()).sha256 == FILE.sha256


@pytest.mark.parametrize("host", [
    "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0", "localhost", "[::1]", "[::ffff:127.0.0.1]",
    METADATA, "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]"
])
def test_local_addresses_are_refused(network, host):
    with FaultServer(FILE.serve, bind=network.listener("0.0.0.0")) as server:
        outcome = fetch(network, server.url(host=host))
        assert outcome.error == "PERMISSION_DENIED", outcome.values
        assert "refused unless local addresses are allowed" in outcome.message
        assert outcome.seconds < 5
    assert not server.requests and not server.connections


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", METADATA])
def test_a_redirect_to_a_local_address_is_refused(network, host):
    with FaultServer(FILE.serve, bind=network.listener("0.0.0.0")) as inner, \
         FaultServer(redirect(inner.url(host=host)), bind=network.listener(OUTSIDE)) as server:
        outcome = fetch(network, server.url())
        assert outcome.error == "PERMISSION_DENIED", outcome.values
    assert server.requests and not inner.connections


def test_they_are_fine_when_allowed(network):
    with FaultServer(FILE.serve, bind=network.listener("0.0.0.0")) as inner, \
         FaultServer(redirect(inner.url(host=METADATA)), bind=network.listener(OUTSIDE)) as server:
        outcome = fetch(network, server.url(), "--allow-local")
    assert outcome.sha256 == FILE.sha256


class NameServer:
    """Answers every question for an address with the next of a list, the last for ever, all to be
    forgotten at once."""

    def __init__(self, network, tmp_path, *addresses):
        self.addresses = list(addresses)
        self.asked = 0
        self.socket = network.socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53))
        resolv = tmp_path / "resolv.conf"
        resolv.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        network.run("mount", "--bind", str(resolv), "/etc/resolv.conf")
        self.socket.settimeout(0.1)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.stopped.is_set():
            try:
                query, client = self.socket.recvfrom(512)
            except TimeoutError:
                continue
            end = query.index(b"\0", 12) + 5
            kind = struct.unpack("!H", query[end - 4:end - 2])[0]
            answers = b""
            if kind == 1:
                address = self.addresses[min(self.asked, len(self.addresses) - 1)]
                self.asked += 1
                answers = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
            head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if answers else 0, 0, 0)
            self.socket.sendto(head + query[12:end] + answers, client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        self.socket.close()


def test_a_name_that_changes_its_address_does_not_get_past(tmp_path):
    with PrivateNetwork(OUTSIDE, METADATA) as network, \
         NameServer(network, tmp_path, OUTSIDE, "127.0.0.1") as names, \
         FaultServer(FILE.serve, bind=network.listener("0.0.0.0")) as server:
        url = server.url(host="rebinding.example")
        assert fetch(network, url).is_good
        assert names.asked == 1  # one connection: one address
        names.asked = 0
        # each thread has its own connection, and asks for the name again
        outcome = run("http_probe", *PIECES, "--retry-first-ms", 10, url, prefix=network.prefix)
        assert outcome.error == "PERMISSION_DENIED", outcome.values
        assert names.asked > 1


# Through a proxy, which resolves names itself.


def test_the_proxy_itself_may_be_local():
    with FaultServer(FILE.serve) as server, ConnectProxy() as proxy:
        outcome = run("http_probe", *STREAM, "--proxy", proxy.url, "--retries", 1,
                      server.url().replace("127.0.0.1", "images.invalid"))
    assert outcome.error == "UNAVAILABLE"  # the proxy was asked, and knows no such name
    assert proxy.asked == [f"GET http://images.invalid:{server.port}/disk.img"] * 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", METADATA, "2130706433"])
def test_local_addresses_are_refused_behind_a_proxy_too(host):
    with ConnectProxy() as proxy:
        outcome = run("http_probe", *STREAM, "--proxy", proxy.url, f"http://{host}/disk.img")
    assert outcome.error == "PERMISSION_DENIED"
    assert not proxy.asked
