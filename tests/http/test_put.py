# SPDX-License-Identifier: Apache-2.0
"""Files that are sent while they are made: what cannot be sent again is refused before it is sent."""

import hashlib
import random

import pytest

from certificates import Authority
from fault_server import FaultServer
from http_probe import QUICK, run
from nginx import Nginx

DATA = random.Random(9).randbytes(5_000_001)


def put(url, data=DATA, *arguments, chunk=77_777, **options):
    return run("http_push", *QUICK, "--chunk", chunk, *arguments, url, stdin=data, **options)


def go_on(_, reply):
    reply.raw(b"HTTP/1.1 100 Continue\r\n\r\n")


def taken(status=201):
    return lambda request, reply: reply.answer(status)


@pytest.mark.parametrize("size", [0, 1, 65_536, len(DATA)])
@pytest.mark.parametrize("chunk", [77_777, 1 << 20])
def test_a_file_arrives_whole(size, chunk):
    with FaultServer(taken(), on_head=go_on) as server:
        outcome = put(server.url(), DATA[:size], chunk=chunk)
    assert outcome.is_good, outcome.values
    assert outcome.status == 201
    request, = server.requests
    assert request.method == "PUT" and request.body == DATA[:size]
    assert request.headers["content-length"] == str(size)
    assert request.headers["content-type"] == "application/octet-stream"


def test_a_server_that_knows_nothing_of_100_continue():
    with FaultServer(taken(200)) as server:
        outcome = put(server.url(), DATA, "--stall", 5)
    assert outcome.is_good, outcome.values
    assert server.requests[0].body == DATA


def test_who_makes_it_may_be_slow():
    """A stall is a server that does not take anything, not a body that does not come."""
    with FaultServer(taken(), on_head=go_on) as server:
        outcome = put(server.url(), DATA, "--pause", 1500, chunk=3_000_000)
    assert outcome.is_good, outcome.values
    assert server.requests[0].body == DATA


@pytest.mark.parametrize("status, error", [(401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"),
                                           (404, "NOT_FOUND"), (413, None), (301, None)])
def test_a_refusal_comes_before_the_body(status, error):

    def refuse(_, reply):
        reply.answer(status, {"Location": "/elsewhere"}, b"no, not here")
        reply.close()
        return True

    with FaultServer(taken(), on_head=refuse) as server:
        outcome = put(server.url())
    assert not outcome.is_good
    assert error is None or outcome.error == error
    assert str(status) in outcome.message and "no, not here" in outcome.message
    assert len(server.requests) == 1 and not server.requests[0].body


def test_a_refusal_in_the_middle_is_told():

    def refuse(_, reply):
        go_on(_, reply)
        reply.connection.recv(100_000)
        reply.answer(507, {}, b"the disk is full")
        reply.stall(0.5)  # what is closed with bytes unread loses the answer
        reply.close()
        return True

    with FaultServer(taken(), on_head=refuse) as server:
        outcome = put(server.url(), DATA * 4)
    assert not outcome.is_good
    assert "507" in outcome.message and "the disk is full" in outcome.message


def test_what_may_pass_is_tried_again_before_the_body_is_sent():

    def busy_at_first(request, reply):
        if request.number < 2:
            reply.answer(503, {}, b"busy")
            reply.close()
            return True
        return go_on(request, reply)

    with FaultServer(taken(), on_head=busy_at_first) as server:
        outcome = put(server.url())
    assert outcome.is_good, outcome.values
    assert len(server.requests) == 3 and server.requests[2].body == DATA


def test_a_break_in_the_middle_is_told():

    def break_off(_, reply):
        go_on(_, reply)
        reply.connection.recv(100_000)
        reply.reset()
        return True

    with FaultServer(taken(), on_head=break_off) as server:
        outcome = put(server.url(), DATA * 4)
    assert outcome.error == "UNAVAILABLE", outcome.values
    assert len(server.requests) == 1


def test_a_server_that_takes_nothing_more_is_given_up():

    def stall(_, reply):
        go_on(_, reply)
        reply.stall(30)
        return True

    with FaultServer(taken(), on_head=stall) as server:
        outcome = put(server.url(), DATA * 8)
    assert outcome.error == "UNAVAILABLE" and outcome.seconds < 10


def test_redirects_are_followed_without_the_credentials():

    def away(request, reply):
        reply.answer(307, {"Location": other.url("/there?signature=1")})
        reply.close()
        return True

    with FaultServer(taken(), on_head=go_on) as other, FaultServer(taken(), on_head=away) as server:
        outcome = put(server.url(), DATA, "--user", "me", "--password", "geheim")
    assert outcome.is_good, outcome.values
    assert other.requests[0].body == DATA and "authorization" not in other.requests[0].headers
    assert "authorization" in server.requests[0].headers


def test_less_than_was_announced_is_no_file():
    with FaultServer(taken(), on_head=go_on) as server:
        outcome = put(server.url(), DATA, "--offset", 5)
    assert outcome.error == "INTERNAL" and "5 bytes less" in outcome.message


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    with Nginx(tmp_path_factory.mktemp("nginx"), authority.issue("nginx", "IP:127.0.0.1")) as server:
        server.authority = authority
        yield server


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_nginx(nginx, tls):
    outcome = put(nginx.url("/put/new.img", tls=tls), DATA * 3, "--ca-bundle",
                  nginx.authority.bundle)
    assert outcome.is_good, outcome.values
    with open(nginx.put_path("new.img"), "rb") as file:
        assert hashlib.sha256(file.read()).digest() == hashlib.sha256(DATA * 3).digest()


def test_nginx_says_no(nginx):
    outcome = put(nginx.url("/disk.img"), DATA[:1000])
    assert not outcome.is_good and "405" in outcome.message
    outcome = put(nginx.url("/disk.img"))
    assert not outcome.is_good and "413" in outcome.message
