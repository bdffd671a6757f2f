# SPDX-License-Identifier: Apache-2.0
"""Bytes on the socket that are no HTTP/2, or no gRPC: the connection ends, or the call gets its
status, and nobody else notices."""

import functools
import gzip
import os
import random
import struct

import pytest

import http2
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PREFACE,
                   PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, WITH_PRIORITY, frame)

SOCKETS = ["controller", "node", "registration"]
PLUGINS = ["controller", "node"]
PROBE = "/csi.v1.Identity/Probe"

NOT_HTTP2 = {
    "one byte": b"x",
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(500),
    "zeros": bytes(100000),
    "preface, then noise": PREFACE + random.Random(1).randbytes(5000),
    "preface, then text": PREFACE + b"hello\r\n" * 100,
    "first frame is not SETTINGS": PREFACE + frame(PING, payload=bytes(8)),
    "frame of 16 MiB claimed": PREFACE + frame(SETTINGS, length=0xffffff),
}

HEAD = http2.head(PROBE)

# Each of these follows an opening as it should be.
BAD_FRAMES = {
    "SETTINGS of 5 bytes": frame(SETTINGS, payload=bytes(5)),
    "SETTINGS on a stream": frame(SETTINGS, stream=1),
    "SETTINGS that are out of range": frame(SETTINGS, payload=struct.pack(">HI", 4, 0xffffffff)),
    "SETTINGS ACK with a payload": frame(SETTINGS, http2.ACK, payload=bytes(6)),
    "PING of 7 bytes": frame(PING, payload=bytes(7)),
    "DATA on stream 0": frame(DATA, payload=b"x"),
    "DATA larger than allowed": frame(DATA, 0, 1, bytes(1 << 20)),
    "HEADERS on stream 0": frame(HEADERS, END_HEADERS, 0, HEAD),
    "HEADERS that are no HPACK": frame(HEADERS, END_HEADERS, 1, b"\xff" * 200),
    "HEADERS with an index of 2^63": frame(HEADERS, END_HEADERS, 1, b"\xff" + b"\xff" * 9 + b"\x7f"),
    "HEADERS with a string longer than themselves": frame(HEADERS, END_HEADERS, 1, b"\x00\x7f\xff\x7fab"),
    "HEADERS with a table of 4 GiB": frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\xff\xff\xff\x0f" + HEAD),
    "HEADERS padded beyond their end": frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + HEAD),
    "HEADERS with a priority cut off": frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, b"\0\0"),
    "CONTINUATION of nothing": frame(CONTINUATION, END_HEADERS, 1, HEAD),
    "PING amid HEADERS": frame(HEADERS, 0, 1, HEAD[:20]) + frame(PING, payload=bytes(8)),
    "CONTINUATION of another stream": frame(HEADERS, 0, 1, HEAD[:20])
                                      + frame(CONTINUATION, END_HEADERS, 3, HEAD[20:]),
    "WINDOW_UPDATE of 0": frame(WINDOW_UPDATE, payload=bytes(4)),
    "WINDOW_UPDATE beyond 2^31": frame(WINDOW_UPDATE, payload=b"\x7f\xff\xff\xff") * 3,
    "WINDOW_UPDATE of 3 bytes": frame(WINDOW_UPDATE, payload=bytes(3)),
    "RST_STREAM of 3 bytes": frame(RST_STREAM, 0, 1, bytes(3)),
    "RST_STREAM of nothing": frame(RST_STREAM, 0, 99, bytes(4)),
    "PRIORITY of itself": frame(PRIORITY, 0, 1, struct.pack(">IB", 1, 0)),
    "PRIORITY of 4 bytes": frame(PRIORITY, 0, 1, bytes(4)),
    "PUSH_PROMISE by a client": frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + HEAD),
    "GOAWAY of 3 bytes": frame(GOAWAY, payload=bytes(3)),
    "a kind that nobody knows": frame(0x7f, 0xff, 0x7fffffff, os.urandom(100)),
    "an even stream": frame(HEADERS, END_HEADERS, 2, HEAD),
}

# Calls whose gRPC part lies: what the path asks for is there, so they must get an answer.
BAD_CALLS = {
    "message shorter than it says": frame(DATA, END_STREAM, 1, http2.message(b"ab", length=100)),
    "message of 4 GiB claimed": frame(DATA, END_STREAM, 1, http2.message(b"ab", length=0xffffffff)),
    "flag of compression that is none": frame(DATA, END_STREAM, 1, http2.message(b"ab", compressed=7)),
    "compressed with nothing that was named": frame(DATA, END_STREAM, 1, http2.message(b"ab", 1)),
    "four bytes": frame(DATA, END_STREAM, 1, bytes(4)),
    "no message": frame(DATA, END_STREAM, 1),
    "two messages": frame(DATA, END_STREAM, 1, http2.message(b"") * 2),
}

