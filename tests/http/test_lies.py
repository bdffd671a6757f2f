# SPDX-License-Identifier: Apache-2.0
"""Servers that say one thing and send another: nothing wrong is ever taken for the file."""

import gzip

import pytest

from fault_server import FaultServer, File
from http_probe import PIECES, STREAM, probe

FILE = File()
MODES = pytest.mark.parametrize("mode", [STREAM, PIECES], ids=["stream", "pieces"])


def is_question(request):
    return request.headers.get("range") == "bytes=0-0"


def twisted(twist, always=False):
    """A handler whose answers, but for the one to the first question, go through twist()."""

    def handle(request, reply):
        answer = FILE.answer(request)
        status, headers, body = answer if is_question(request) and not always else twist(*answer)
        reply.head(status, headers)
        reply.send(body)
        reply.close()

    return handle


def replaced(name, value):
    """A twist: one header is another."""
    return lambda status, headers, body: (status, {**headers, name: value}, body)


def lie(mode, twist, **options):
    with FaultServer(twisted(twist, **options)) as server:
        return probe(server.url(), *mode, "--retries", 2)


@MODES
@pytest.mark.parametrize("value", [
    "bytes 1-100/3000000", "bytes 0-99/3000000", "bytes 0-99/*", "bytes */3000000", "nonsense",
    "bytes 0-18446744073709551616/18446744073709551617", "bytes 5-4/3000000"
])
def test_a_wrong_content_range_is_data_loss(mode, value):
    outcome = lie(mode, replaced("Content-Range", value))
    assert outcome.error == "DATA_LOSS"
    assert "cannot be right" in outcome.message


def without_total(request, reply, file=FILE):
    """As RFC 9110 allows it: a part, and not how much there is."""
    status, headers, body = file.answer(request)
    if status == 206:
        headers["Content-Range"] = headers["Content-Range"].partition("/")[0] + "/*"
    reply.head(status, headers)
    reply.send(body)


def test_a_server_need_not_say_of_how_much_it_sends_a_part():
    """It is asked for the whole, which has an end."""
    with FaultServer(without_total) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.is_good and outcome.sha256 == FILE.sha256
    assert outcome.size == len(FILE.data) and not outcome.can_seek
    assert len(server.requests) == 3


@MODES
def test_who_has_said_it_once_need_not_say_it_again(mode):

    def handle(request, reply):
        (FILE.serve if request.number == 0 else without_total)(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *mode)
    assert outcome.is_good and outcome.sha256 == FILE.sha256


def test_who_never_says_where_the_file_ends_is_refused():

    def handle(request, reply):
        reply.head(206, {"Content-Range": "bytes 0-99/*", "Content-Length": 100})
        reply.send(FILE.data[:100])

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "DATA_LOSS"
    assert len(outcome.message) < 200 and "18446744073709551" not in outcome.message


@MODES
def test_a_shifted_range_is_data_loss(mode):

    def twist(status, headers, body):
        first, last = headers["Content-Range"].split()[1].split("/")[0].split("-")
        headers["Content-Range"] = f"bytes {int(first) + 1}-{last}/{len(FILE.data)}"
        return status, {**headers, "Content-Length": len(body) - 1}, body[1:]

    assert lie(mode, twist).error == "DATA_LOSS"


@MODES
def test_a_missing_content_range_is_data_loss(mode):

    def twist(status, headers, body):
        del headers["Content-Range"]
        return status, headers, body

    outcome = lie(mode, twist)
    assert outcome.error == "DATA_LOSS"
    assert "without Content-Range" in outcome.message


def test_several_ranges_in_one_answer_are_data_loss():

    def twist(status, headers, body):
        del headers["Content-Range"]
        return status, {**headers, "Content-Type": "multipart/byteranges; boundary=x"}, body

    assert lie(PIECES, twist).error == "DATA_LOSS"


@MODES
def test_less_than_was_said_is_asked_for_again_and_given_up(mode):
    outcome = lie(mode, lambda status, headers, body: (status, headers, body[:1000]))
    assert outcome.error == "UNAVAILABLE"


