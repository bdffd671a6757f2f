# SPDX-License-Identifier: Apache-2.0
"""Callers that hold on to connections: silent ones, slow ones, thousands of them. Others are served
meanwhile, and at the end everything is let go of."""

import concurrent.futures
import contextlib
import socket
import time

import pytest

import http2
import volumes
from http2 import DATA, END_HEADERS, HEADERS, PREFACE, SETTINGS, frame

SOCKETS = ["controller", "node", "registration"]


@contextlib.contextmanager
def connections(subject, count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(http2.Connection(subject.socket)) for _ in range(count)]


def assert_served(subject, within_s=5):
    begin = time.monotonic()
    with http2.Connection(subject.socket, timeout_s=within_s) as wire:
        wire.open().send(http2.call(subject.probe))
        assert wire.ending() == "answered"
    assert time.monotonic() - begin < within_s


@pytest.mark.parametrize("subject", SOCKETS[:2], indirect=True)
def test_thousands_of_connections(subject):
    with connections(subject, 3000) as wires:
        assert_served(subject)
        for wire in wires[::2]:
            wire.open()
        assert_served(subject)


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_half_open(subject):
    """Those who say nothing, half a preface, half a frame, half a call, or hang up half."""
    begun = [b"", PREFACE[:10], PREFACE, PREFACE + frame(SETTINGS)[:5], PREFACE + frame(SETTINGS),
             PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, http2.head(subject.probe)),
             PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, http2.head(subject.probe)[:30]),
             PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, http2.head(subject.probe))
             + frame(DATA, 0, 1, b"\0\0\0\1\0half")]
    with connections(subject, 40 * len(begun)) as wires:
        for number, wire in enumerate(wires):
            wire.send(begun[number % len(begun)])
            if number % 3 == 0:
                wire.socket.shutdown(socket.SHUT_WR)
        assert_served(subject)


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_slow_callers(subject):
    """A byte at a time, from many at once."""
    whole = PREFACE + frame(SETTINGS) + http2.call(subject.probe)
    with connections(subject, 100) as wires:
        for at in range(len(whole)):
            for wire in wires:
                assert wire.send(whole[at:at + 1])
            if at % 40 == 0:
                assert_served(subject)
        assert {wire.ending() for wire in wires} == {"answered"}


@pytest.mark.parametrize("subject", SOCKETS, indirect=True)
def test_answers_that_nobody_reads(subject):
    with connections(subject, 20) as wires:
        for wire in wires:
            wire.open()
            wire.socket.settimeout(2)
            with contextlib.suppress(TimeoutError):
                for stream in range(1, 1001, 2):
                    wire.send(http2.call(subject.probe, stream=stream))
        assert_served(subject, 20)


def test_calls_that_are_given_up(cluster, client, emptied):
    """Whatever was begun for them is found by the next call, or gone."""
    made = volumes.create(client, "source")
    futures = [client.CreateVolume.future(**volumes.volume_request(f"v{i}", source=made.volume_id))
               for i in range(60)]
    futures += [client.CreateSnapshot.future(name=f"s{i}", source_volume_id=made.volume_id)
                for i in range(10)]
    for number, future in enumerate(futures):
        time.sleep(0.005)
        futures[number // 2].cancel()
        future.cancel()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda i: volumes.patiently(
            lambda: volumes.create(client, f"v{i}", source=made.volume_id)), range(10)))
