# SPDX-License-Identifier: Apache-2.0
"""Images of every kind from every place: what comes into RBD is what qemu-img reads, byte for byte."""

import contextlib
import itertools
import os

import pytest

import imprint as command
from disk_images import KINDS, WRAPPERS, make, qemus_reading, wrap
from images import MIB, fill
from places import SOURCES

WRAPPED = ["", *WRAPPERS]
# Of these, each is wrapped in everything and comes from everywhere; the other kinds take turns.
THOROUGH = ["raw", "zlib 64k"]


def plan():
    """(kind, wrapper, source): each kind from two places, plain and wrapped; each wrapper from each
    place."""
    cases = {(kind, wrapper, source): None
             for kind, (wrapper, source) in zip(itertools.cycle(THOROUGH),
                                                itertools.product(WRAPPED, SOURCES))}
    sources = itertools.cycle(SOURCES)
    wrappers = itertools.cycle(WRAPPERS)
    for kind in KINDS:
        cases[kind, "", next(sources)] = None
        if not kind.startswith(("cluster", "zlib ", "zstd ")) or kind.endswith(("512", "2M")):
            cases[kind, next(wrappers), next(sources)] = None
    return list(cases)


def case_name(case):
    return "-".join(part.replace(" ", "_") for part in case if part)


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    """By kind: qemu-img takes its time for clusters of 512 bytes."""
    folder = tmp_path_factory.mktemp("small")
    large = fill(folder / "large.raw", 13 * MIB + 512, pieces=60, seed=5)
    small = fill(folder / "small.raw", 2 * MIB + 512, pieces=20, seed=6)
    return lambda kind: small if kind.endswith((" 512", " 1k", " 2k")) else large


@contextlib.contextmanager
def offered(places, kind, path):
    """URL, flags and standard input for a source."""
    url, flags = places.offer(kind, path)
    with contextlib.ExitStack() as stack:
        stdin = {"stdin": stack.enter_context(open(path, "rb"))} if kind == "pipe" else {}
        yield url, flags, stdin
    places.take_back(kind, path)


def check_content(cluster, image, expected):
    """An image whose size was not known before is rounded up to a whole MiB."""
    pool, name = image.split("/")
    size = os.path.getsize(expected)
    with cluster.image(pool, name, read_only=True) as opened, open(expected, "rb") as file:
        assert opened.size() in (size, -(-size // MIB) * MIB)
        for offset in range(0, opened.size(), 4 * MIB):
            length = min(4 * MIB, opened.size() - offset)
            assert opened.read(offset, length) == file.read(length).ljust(length, b"\0"), offset


@pytest.mark.parametrize("case", plan(), ids=case_name)
def test_every_kind_from_every_place(cluster, imprint, places, disks, tmp_path, name, image, case):
    kind, wrapper, source = case
    path = make(kind, disks(kind), str(tmp_path / name))
    expected = qemus_reading(path, kind, tmp_path / "expected.raw")
    path = wrap(wrapper, path)
    with offered(places, source, path) as (url, flags, stdin):
        done = imprint.run("import", url, image, "--json", *flags, **stdin)
    assert done.status == command.DONE, done
    assert done.result["format"] == ("raw" if kind == "raw" else "qcow2")
    assert done.result["virtualSize"] == os.path.getsize(expected)
    check_content(cluster, image, expected)


def test_every_kind_and_every_place_is_in_the_plan():
    cases = plan()
    assert {kind for kind, _, _ in cases} == set(KINDS)
    pairs = {(wrapper, source) for _, wrapper, source in cases}
    assert pairs == set(itertools.product(WRAPPED, SOURCES))
