# SPDX-License-Identifier: Apache-2.0
"""Disks to read."""

import os
import random
import subprocess

import pytest

from foreign import KINDS

MIB = 1 << 20


def make_disk(path, size, pieces, seed=1):
    """A sparse file with random bytes in some places: (offset, length)."""
    noise = random.Random(seed)
    with open(path, "wb") as disk:
        disk.truncate(size)
        for offset, length in pieces:
            disk.seek(offset)
            disk.write(noise.randbytes(length))
    return path


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    """64 MiB, with data in five places; holes are whole clusters of any format."""
    pieces = [(0, 2 * MIB), (10 * MIB, 2 * MIB), (20 * MIB, 2 * MIB), (33 * MIB + 4096, 100000),
              (62 * MIB, 2 * MIB)]
    return make_disk(tmp_path_factory.mktemp("disk") / "disk.raw", 64 * MIB, pieces)


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "output"
    yield path
    if os.path.exists(path):
        os.unlink(path)


@pytest.fixture(scope="session")
def images(disk, tmp_path_factory):
    """The disk in each kind."""
    folder = tmp_path_factory.mktemp("foreign")
    made = {}
    for kind, (image_format, options) in KINDS.items():
        made[kind] = folder / kind
        joined = ["-o", ",".join(options)] if options else []
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", image_format, *joined, disk, made[kind]],
                       check=True)
    return made