@MODES
def test_a_length_that_contradicts_the_range_is_data_loss(mode):
    for difference in (-1, 1):

        def twist(status, headers, body):
            return status, {**headers, "Content-Length": len(body) + difference}, body

        outcome = lie(mode, twist)
        assert outcome.error == "DATA_LOSS"
        assert "do not agree" in outcome.message


@MODES
def test_more_than_was_said_is_not_read(mode):
    outcome = lie(mode, lambda status, headers, body: (status, headers, body + b"more" * 1000))
    assert outcome.is_good and outcome.sha256 == FILE.sha256


@pytest.mark.parametrize("difference", [-1, 1])
def test_chunks_that_contradict_the_range_are_not_taken(difference):

    def handle(request, reply):
        status, headers, body = FILE.answer(request)
        del headers["Content-Length"]
        reply.head(status, {**headers, "Transfer-Encoding": "chunked"})
        wrong = body if is_question(request) else body[:-1] if difference < 0 else body + b"x"
        reply.chunk(wrong)
        reply.chunk(b"")

    for mode in (STREAM, PIECES):
        with FaultServer(handle) as server:
            outcome = probe(server.url(), *mode, "--retries", 1)
        # the byte that is missing is asked for again, and missing again
        assert outcome.error == ("DATA_LOSS" if difference > 0 else "UNAVAILABLE")


@pytest.mark.parametrize("length", ["-1", "x", "18446744073709551616", "99999999999999999999", ""])
def test_a_malformed_length_is_not_taken(length):
    for mode in (STREAM, PIECES):
        outcome = lie(mode, replaced("Content-Length", length))
        assert not outcome.is_good
        assert outcome.error in ("DATA_LOSS", "UNAVAILABLE")


def test_two_lengths_are_not_taken():

    def handle(request, reply):
        status, headers, body = FILE.answer(request)
        reply.head(status, [*headers.items(), ("Content-Length", len(body) + 1)])
        reply.send(body)
        reply.close()

    with FaultServer(handle) as server:
        assert probe(server.url(), *STREAM, "--retries", 1).error in ("DATA_LOSS", "UNAVAILABLE")


# Versions.


def changing(first, second, after_requests):
    """Serves the first file, then, from so many requests on, the second; If-Match is ignored."""

    def handle(request, reply):
        file = first if request.number < after_requests else second
        request.headers.pop("if-match", None)
        file.serve(request, reply)
        reply.close()

    return handle


@pytest.mark.parametrize(
    "first, second, what", [
        (File(), File(seed=2, etag='"v2"'), "ETag"),
        (File(), File(seed=2, etag=None), "ETag"),
        (File(), File(seed=2, size=3_000_001), "size"),
        (File(etag='W/"v1"'), File(etag='W/"v2"', seed=2), "ETag"),
        (File(etag='W/"v1"'), File(etag='W/"v1"', seed=2,
                                   modified="Sun, 09 Sep 2001 01:46:41 GMT"), "Last-Modified"),
        (File(etag="unquoted"), File(etag="other", seed=2), "ETag"),
        (File(etag=None), File(etag=None, seed=2,
                               modified="Sun, 09 Sep 2001 01:46:41 GMT"), "Last-Modified"),
        (File(etag=None, modified=None), File(etag=None, modified=None, seed=2,
                                              size=3_000_001), "size"),
    ],
    ids=["etag", "etag-gone", "size", "weak", "weak-same", "unquoted", "time", "size-only"])
def test_a_file_that_changes_between_two_pieces_fails(first, second, what):
    with FaultServer(changing(first, second, after_requests=5)) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "changed while it was read" in outcome.message
    assert f"its {what} was" in outcome.message


