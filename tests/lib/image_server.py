# SPDX-License-Identifier: Apache-2.0
"""A web server with one image, that is slow, breaks, lies, or counts what it has given.

    served = ImageFile(path)
    with FaultServer(spoiled(served, drop_half, first=5)) as server: ...
    with FaultServer(paced(served, bytes_a_second=20 << 20)) as server: ...
"""

import threading
import time

from fault_server import File


class ImageFile(File):
    """The right answers for a file on disk."""

    def __init__(self, path, etag='"v1"', modified="Sun, 09 Sep 2001 01:46:40 GMT"):
        with open(path, "rb") as file:
            self.data = file.read()
        self.etag = etag
        self.modified = modified


def spoiled(file, spoil, first=None, every=1, ranges=True):
    """Of the requests for data, each `every`-th of the `first` ones is answered by spoil(request, reply,
    status, headers, body); all others rightly."""
    lock = threading.Lock()
    seen = [0]

    def handle(request, reply):
        status, headers, body = file.answer(request, ranges=ranges)
        with lock:
            seen[0] += 1
            number = seen[0]
        is_good = (first is not None and number > first) or number % every
        if request.method == "HEAD" or len(body) < 1 << 16 or is_good:
            reply.head(status, headers)
            if request.method != "HEAD":
                reply.send(body)
            return
        spoil(request, reply, status, headers, body)

    return handle


def paced(file, bytes_a_second, ranges=True):
    """All connections together get so much; reply.server.sent counts it."""
    lock = threading.Lock()
    state = {"at": time.monotonic()}

    def wait_for(size):
        with lock:
            now = time.monotonic()
            state["at"] = max(state["at"], now) + size / bytes_a_second
            until = state["at"]
        time.sleep(max(0, until - now))

    def handle(request, reply):
        status, headers, body = file.answer(request, ranges=ranges)
        reply.head(status, headers)
        if request.method == "HEAD":
            return
        for at in range(0, len(body), 1 << 16):
            piece = body[at:at + (1 << 16)]
            wait_for(len(piece))
            reply.send(piece)

    return handle


# What may go wrong with an answer.


def drop_half(request, reply, status, headers, body):
    reply.head(status, headers)
    reply.send(body[:len(body) // 2])
    reply.reset()


def close_early(request, reply, status, headers, body):
    """In order, as if that were all."""
    reply.head(status, headers)
    reply.send(body[:len(body) // 3])
    reply.close()


def stall(request, reply, status, headers, body):
    reply.head(status, headers)
    reply.send(body[:10_000])
    reply.stall(40)
    reply.close()


def slow_loris(request, reply, status, headers, body):
    """A byte now and then: never silent, and never done."""
    reply.head(status, headers)
    for at in range(min(len(body), 1000)):
        if reply.server.stopped.wait(0.1):
            break
        reply.send(body[at:at + 1])
    reply.close()


def busy(status):
    return lambda request, reply, *_: reply.answer(status, {"Retry-After": "0"}, b"busy")


def wrong_range(request, reply, status, headers, body):
    """Other bytes than were asked for, and it says so."""
    if status == 206:
        first, _, total = headers["Content-Range"].removeprefix("bytes ").partition("/")
        begin, _, end = first.partition("-")
        headers = {**headers, "Content-Range": f"bytes {int(begin) + 1}-{int(end) + 1}/{total}"}
    reply.head(status, headers)
    reply.send(body)


def other_total(request, reply, status, headers, body):
    if status == 206:
        span = headers["Content-Range"].partition("/")[0]
        headers = {**headers, "Content-Range": f"{span}/{10 ** 12}"}
    else:
        headers = {**headers, "Content-Length": 10**12}
    reply.head(status, headers)
    reply.send(body)
    reply.close()


def other_length(request, reply, status, headers, body):
    """Content-Length and Content-Range contradict each other."""
    reply.head(status, {**headers, "Content-Length": len(body) - 1})
    reply.send(body)
    reply.close()


def other_etag(request, reply, status, headers, body):
    """The file was replaced: a server that does not look at If-Match."""
    reply.head(status, {**headers, "ETag": '"v2"'})
    reply.send(body)


def whole_file(request, reply, status, headers, body):
    """The whole file where a part was asked for."""
    reply.head(200, {"ETag": headers["ETag"], "Content-Length": 3})
    reply.send(b"abc")
