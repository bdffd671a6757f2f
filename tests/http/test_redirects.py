# SPDX-License-Identifier: Apache-2.0
"""Redirects: followed where it is safe, and no secret goes along to another server."""

import base64

import pytest

from certificates import Authority
from fault_server import FaultServer, File
from http_probe import PIECES, STREAM, probe

FILE = File(size=400_000)
SECRETS = ("--header", "X-Secret: geheim", "--user", "me", "--password", "pw")


def to(location, status=302):

    def handle(request, reply):
        target = location(request) if callable(location) else location
        reply.answer(status, {"Location": target}, b"gone there")

    return handle


def by_path(handlers):

    def handle(request, reply):
        handlers[request.path](request, reply)

    return handle


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    return authority, authority.issue("server", "IP:127.0.0.1", "DNS:localhost")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["/there", "there", "./x/../there", "//{host}/there", "http://{host}/there"])
def test_redirects_are_followed(status, location):
    handlers = {
        "/disk.img":
        lambda request, reply: to(location.format(host=request.headers["host"]), status)
        (request, reply),
        "/there":
        FILE.serve
    }
    with FaultServer(by_path(handlers)) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == FILE.sha256
    assert outcome.label == server.url()


def test_every_piece_is_redirected():
    handlers = {"/disk.img": to("/there"), "/there": FILE.serve}
    with FaultServer(by_path(handlers)) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.sha256 == FILE.sha256


def test_a_loop_ends():
    with FaultServer(to("/disk.img")) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "more than 10 redirects" in outcome.message
    assert len(server.requests) == 11


def test_ten_redirects_are_fine():

    def handle(request, reply):
        step = int(request.path[1:])
        (FILE.serve if step == 10 else to(f"/{step + 1}"))(request, reply)

    with FaultServer(handle) as server:
        assert probe(server.url("/0"), *STREAM).sha256 == FILE.sha256


@pytest.mark.parametrize("location", [
    "file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "http://", "http://[",
    "javascript:alert(1)"
])
def test_redirects_to_elsewhere_are_refused(location):
    with FaultServer(to(location)) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "INVALID_ARGUMENT"
    assert "redirect" in outcome.message


def test_a_redirect_without_a_place_is_an_error():
    with FaultServer(lambda request, reply: reply.answer(302)) as server:
        assert probe(server.url(), *STREAM).error == "UNKNOWN"


def test_the_body_of_a_redirect_is_bounded():

    def handle(request, reply):
        if request.path == "/there":
            FILE.serve(request, reply)
            return
        reply.head(302, {"Location": "/there", "Content-Length": 1 << 40})
        reply.send(b"x" * 1_000_000)
        reply.stall(10)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.sha256 == FILE.sha256
    assert outcome.seconds < 10


def test_secrets_stay_with_their_server():
    with FaultServer(FILE.serve) as other, FaultServer(to(other.url("/there"))) as server:
        outcome = probe(server.url(), *PIECES, *SECRETS)
    assert outcome.sha256 == FILE.sha256
    assert server.requests and other.requests
    for request in server.requests:
        assert request.headers["x-secret"] == "geheim"
        assert request.headers["authorization"] == "Basic " + base64.b64encode(b"me:pw").decode()
    for request in other.requests:
        assert "x-secret" not in request.headers
        assert "authorization" not in request.headers


def test_secrets_do_not_come_back_after_a_detour():
    with FaultServer(to(lambda request: back.url("/there"))) as other:
        handlers = {"/disk.img": to(other.url("/x")), "/there": FILE.serve}
        with FaultServer(by_path(handlers)) as back:
            outcome = probe(back.url(), *STREAM, *SECRETS)
    assert outcome.sha256 == FILE.sha256
    for request in back.requests:
        assert ("x-secret" in request.headers) == (request.path == "/disk.img")
        assert ("authorization" in request.headers) == (request.path == "/disk.img")


def test_secrets_go_along_on_the_same_server():
    handlers = {"/disk.img": to("/there"), "/there": FILE.serve}
    with FaultServer(by_path(handlers)) as server:
        assert probe(server.url(), *STREAM, "--bearer", "token").is_good
    assert all(request.headers["authorization"] == "Bearer token" for request in server.requests)


def test_a_bearer_stays_with_its_server():
    with FaultServer(FILE.serve) as other, FaultServer(to(other.url("/there"))) as server:
        assert probe(server.url(), *STREAM, "--bearer", "token").is_good
    assert all("authorization" not in request.headers for request in other.requests)


def test_credentials_in_a_redirect_are_not_used():
    with FaultServer(FILE.serve) as other:
        location = other.url("/there").replace("://", "://eve:evil@")
        with FaultServer(to(location)) as server:
            assert probe(server.url(), *STREAM).is_good
    assert all("authorization" not in request.headers for request in other.requests)