def test_a_file_that_changes_while_a_stream_is_broken_fails():
    other = File(seed=2, etag='"v2"')

    def handle(request, reply):
        if request.number < 2:
            status, headers, body = FILE.answer(request)
            reply.head(status, headers)
            reply.send(body[:1_000_000])
            reply.close()
        else:
            other.serve(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "412 (the file has changed)" in outcome.message
    assert server.requests[2].headers["if-match"] == '"v1"'


def test_weak_etags_are_not_sent_but_times_are():
    file = File(etag='W/"v1"')
    with FaultServer(file.serve) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.sha256 == file.sha256
    assert outcome.identity == f"modified:{file.modified} size:{len(file.data)}"
    for request in server.requests[1:]:
        assert "if-match" not in request.headers
        assert request.headers["if-unmodified-since"] == file.modified


def test_without_any_version_there_is_no_identity():
    file = File(etag=None, modified=None)
    with FaultServer(file.serve) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.sha256 == file.sha256
    assert outcome.identity is None


# Encodings.


def test_encoded_parts_are_refused():

    def twist(status, headers, body):
        return status, {**headers, "Content-Encoding": "gzip"}, body

    outcome = lie(PIECES, twist)
    assert outcome.error == "DATA_LOSS"
    assert "Content-Encoding" in outcome.message


@MODES
@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "zstd", "aws-chunked", "aws-chunked,gzip"])
def test_what_is_stored_with_an_encoding_is_a_file(mode, encoding):
    """As stores do that keep what an upload said, and Apache for files that end with .gz."""
    outcome = lie(mode, replaced("Content-Encoding", encoding), always=True)
    assert outcome.sha256 == FILE.sha256
    assert outcome.can_seek and outcome.identity


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, br"])
@pytest.mark.parametrize("status", [200, 206])
def test_an_encoding_that_cannot_be_undone_is_refused(status, encoding):
    """It would be taken for the disk."""

    def handle(request, reply):
        _, headers, body = FILE.answer(request, ranges=status == 206)
        reply.answer(status, {**headers, "Content-Encoding": encoding}, body)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION" and f"'{encoding}'" in outcome.message


def test_nobody_asks_for_an_encoding():
    with FaultServer(FILE.serve) as server:
        probe(server.url(), *PIECES)
    assert all(request.headers["accept-encoding"] == "identity" for request in server.requests)


def test_an_encoded_whole_is_handed_on_as_it_came():
    packed = gzip.compress(FILE.data, 1)

    def handle(request, reply):
        reply.answer(200, {**FILE.headers(), "Content-Encoding": "gzip"}, packed)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.is_good
    assert outcome.bytes == len(packed)
    assert not outcome.can_seek and not outcome.is_size_known and outcome.identity is None


# Heads.


def test_huge_headers_are_not_kept():

    def handle(request, reply):
        status, headers, body = FILE.answer(request)
        reply.head(status, {**headers, **{f"X-{number}": "y" * 8000 for number in range(20)}})
        reply.send(body)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "DATA_LOSS"
    assert "too many headers" in outcome.message


def test_one_endless_header_is_not_kept():

    def handle(request, reply):
        reply.raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2_000_000)
        reply.close()

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert outcome.error == "DATA_LOSS"


def test_interim_answers_are_passed_over():

    def handle(request, reply):
        reply.raw(
            b"HTTP/1.1 103 Early Hints\r\nETag: \"wrong\"\r\nContent-Range: bytes 5-6/7\r\n\r\n")
        FILE.serve(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.sha256 == FILE.sha256


def test_endless_interim_answers_are_given_up():

    def handle(request, reply):
        while not reply.server.stopped.is_set():
            reply.raw(b"HTTP/1.1 102 Processing\r\n\r\n")
            reply.stall(0.05)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert not outcome.is_good
    assert outcome.seconds < 15


@pytest.mark.parametrize("garbage", [
    b"", b"\0" * 1000, b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n",
    b"<html>", b"HTTP/1.1 200 OK\r\nA\0B: c\r\n\r\n"
],
                         ids=["nothing", "zeros", "ssh", "status", "version", "html", "nul"])
def test_what_is_not_http_is_an_error(garbage):

    def handle(request, reply):
        reply.raw(garbage)
        reply.close()

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert not outcome.is_good


def test_the_body_of_a_refusal_is_bounded_and_harmless():

    def handle(request, reply):
        reply.head(403, {"Content-Length": 1 << 40})
        while not reply.server.stopped.is_set():
            reply.send(b"\x1b[31mno\n" * 10000)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "PERMISSION_DENIED"
    assert "\x1b" not in outcome.message and "\n" not in outcome.message
    assert len(outcome.message) < 500
