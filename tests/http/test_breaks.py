# SPDX-License-Identifier: Apache-2.0
"""Transfers that break: each ends with the right bytes, fetched about once, or the right error."""

import itertools

import pytest

from fault_server import FaultServer, File
from http_probe import PIECES, STREAM, probe

FILE = File()
MODES = pytest.mark.parametrize("mode", [STREAM, PIECES], ids=["stream", "pieces"])


def is_question(request):
    """The first byte, by which a source learns what there is."""
    return request.headers.get("range") == "bytes=0-0"


def breaking(end, after=None, times=None, **options):
    """A handler whose answers end early: end(reply) after so many bytes, so many times."""
    left = itertools.count()

    def handle(request, reply):
        status, headers, body = FILE.answer(request, **options)
        if is_question(request) or (times is not None and next(left) >= times):
            reply.head(status, headers)
            reply.send(body)
            return
        reply.head(status, headers)
        reply.send(body[:after if after is not None else len(body) // 2])
        end(reply)

    return handle


def check(outcome, file=FILE):
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == file.sha256


@MODES
def test_a_good_server_is_asked_for_each_byte_once(mode):
    with FaultServer(FILE.serve) as server:
        outcome = probe(server.url(), *mode)
    check(outcome)
    assert outcome.size == len(FILE.data)
    assert outcome.can_seek and outcome.can_resume
    assert outcome.identity == f'etag:"v1" size:{len(FILE.data)}'
    assert server.sent <= len(FILE.data) + 1


def test_connections_are_used_again():
    with FaultServer(FILE.serve) as server:
        check(probe(server.url(), "--chunk", 100_000, "--threads", 2))
    assert len(server.requests) == 31
    assert server.connections <= 3


@MODES
@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_dropped_connection_is_taken_up_where_it_broke(mode, how):
    with FaultServer(breaking(lambda reply: getattr(reply, how)(), after=150_000,
                              times=12)) as server:
        check(probe(server.url(), *mode))
    if how == "close":  # a reset may swallow bytes on their way
        assert server.sent <= len(FILE.data) + 1


def test_pieces_that_break_again_and_again_are_completed():
    with FaultServer(breaking(lambda reply: reply.close(), after=70_000)) as server:
        check(probe(server.url(), "--chunk", 1_000_000))
    assert server.sent <= len(FILE.data) + 1


def test_a_stream_that_breaks_again_and_again_is_completed():
    with FaultServer(breaking(lambda reply: reply.close(), after=70_000)) as server:
        check(probe(server.url(), *STREAM, "--retry-first-ms", 1))
    assert server.sent <= len(FILE.data) + 1


@MODES
def test_without_progress_it_gives_up(mode):
    with FaultServer(breaking(lambda reply: reply.close(), after=100)) as server:
        outcome = probe(server.url(), *mode, "--retries", 3)
    assert outcome.error == "UNAVAILABLE"
    assert "given up after 4 attempts" in outcome.message


@MODES
def test_a_stall_is_noticed_and_taken_up(mode):
    with FaultServer(breaking(lambda reply: reply.stall(20), after=100_000, times=1)) as server:
        outcome = probe(server.url(), *mode)
    check(outcome)
    assert 0.9 < outcome.seconds < 12


def test_a_server_that_only_stalls_is_given_up():
    with FaultServer(breaking(lambda reply: reply.stall(20), after=0)) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert outcome.error == "UNAVAILABLE"
    assert "does not send anything" in outcome.message


def test_a_server_that_never_answers_is_given_up():
    with FaultServer(lambda request, reply: reply.stall(20)) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert outcome.error == "UNAVAILABLE"
    assert outcome.seconds < 12


def trickle(request, reply):
    """Some bytes a second."""
    status, headers, body = FILE.answer(request)
    reply.head(status, headers)
    for byte in range(100):
        reply.send(body[byte:byte + 1])
        reply.stall(0.1)
    reply.close()


def test_a_slow_loris_body_is_given_up():

    def handle(request, reply):
        (FILE.serve if is_question(request) else trickle)(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert outcome.error == "UNAVAILABLE"
    assert "too slowly" in outcome.message
    assert outcome.seconds < 12


def test_slow_loris_headers_are_given_up():

    def handle(request, reply):
        reply.raw(b"HTTP/1.1 200 OK\r\n")
        for number in range(200):
            reply.raw(b"X-%d: y\r\n" % number)
            reply.stall(0.1)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 1)
    assert outcome.error == "UNAVAILABLE"
    assert outcome.seconds < 12


def test_a_slow_reader_is_not_a_stalled_server():
    file = File(size=500_000)
    with FaultServer(file.serve) as server:
        outcome = probe(server.url(), *STREAM, "--read", 400_000, "--pause", 1200)
    check(outcome, file)
    assert len(server.requests) == 2


@pytest.mark.parametrize("read", [1, 7, 1000, 16384, 16385, 3_000_000])
def test_streams_are_read_in_pieces_of_any_size(read):
    file = File(size=200_003)
    with FaultServer(file.serve) as server:
        check(probe(server.url(), *STREAM, "--read", read), file)


def test_a_stream_begins_in_the_middle():
    with FaultServer(FILE.serve) as server:
        outcome = probe(server.url(), *STREAM, "--offset", 2_999_990)
        assert outcome.bytes == 10
        at_the_end = probe(server.url(), *STREAM, "--offset", 3_000_000)
        assert at_the_end.is_good and at_the_end.bytes == 0


def test_nothing_is_a_file_too():
    file = File(size=0)

    def whole(request, reply):
        file.serve(request, reply, ranges=False)

    for handler in (file.serve, whole):
        for mode in (STREAM, PIECES):
            with FaultServer(handler) as server:
                outcome = probe(server.url(), *mode)
            if mode == STREAM:
                check(outcome, file)
            else:
                assert outcome.message == "the source cannot seek"


# Without ranges there is one way only: from the start.


def test_without_ranges_there_is_one_stream():
    with FaultServer(lambda request, reply: FILE.serve(request, reply, ranges=False)) as server:
        outcome = probe(server.url(), *STREAM)
        check(outcome)
        assert outcome.size == len(FILE.data)
        assert not outcome.can_seek and not outcome.can_resume
        refused = probe(server.url(), *STREAM, "--offset", 100)
    assert refused.error == "UNIMPLEMENTED"
    assert "sends the whole file" in refused.message


def drop_whole(*ends, file=FILE):
    """Without ranges; the first transfers after the question end after these many bytes."""
    ends = list(ends)

    def handle(request, reply):
        status, headers, body = file.answer(request, ranges=False)
        reply.head(status, headers)
        if is_question(request) or not ends:
            reply.send(body)
        else:
            reply.send(body[:ends.pop(0)])
            reply.close()

    return handle


def test_without_ranges_it_starts_over_and_passes_over_what_was_read():
    with FaultServer(drop_whole(1_000_000, 500_000, 2_500_000)) as server:
        check(probe(server.url(), *STREAM))


@pytest.mark.parametrize("etag", ['"v1"', 'W/"v1"', None], ids=["strong", "weak", "none"])
def test_without_ranges_other_bytes_at_the_start_are_noticed(etag):
    file, other = File(etag=etag), File(seed=2, etag=etag)

    def handle(request, reply):
        transfers = sum(not is_question(made) for made in server.requests)
        if transfers > 1:
            other.serve(request, reply, ranges=False)
        else:
            drop_whole(1_000_000, file=file)(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "begins with other bytes" in outcome.message


def test_chunked_bodies_are_read():

    def handle(request, reply):
        reply.head(200, {"Transfer-Encoding": "chunked", **FILE.headers()})
        for at in range(0, len(FILE.data), 100_000):
            reply.chunk(FILE.data[at:at + 100_000])
        reply.chunk(b"")

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    check(outcome)
    assert not outcome.is_size_known and not outcome.can_seek


def test_a_chunked_body_without_its_end_is_not_complete():
    ends = [False, True]  # the first is cut off

    def handle(request, reply):
        reply.head(200, {"Transfer-Encoding": "chunked", **FILE.headers()})
        for at in range(0, len(FILE.data), 1_000_000):
            reply.chunk(FILE.data[at:at + 1_000_000])
        if is_question(request) or ends.pop(0):
            reply.chunk(b"")
        reply.close()

    with FaultServer(handle) as server:
        check(probe(server.url(), *STREAM))
        assert not ends


def test_chunked_ranges_of_the_right_length_are_read():

    def handle(request, reply):
        status, headers, body = FILE.answer(request)
        del headers["Content-Length"]
        reply.head(status, {**headers, "Transfer-Encoding": "chunked"})
        reply.chunk(body)
        reply.chunk(b"")

    with FaultServer(handle) as server:
        check(probe(server.url(), *PIECES))


def test_a_file_that_ends_with_the_connection_is_no_proof():
    """It is given, and told from one that has an end of its own."""

    def handle(request, reply):
        reply.head(200)
        reply.send(FILE.data)
        reply.close()

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    check(outcome)
    assert outcome.is_end_unproven and not outcome.is_size_known
    with FaultServer(FILE.serve) as server:
        assert not probe(server.url(), *STREAM).is_end_unproven


def test_an_end_is_not_lost_on_the_way():
    """The first answer would have had one, and was cut off: another one without is not believed."""

    def handle(request, reply):
        if request.number < 2:
            reply.head(200, {"Transfer-Encoding": "chunked"})
            reply.chunk(FILE.data[:1_000_000])
            reply.reset()
        else:
            reply.head(200)
            reply.send(FILE.data)
            reply.close()

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "does not say where the file ends" in outcome.message


# Refusals that pass.


@MODES
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_refusals_that_pass_are_waited_for(mode, status):

    def handle(request, reply):
        if request.number % 2 == 0:
            reply.answer(status, {}, b"come back later")
        else:
            FILE.serve(request, reply)

    with FaultServer(handle) as server:
        check(probe(server.url(), *mode))


def test_retry_after_is_heeded():

    def handle(request, reply):
        if request.number == 0:
            reply.answer(503, {"Retry-After": "1"})
        else:
            FILE.serve(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retry-first-ms", 1)
    check(outcome)
    assert outcome.seconds >= 1


def test_nonsense_in_retry_after_is_not_heeded():
    values = ["-1", "tomorrow", "1e9", "Thu, 01 Jan 1970 00:00:00 GMT"]

    def handle(request, reply):
        if values:
            reply.answer(503, {"Retry-After": values.pop()})
        else:
            FILE.serve(request, reply)

    with FaultServer(handle) as server:
        outcome = probe(server.url(), *STREAM, "--retry-first-ms", 1)
    check(outcome)
    assert outcome.seconds < 10


def test_refusals_that_stay_are_given_up():
    with FaultServer(lambda request, reply: reply.answer(503, {}, b"out of order")) as server:
        outcome = probe(server.url(), *STREAM, "--retries", 2)
    assert outcome.error == "UNAVAILABLE"
    assert "given up after 3 attempts" in outcome.message
    assert "503: out of order" in outcome.message
    assert len(server.requests) == 3


@pytest.mark.parametrize("status, error", [(400, "INVALID_ARGUMENT"), (401, "UNAUTHENTICATED"),
                                           (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"),
                                           (410, "NOT_FOUND"), (405, "UNIMPLEMENTED"),
                                           (204, "DATA_LOSS"), (304, "UNKNOWN")])
def test_other_refusals_are_final(status, error):
    with FaultServer(lambda request, reply: reply.answer(status)) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == error
    assert len(server.requests) == 1


def test_head_is_never_needed():

    def handle(request, reply):
        if request.method == "GET":
            FILE.serve(request, reply)
        else:
            reply.answer(405)

    with FaultServer(handle) as server:
        check(probe(server.url(), *PIECES))
    assert {request.method for request in server.requests} == {"GET"}


def test_a_closed_port_is_said_so():
    with FaultServer(FILE.serve) as server:
        url = server.url()
    outcome = probe(url, *STREAM, "--retries", 1)
    assert outcome.error == "UNAVAILABLE"


def test_a_name_that_does_not_resolve_is_said_soon():
    outcome = probe("http://no-such-host.invalid/x", *STREAM, "--retries", 100)
    assert outcome.error == "UNAVAILABLE"
    assert "no-such-host.invalid" in outcome.message
    assert outcome.seconds < 30


def test_a_cancelled_transfer_ends_soon():
    with FaultServer(breaking(lambda reply: reply.stall(30), after=1000)) as server:
        outcome = probe(server.url(), *STREAM, "--stall", 60, "--cancel", 500)
    assert outcome.error == "CANCELLED"
    assert outcome.seconds < 5


def test_a_pause_before_the_next_attempt_is_cancelled_too():
    with FaultServer(breaking(lambda reply: reply.close(), after=0)) as server:
        outcome = probe(server.url(), *STREAM, "--retry-first-ms", 60000, "--cancel", 500)
    assert outcome.error == "CANCELLED"
    assert outcome.seconds < 5


# Servers that heed ranges, and then do not.


def heedless(numbers, file=FILE, other=None, ends=None):
    """The answers to these requests (by number) are the whole file, or another one; those before are right
    but break off."""

    def handle(request, reply):
        if request.number in numbers:
            (other or file).serve(request, reply, ranges=False)
            return
        status, headers, body = file.answer(request)
        reply.head(status, headers)
        reply.send(body[:ends] if ends and len(body) > 1 and request.number < numbers[0] else body)
        if ends and len(body) > 1:
            reply.close()

    return handle


@MODES
def test_ranges_that_are_not_heeded_for_a_moment(mode):
    with FaultServer(heedless(range(3, 6), ends=100_000)) as server:
        check(probe(server.url(), *mode))


def test_a_stream_goes_on_without_ranges():
    with FaultServer(heedless(range(3, 1000), ends=1_000_000)) as server:
        check(probe(server.url(), *STREAM))
    assert server.sent < 8 * len(FILE.data)


def test_pieces_do_not_go_on_without_ranges():
    with FaultServer(heedless(range(3, 1000))) as server:
        outcome = probe(server.url(), *PIECES)
    assert outcome.error == "UNAVAILABLE" and "parts before" in outcome.message


@MODES
def test_another_file_without_ranges_is_not_taken(mode):
    with FaultServer(heedless(range(3, 1000), other=File(seed=2, etag='"v2"'), ends=100_000)) as server:
        outcome = probe(server.url(), *mode)
    assert outcome.error == "FAILED_PRECONDITION" and "changed" in outcome.message


def test_a_file_without_a_version_is_not_gone_on_with():
    """Nothing would tell whether its beginning is the one that was read."""
    file = File(etag=None, modified=None)
    with FaultServer(heedless(range(3, 1000), file=file, ends=1_000_000)) as server:
        outcome = probe(server.url(), *STREAM)
    assert outcome.error == "UNIMPLEMENTED" and "whole file" in outcome.message