def test_https_may_not_become_http(tls):
    authority, certificate = tls
    with FaultServer(FILE.serve) as plain, FaultServer(to(plain.url("/there")),
                                                       tls=certificate) as server:
        outcome = probe(server.url(), *STREAM, "--ca-bundle", authority.bundle)
    assert outcome.error == "PERMISSION_DENIED"
    assert "from https to http" in outcome.message
    assert not plain.requests


def test_http_may_become_https(tls):
    authority, certificate = tls
    with FaultServer(FILE.serve,
                     tls=certificate) as secure, FaultServer(to(secure.url("/there"))) as server:
        outcome = probe(server.url(), *STREAM, "--ca-bundle", authority.bundle)
    assert outcome.sha256 == FILE.sha256


def test_http_that_became_https_may_not_go_back(tls):
    authority, certificate = tls
    with FaultServer(FILE.serve) as plain, \
         FaultServer(to(plain.url("/there")), tls=certificate) as secure, \
         FaultServer(to(secure.url("/x"))) as server:
        outcome = probe(server.url(), *STREAM, "--ca-bundle", authority.bundle)
    assert outcome.error == "PERMISSION_DENIED"
    assert not plain.requests


def test_a_redirect_to_an_untrusted_certificate_is_refused(tls):
    _, certificate = tls
    with FaultServer(FILE.serve,
                     tls=certificate) as secure, FaultServer(to(secure.url("/there"))) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "CA bundle" in outcome.message


def test_messages_hold_no_secrets():
    url = "/disk.img?X-Amz-Signature=geheim"
    with FaultServer(lambda request, reply: reply.answer(403)) as server:
        outcome = probe(
            server.url(url).replace("://", "://me:geheim@"), *STREAM, "--bearer", "geheim")
        assert server.requests[0].target == url
    assert outcome.error == "PERMISSION_DENIED"
    assert "geheim" not in outcome.message
    assert server.url("/disk.img") in outcome.message


def test_a_signed_place_is_not_shown_either():
    with FaultServer(lambda request, reply: reply.answer(403)) as other:
        with FaultServer(to(other.url("/there?sig=geheim"))) as server:
            outcome = probe(server.url(), *STREAM)
    assert "geheim" not in outcome.message


# Redirectors that send every question elsewhere.


@pytest.mark.parametrize("mode", [STREAM, PIECES], ids=["stream", "pieces"])
def test_a_file_is_read_from_one_mirror(mode):
    """Each mirror has its own ETag for the same file, as Apache's are."""
    mirrors = [File(size=2_000_000, etag=f'"m{number}"') for number in range(3)]

    def handle(request, reply):
        if request.path == "/disk.img":
            to(f"/{request.number % 3}")(request, reply)
            return
        status, headers, body = mirrors[int(request.path[1:])].answer(request)
        reply.head(status, headers)
        reply.send(body[:300_000])  # and streams break
        reply.close()

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *mode, *SECRETS)
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == mirrors[0].sha256
    asked = [request.path for request in server.requests]
    if mode == PIECES:
        assert asked.count("/disk.img") == 1
    assert set(asked) - {"/disk.img"} <= {"/0", "/2"}  # a source is opened first


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_place_that_expires_is_asked_for_again(status):
    """As a signed URL: good for three questions."""
    signed = {}

    def handle(request, reply):
        if request.path == "/disk.img":
            signature = f"/there?sig={request.number}"
            signed[signature] = 3
            to(signature)(request, reply)
        elif signed[request.target] == 0:
            reply.answer(status, {}, b"expired")
        else:
            signed[request.target] -= 1
            FILE.serve(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), "--chunk", 20_000)
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == FILE.sha256
    assert len(signed) == 7  # 21 questions


def test_a_place_that_is_gone_for_good_is_told():
    def handle(request, reply):
        if request.path == "/disk.img" and request.number < 3:
            to("/there")(request, reply)
        elif request.path == "/there" and request.number < 3:
            FILE.serve(request, reply)
        else:
            reply.answer(403, {}, b"no more")

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *PIECES, "--threads", 1)
    assert outcome.error == "PERMISSION_DENIED"


def test_a_known_place_does_not_see_secrets_either():
    with FaultServer(FILE.serve) as other, FaultServer(to(other.url("/there"))) as server:
        assert probe(server.url(), "--chunk", 50_000, *SECRETS).sha256 == FILE.sha256
    assert len(server.requests) == 1 and len(other.requests) == 9
    assert all("x-secret" not in request.headers for request in other.requests)
    assert all("authorization" not in request.headers for request in other.requests)


def test_a_known_place_may_see_them_on_the_same_server():
    handlers = {"/disk.img": to("/there"), "/there": FILE.serve}
    with FaultServer(by_path(handlers)) as server:
        assert probe(server.url(), "--chunk", 50_000, *SECRETS).sha256 == FILE.sha256
    assert len(server.requests) == 10
    assert all(request.headers["x-secret"] == "geheim" for request in server.requests)
