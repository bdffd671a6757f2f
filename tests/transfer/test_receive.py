# SPDX-License-Identifier: Apache-2.0
"""`imprint receive`: a file that is sent stands in an image as it is, wherever it broke off."""

import subprocess
import time

import pytest

import imprint as command
from images import MIB

SIZE = 24 * MIB + 77


def sample(seed):
    """Data, zeros in between, and an end that is no multiple of anything."""
    piece = bytes((seed + i * 7) % 251 for i in range(251)) * (3 * MIB // 251 + 1)
    return (piece[:3 * MIB] + bytes(9 * MIB) + piece[:5 * MIB] + bytes(SIZE))[:SIZE - 5] + b"end.."


@pytest.fixture
def target(cluster, image):
    cluster.rbd("create", "--size", "1M", image)
    return image


def content(cluster, image):
    with cluster.image(*image.split("/"), read_only=True) as opened:
        return opened.read(0, opened.size())


def allocated(cluster, image):
    """Bytes of objects that there are."""
    used = []
    with cluster.image(*image.split("/"), read_only=True) as opened:
        opened.diff_iterate(0, opened.size(), None, lambda at, len, there: used.append(len * there))
    return sum(used)


def test_zeros_take_no_room_and_nothing_of_before_shows_through(cluster, imprint, target):
    first, second = sample(1), sample(2)
    full = b"x" * SIZE
    done = imprint.run("receive", target, "--size", SIZE, "--json", input=full)
    assert done.status == command.DONE and done.events[0]["event"] == "ready", done
    assert content(cluster, target) == full
    # anew, from the beginning: zeros too
    done = imprint.run("receive", target, "--size", SIZE, "--json", input=first)
    assert done.result["position"] == SIZE
    assert content(cluster, target) == first
    assert allocated(cluster, target) < 14 * MIB
    # another file from the middle on, and one of another size
    middle = 5 * MIB + 123
    done = imprint.run("receive", target, "--size", SIZE, "--offset", middle, "--json",
                       input=second[middle:])
    assert done.status == command.DONE, done
    assert content(cluster, target) == first[:middle] + second[middle:]
    done = imprint.run("receive", target, "--size", 1000, input=second[:1000])
    assert done.status == command.DONE and content(cluster, target) == second[:1000]
    done = imprint.run("receive", target, "--size", 10, input=b"01234567890")
    assert done.status == command.TOO_LARGE and "10 bytes" in done.stderr, done


def test_what_is_complete_has_an_identity(imprint, target):
    """By that an import from it goes on which was killed."""

    def identity():
        done = imprint.run("inspect", f"rbd:{target}", "--json")
        assert done.status == command.DONE, done
        return command.json.loads(done.stdout).get("identity")

    data = sample(4)
    assert imprint.run("receive", target, "--size", SIZE, input=data[:-1]).status == command.DONE
    assert identity() is None
    assert imprint.run("receive", target, "--size", SIZE, "--offset", SIZE - 1,
                       input=data[-1:]).status == command.DONE
    whole = identity()
    assert whole and whole == identity()
    assert imprint.run("receive", target, "--size", SIZE, input=b"").status == command.DONE
    assert identity() is None


def begin(imprint, target, data):
    """One that has got so much of SIZE, and waits for more."""
    running = imprint.start("receive", target, "--size", SIZE, "--json", stdin=subprocess.PIPE)
    running.popen.stdin.write(data)
    running.popen.stdin.flush()
    position = 0
    while position < len(data):
        line = running.popen.stdout.readline()
        assert line, running.wait()
        position = command.json.loads(line).get("position", 0)
    return running


def test_one_at_a_time_and_a_dead_one_is_not_waited_for(cluster, imprint, target):
    data = sample(3)
    running = begin(imprint, target, data[:4 * MIB])
    began = time.monotonic()
    done = imprint.run("receive", target, "--size", SIZE, input=data)
    assert done.status == command.UNREACHABLE and "is open for the Ceph client" in done.stderr, done
    assert time.monotonic() - began < 10
    running.kill()
    began = time.monotonic()
    done = imprint.run("receive", target, "--size", SIZE, "--offset", 4 * MIB, input=data[4 * MIB:])
    assert done.status == command.DONE, done
    assert time.monotonic() - began < 15, "it was on this machine, and is known to be dead"
    assert content(cluster, target) == data