BAD_HEADS = {
    "no path": b"".join(http2.field(*pair) for pair in ((b":method", b"POST"), (b":scheme", b"http"))),
    "GET": HEAD.replace(b"POST", b"GETT"),
    "a path of 60 KiB": http2.head("/" + "x" * 60000),
    "a path that is not UTF-8": HEAD.replace(b"/Probe", b"/\xff\xfe\x00\x01\n"),
    "a header of 100 KiB": http2.head(PROBE, (b"x-y", b"z" * 100000)),
    "2000 headers": http2.head(PROBE, *((b"x-%d" % i, b"z") for i in range(2000))),
    "a deadline that is none": http2.head(PROBE, (b"grpc-timeout", b"99999999999999999999H")),
    "a deadline below zero": http2.head(PROBE, (b"grpc-timeout", b"-1S")),
    "an encoding that is none": http2.head(PROBE, (b"grpc-encoding", b"\xff\xff")),
    "another content type": HEAD.replace(b"application/grpc", b"application/json"),
}


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_not_http2(subject):
    for what, data in NOT_HTTP2.items():
        with http2.Connection(subject.socket) as wire:
            wire.send(data)
            if len(data) > 24:  # less may be the beginning of something
                assert wire.ending() in ("closed", "goaway"), what
    answers(subject)


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_bad_frames(subject):
    """The connection ends, or only that frame was without effect: a call behind it says which."""
    for what, data in BAD_FRAMES.items():
        with http2.Connection(subject.socket) as wire:
            wire.open().send(data)
            wire.send(http2.call(subject.probe, stream=5))
            assert wire.ending() is not None, what
    answers(subject)


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_bad_calls(subject):
    for what, data in BAD_CALLS.items():
        with http2.Connection(subject.socket) as wire:
            wire.open().send(frame(HEADERS, END_HEADERS, 1, http2.head(subject.probe)) + data)
            assert wire.ending() in ("answered", "reset"), what
    for what, block in BAD_HEADS.items():
        with http2.Connection(subject.socket) as wire:
            wire.open().send(in_pieces(block) + frame(DATA, END_STREAM, 1, http2.message(b"")))
            assert wire.ending() is not None, what
    answers(subject)


def in_pieces(block, piece=16000):
    """Headers and as many continuations as they need."""
    first, rest = block[:piece], block[piece:]
    frames = [frame(HEADERS, 0 if rest else END_HEADERS, 1, first)]
    while rest:
        part, rest = rest[:piece], rest[piece:]
        frames.append(frame(CONTINUATION, 0 if rest else END_HEADERS, 1, part))
    return b"".join(frames)


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_continuation_without_end(subject):
    with http2.Connection(subject.socket) as wire:
        wire.open().send(frame(HEADERS, 0, 1, HEAD))
        piece = frame(CONTINUATION, 0, 1, http2.field(b"x", b"y" * 16000))
        sent = 0
        while sent < 64 << 20 and wire.send(piece * 16):
            sent += len(piece) * 16
        answers(subject)


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_begun_and_taken_back(subject):
    """Calls that are reset at once, as fast as they can be sent."""
    with http2.Connection(subject.socket) as wire:
        wire.open()
        for stream in range(1, 20001, 2):
            if not wire.send(frame(HEADERS, END_HEADERS, stream, http2.head(subject.probe))
                             + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))):
                break
    answers(subject)


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_floods_of_control_frames(subject):
    """Each asks for an answer that is never read."""
    for kind, payload in ((PING, bytes(8)), (SETTINGS, b"")):
        with http2.Connection(subject.socket, timeout_s=3) as wire:
            wire.open()
            try:
                for _ in range(80):
                    if not wire.send(frame(kind, payload=payload) * 1000):
                        break
            except TimeoutError:
                pass  # it takes no more, which is as good
            answers(subject)


@functools.lru_cache
def compressed_zeros(mebibytes):
    return gzip.compress(bytes(mebibytes << 20), compresslevel=5)


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_compressed_bomb(subject):
    """A thousandth of what it unpacks to: it must not be unpacked."""
    before = subject.process.status_field("VmHWM")
    bomb = compressed_zeros(400)
    assert len(bomb) < 1 << 20
    with http2.Connection(subject.socket) as wire:
        wire.open().send(frame(HEADERS, END_HEADERS, 1,
                               http2.head(subject.probe, (b"grpc-encoding", b"gzip"))))
        data = http2.message(bomb, compressed=1)
        while data and wire.send(frame(DATA, 0 if data[16000:] else END_STREAM, 1, data[:16000])):
            data = data[16000:]
        assert wire.ending() in ("answered", "reset", "goaway")
    answers(subject)
    assert subject.process.status_field("VmHWM") - before < 100 << 10


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_noise(subject):
    """Good frames with bytes changed, by chance that is the same each time."""
    dice = random.Random(3)
    good = PREFACE + frame(SETTINGS) + http2.call(subject.probe) + http2.call(subject.probe, b"\x0a\x01x", 3)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(dice.randint(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with http2.Connection(subject.socket) as wire:
            wire.send(bytes(data[:dice.randint(10, len(data))]))
    answers(subject)


def answers(subject):
    """A call as it should be gets its answer at once."""
    with http2.Connection(subject.socket, timeout_s=10) as wire:
        wire.open().send(http2.call(subject.probe))
        assert wire.ending() == "answered"
