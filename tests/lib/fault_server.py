# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on raw sockets that misbehaves as a test says.

    def drop_half(request, reply):
        status, headers, body = FILE.answer(request)
        reply.head(status, headers)
        reply.send(body[:len(body) // 2])
        reply.reset()

    with FaultServer(drop_half) as server:
        probe(server.url("/disk.img"))
        assert server.requests[0].method == "GET"

The handler is called for each request, in a thread a connection; what it raises ends the connection
and, unless the client went away, fails the test when the server is left. Everything is bounded:
connections, the time each may take, the size of a request.
"""

import contextlib
import hashlib
import random
import socket
import ssl
import struct
import threading
import time

CONNECTIONS_MAX = 200
CONNECTION_S = 60
HEAD_MAX = 64 << 10
BODY_MAX = 64 << 20


class Request:
    """method, target, headers (names in lower case), body, and its number among all, from 0."""

    def __init__(self, head, number):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        self.path = self.target.partition("?")[0]
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self.number = number
        self.body = b""

    def range(self, size):
        """(first, last) of its Range header, None without one."""
        value = self.headers.get("range")
        if value is None:
            return None
        first, _, last = value.removeprefix("bytes=").partition("-")
        return int(first), min(int(last), size - 1) if last else size - 1


class Reply:
    """What a handler sends with. It counts bytes of bodies in the server's `sent`."""

    def __init__(self, server, connection):
        self.server = server
        self.connection = connection
        self.is_closed = False

    def raw(self, data):
        self.connection.sendall(data)

    def head(self, status, headers=()):
        """headers: a dict or pairs; Connection and the like are not added."""
        pairs = headers.items() if isinstance(headers, dict) else headers
        lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in pairs)]
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, data):
        self.server.count(len(data))
        self.raw(data)

    def chunk(self, data):
        """A chunk of a chunked body; an empty one is the last."""
        self.server.count(len(data))
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def answer(self, status, headers=(), body=b""):
        headers = dict(headers)
        headers.setdefault("Content-Length", len(body))
        self.head(status, headers)
        self.send(body)

    def close(self):
        """Ends the connection in order, after what was sent."""
        self.is_closed = True

    def reset(self):
        """Ends it with a reset: what is still in flight may be lost."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.is_closed = True

    def stall(self, seconds):
        """Does nothing for so long, or until the server is stopped."""
        self.server.stopped.wait(seconds)


class FaultServer:

    connections_max = CONNECTIONS_MAX  # in all

    def __init__(self, handler, tls=None, bind=None, on_head=None):
        """tls: (certificate file, key file). bind: makes the socket, in another network. on_head is
        called before the body is read; it may send 100, or answer and return True."""
        self.handler = handler
        self.on_head = on_head
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        self.listener = bind() if bind else socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address, self.port = self.listener.getsockname()[:2]
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.requests = []
        self.sent = 0
        self.connections = 0
        self.failures = []
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def url(self, path="/disk.img", host=None):
        scheme = "https" if self.context else "http"
        return f"{scheme}://{host or self.address}:{self.port}{path}"

    def count(self, size):
        with self.lock:
            self.sent += size

    def _accept(self):
        while self.connections < self.connections_max:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # stopped
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection, ), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection):
        deadline = time.monotonic() + CONNECTION_S
        connection.settimeout(CONNECTION_S)
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                while not self.stopped.is_set() and time.monotonic() < deadline:
                    if not self._serve_one(connection, stream):
                        return
        except (ConnectionError, TimeoutError, ssl.SSLError, OSError):
            pass  # the client went away
        except Exception as failure:  # a mistake of the test's
            self.failures.append(failure)

    def _serve_one(self, connection, stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline(HEAD_MAX)
            if not line or len(head) > HEAD_MAX:
                return False
            head += line
        with self.lock:
            request = Request(head[:-4], len(self.requests))
            self.requests.append(request)
        reply = Reply(self, connection)
        if self.on_head and self.on_head(request, reply):
            return not reply.is_closed
        length = int(request.headers.get("content-length", 0))
        assert length <= BODY_MAX
        request.body = stream.read(length)
        self.handler(request, reply)
        return not reply.is_closed

    def stop(self):
        self.stopped.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes up who accepts
        for thread in self.threads:
            thread.join(10)
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if self.failures and kind is None:
            raise self.failures[0]


class File:
    """A file of random bytes, and the right answers to questions for it."""

    def __init__(self,
                 size=3_000_000,
                 seed=1,
                 etag='"v1"',
                 modified="Sun, 09 Sep 2001 01:46:40 GMT"):
        self.data = random.Random(seed).randbytes(size)
        self.etag = etag
        self.modified = modified

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()

    def headers(self):
        headers = {"Accept-Ranges": "bytes"}
        if self.etag:
            headers["ETag"] = self.etag
        if self.modified:
            headers["Last-Modified"] = self.modified
        return headers

    def answer(self, request, ranges=True):
        """(status, headers, body) as a good server gives them."""
        headers = self.headers()
        size = len(self.data)
        if "if-match" in request.headers and request.headers["if-match"] != self.etag:
            return 412, {"Content-Length": 0}, b""
        if not ranges:
            del headers["Accept-Ranges"]
        part = request.range(size) if ranges else None
        if part is None:
            return 200, {**headers, "Content-Length": size}, self.data
        first, last = part
        if first >= size:
            return 416, {**headers, "Content-Range": f"bytes */{size}", "Content-Length": 0}, b""
        body = self.data[first:last + 1]
        return 206, {
            **headers, "Content-Range": f"bytes {first}-{last}/{size}",
            "Content-Length": len(body)
        }, body

    def serve(self, request, reply, **options):
        """The handler of a good server."""
        status, headers, body = self.answer(request, **options)
        reply.head(status, headers)
        if request.method != "HEAD":
            reply.send(body)
