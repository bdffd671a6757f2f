# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, so that tests can send what no library would: frames as bytes, on a unix socket.

    with http2.Connection("/run/csi.sock") as wire:
        wire.open()
        wire.send(http2.frame(http2.PING, payload=b"too short"))
        assert wire.ending() is not None
"""

import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)

ACK = END_STREAM = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """`length` is what the frame claims, when that is not the truth."""
    claimed = len(payload) if length is None else length
    return struct.pack(">I", claimed)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def prefixed(number, bits):
    """An integer as HPACK has it, in the low `bits` of its first byte."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([number])
    out, number = [most], number - most
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(name, value):
    """A header field, neither compressed nor remembered."""
    return b"\x00" + b"".join(prefixed(len(word), 7) + word for word in (name, value))


def head(path, *more):
    """The header block of a gRPC call; `more` are further fields."""
    return b"".join(field(*pair) for pair in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()),
        (b":authority", b"localhost"), (b"content-type", b"application/grpc"), (b"te", b"trailers"),
        *more))


def message(data, compressed=0, length=None):
    """A gRPC message with its five bytes in front."""
    return struct.pack(">BI", compressed, len(data) if length is None else length) + data


def call(path, data=b"", stream=1, flags=END_STREAM, more=()):
    """A whole call: its headers and one message."""
    return (frame(HEADERS, END_HEADERS, stream, head(path, *more))
            + frame(DATA, flags, stream, message(data)))


class Connection:

    def __init__(self, path, timeout_s=20):
        self.timeout_s = timeout_s
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)
        self.is_closed = False

    def open(self):
        """What a polite client begins with."""
        self.send(PREFACE + frame(SETTINGS))
        return self

    def send(self, data):
        """False when the other side has hung up; that is an answer, too."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.is_closed = True
        return not self.is_closed

    def _read(self, count):
        data = b""
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                self.is_closed = True
                return None
            data += more
        return data

    def read_frame(self):
        """(kind, flags, stream, payload), or None when the connection was closed."""
        start = self._read(9)
        if start is None:
            return None
        kind, flags, stream = struct.unpack(">BBI", start[3:])
        payload = self._read(int.from_bytes(start[:3], "big"))
        return None if payload is None else (kind, flags, stream & 0x7fffffff, payload)

    def ending(self):
        """How the other side ended it: "closed", "goaway", "reset", "answered" (a call has its status).
        None when it did not within the time."""
        deadline = time.monotonic() + self.timeout_s
        while time.monotonic() < deadline:
            try:
                got = self.read_frame()
            except TimeoutError:
                return None
            if got is None:
                return "closed"
            kind, flags, _, _ = got
            if kind == GOAWAY:
                return "goaway"
            if kind == RST_STREAM:
                return "reset"
            if kind == HEADERS and flags & END_STREAM:
                return "answered"
        return None

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
