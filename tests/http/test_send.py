# SPDX-License-Identifier: Apache-2.0
"""Single requests: whatever status comes is handed over, what may pass is tried again."""

import pytest

from fault_server import FaultServer, File
from http_probe import QUICK, run

FILE = File(size=100_000)


def ask(server, *arguments, path="/x", **options):
    return run("http_ask", *QUICK, *arguments, server.url(path), **options)


@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 401, 403, 404, 409, 416, 501])
def test_statuses_are_handed_over(status):
    body = b"" if status in (204, 304) else b"hello"
    with FaultServer(lambda request, reply: reply.answer(status, {}, body)) as server:
        outcome = ask(server)
    assert outcome.is_good, outcome.values
    assert outcome.status == status
    assert outcome.length == len(body)
    assert len(server.requests) == 1


def test_a_refusal_that_stays_is_handed_over_in_the_end():
    with FaultServer(lambda request, reply: reply.answer(503, {}, b"busy")) as server:
        outcome = ask(server, "--retries", 2)
    assert outcome.status == 503 and outcome.body == "busy"
    assert len(server.requests) == 3


def test_what_is_sent():
    with FaultServer(lambda request, reply: reply.answer(200)) as server:
        for method in ("GET", "HEAD", "DELETE"):
            ask(server, "--method", method)
        for method in ("POST", "PUT", "PATCH"):
            ask(server, "--method", method, "--body", "a body", "--header",
                "Content-Type: text/plain")
        ask(server, "--method", "POST")
        ask(server, "--method", "PUT", "--body", "x" * 100_000)
    without, with_body, empty, large = (server.requests[:3], server.requests[3:6],
                                        server.requests[6], server.requests[7])
    assert [request.method for request in without] == ["GET", "HEAD", "DELETE"]
    assert all(request.headers["accept"] == "application/json" for request in server.requests)
    assert all("content-length" not in request.headers for request in without)
    for request in with_body:
        assert request.body == b"a body"
        assert request.headers["content-type"] == "text/plain"
    assert empty.headers["content-length"] == "0" and empty.body == b""
    assert large.body == b"x" * 100_000
    assert large.headers["content-type"] == "application/octet-stream"
    assert "expect" not in large.headers


def test_the_answer_to_head_has_a_length_and_no_body():
    with FaultServer(FILE.serve) as server:
        outcome = ask(server, "--method", "HEAD")
    assert outcome.status == 200 and outcome.length == 0
    assert outcome.content_length == len(FILE.data)


def test_a_body_above_the_limit_is_an_error():
    with FaultServer(FILE.serve) as server:
        assert ask(server, "--max-body", 100_000).length == 100_000
        outcome = ask(server, "--max-body", 99_999)
    assert outcome.error == "RESOURCE_EXHAUSTED"
    assert "larger than 99999 bytes" in outcome.message


def test_an_endless_body_is_an_error():
    def handle(request, reply):
        reply.head(200, {"Transfer-Encoding": "chunked"})
        while not reply.server.stopped.is_set():
            reply.chunk(b"x" * 100_000)

    with FaultServer(handle) as server:
        outcome = ask(server)
    assert outcome.error == "RESOURCE_EXHAUSTED"
    assert server.sent < 64 << 20


def test_of_an_endless_refusal_the_beginning_is_kept():
    def handle(request, reply):
        reply.head(404, {"Transfer-Encoding": "chunked"})
        while not reply.server.stopped.is_set():
            reply.chunk(b"x" * 10_000)

    with FaultServer(handle) as server:
        outcome = ask(server)
    assert outcome.status == 404
    assert 0 < outcome.length <= 65536


def test_a_short_body_is_asked_for_again():
    def handle(request, reply):
        reply.head(200, {"Content-Length": 10})
        reply.send(b"0123456789"[:5 if request.number < 2 else 10])
        reply.close()

    with FaultServer(handle) as server:
        assert ask(server).body == "0123456789"
    assert len(server.requests) == 3


def test_uploads_are_not_redirected():
    def handle(request, reply):
        reply.answer(307, {"Location": "/elsewhere"})

    with FaultServer(handle) as server:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            outcome = ask(server, "--method", method)
            assert outcome.status == 307 and outcome.location == "/elsewhere"
    assert all(request.path == "/x" for request in server.requests)


def test_where_redirects_led_is_told():
    def handle(request, reply):
        if request.path == "/x":
            reply.answer(302, {"Location": "/y?z=1"})
        else:
            reply.answer(200, {}, b"there")

    with FaultServer(handle) as server:
        outcome = ask(server)
    assert outcome.body == "there"
    assert outcome.url == server.url("/y?z=1")


def test_challenges_are_handed_over_together():
    def handle(request, reply):
        reply.head(401, [("WWW-Authenticate", "Basic realm=b"),
                         ("WWW-Authenticate", 'Bearer realm="https://auth.example"'),
                         ("Content-Length", 0)])

    with FaultServer(handle) as server:
        outcome = ask(server)
    assert outcome.status == 401
    assert outcome.www_authenticate == 'Basic realm=b, Bearer realm="https://auth.example"'


def test_ranges_are_given_as_asked_or_not_at_all():
    with FaultServer(FILE.serve) as server:
        outcome = ask(server, "--offset", 10, "--read", 20)
        assert outcome.status == 206 and outcome.length == 20
        beyond = ask(server, "--offset", 100_000, "--read", 1)
        assert beyond.error == "OUT_OF_RANGE"
    with FaultServer(lambda request, reply: FILE.serve(request, reply, ranges=False)) as server:
        assert ask(server, "--offset", 10, "--read", 20).error == "UNIMPLEMENTED"


def test_headers_with_line_breaks_are_refused():
    with FaultServer(FILE.serve) as server:
        for secret in ("--header", "X: a\r\nHost: b"), ("--bearer", "a\nb"):
            outcome = ask(server, *secret)
            assert outcome.error == "INVALID_ARGUMENT"
            assert "line break" in outcome.message
    assert not server.requests
