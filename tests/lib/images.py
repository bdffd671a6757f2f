# SPDX-License-Identifier: Apache-2.0
"""Image files made by qemu-img and qemu-io, and read by the populator's own readers."""

import os
import random
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
# Every way to read a qcow2 file: anywhere, or once; with restarts in between; with a window so
# small that what does not come in order goes through the spool.
WAYS = {
    "map": ["map"],
    "map-small-chunks": ["map", "--chunk", "2097152", "--threads", "3"],
    "stream": ["stream"],
    "stream-restarted": ["stream", "--save-every", "300000", "--piece", "77777"],
    "stream-spooled": ["stream", "--window", "2000"],
}


class Refused(Exception):
    """The reader said no; the message is what it said."""


def run(*command):
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ).stdout


def qemu_img(*arguments):
    return run("qemu-img", *map(str, arguments))


def qemu_io(image, *commands, options=()):
    words = [word for command in commands for word in ("-c", command)]
    return run("qemu-io", *options, *words, str(image))


def read(way, image, out=None, *options):
    """Runs format_probe; returns what it says as a dictionary, or raises Refused."""
    preset = os.environ.get("PRESET", "release")
    program = os.path.join(ROOT, "build", preset, "tests", "format", "format_probe")
    command = [program, *way, str(image), *([str(out)] if out else []), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1 and done.stderr.count("\n") == 1:
        raise Refused(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    words = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: int(value) if value.isdigit() else value for name, _, value in words}


def same(a, b):
    """Whether two files have the same bytes; sparse parts are not read."""
    return os.path.getsize(a) == os.path.getsize(b) and (
        subprocess.run(["cmp", "-s", str(a), str(b)], check=False).returncode == 0
    )


def fill(path, size, pieces=40, seed=1):
    """A sparse raw disk with data of every kind in it, some of it in its very last bytes."""
    chance = random.Random(seed)
    lengths = [1, 511, 512, 4096, 65536, 300000]
    with open(path, "wb") as file:
        file.truncate(size)
        for _ in range(pieces):
            length = min(chance.choice(lengths), size)
            file.seek(chance.randrange(size - length + 1))
            kind = chance.randrange(3)
            if kind == 0:
                file.write(chance.randbytes(length))
            else:
                file.write((b"\xff" if kind == 1 else b"some text. ") * length)
        file.truncate(size)
        file.seek(size - 1)
        file.write(b"!")
    return path


def check_all_ways(image, tmp_path, ways=WAYS):
    """What the populator reads is what qemu-img reads."""
    expected, actual = tmp_path / "expected.raw", tmp_path / "actual.raw"
    qemu_img("convert", "-f", "qcow2", "-O", "raw", image, expected)
    for name, way in ways.items():
        said = read(way[:1], image, actual, *way[1:])
        assert said["virtual_size"] == os.path.getsize(expected), name
        assert same(actual, expected), name
