# SPDX-License-Identifier: Apache-2.0
"""Images of every kind from every place: what comes into RBD is what qemu-img reads, byte for byte."""

import contextlib
import hashlib
import itertools
import os

import pytest

import imprint as command
from disk_images import KINDS, WRAPPERS, make, qemus_reading, wrap
from images import MIB, fill
from places import SOURCES

# Two in one take turns: what is below them comes from everywhere.
WRAPPED = ["", *(wrapper for wrapper in WRAPPERS if wrapper not in ("tar.xz", "tar.zst"))]
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
    pool, name = image.split("/")
    size = os.path.getsize(expected)
    with cluster.image(pool, name, read_only=True) as opened, open(expected, "rb") as file:
        assert opened.size() == size
        for offset in range(0, opened.size(), 4 * MIB):
            length = min(4 * MIB, opened.size() - offset)
            assert opened.read(offset, length) == file.read(length).ljust(length, b"\0"), offset


# Some are asked for the digest, some are given it; of the others there is none.
ASKED, GIVEN = ("pipe", "http", "s3"), ("https",)


def digest_flags(source, digest):
    if source in GIVEN:
        return ["--checksum", f"sha256:{digest.upper()}"]
    return ["--digest"] if source in ASKED else []


@pytest.mark.parametrize("case", plan(), ids=case_name)
def test_every_kind_from_every_place(cluster, imprint, places, disks, tmp_path, name, image, case):
    kind, wrapper, source = case
    path = make(kind, disks(kind), str(tmp_path / name))
    expected = qemus_reading(path, kind, tmp_path / "expected.raw")
    path = wrap(wrapper, path)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with offered(places, source, path) as (url, flags, stdin):
        flags = [*flags, *digest_flags(source, digest)]
        done = imprint.run("import", url, image, "--json", *flags, **stdin)
    assert done.status == command.DONE, done
    assert done.result["format"] == ("raw" if kind == "raw" else "qcow2")
    assert done.result["virtualSize"] == os.path.getsize(expected)
    assert done.result.get("digest") == (f"sha256:{digest}" if source in ASKED + GIVEN else None)
    check_content(cluster, image, expected)


def test_content_of_unknown_size_into_an_image_that_is_there(cluster, imprint, disks, tmp_path, image):
    """It is refused only when it comes to its end."""
    raw = make("raw", disks("raw"), str(tmp_path / "raw"))
    packed = wrap("gz", make("raw", raw, str(tmp_path / "copy")))
    size = os.path.getsize(raw)
    cluster.rbd("create", "--size", f"{size - 512}B", image)
    done = imprint.run("import", packed, image, "--existing")
    assert done.status == command.TOO_LARGE and "larger" in done.stderr, done
    cluster.rbd("resize", "--size", f"{size}B", image, "--no-progress")
    done = imprint.run("import", packed, image, "--existing")
    assert done.status == command.DONE, done
    check_content(cluster, image, raw)


def test_with_its_token_it_is_not_repeated(cluster, pool, imprint, disks, tmp_path, name, image):
    """Also when the source is gone by then. A clone's content is not what was imported into it."""
    path = make("zlib 64k", disks("zlib 64k"), str(tmp_path / "image"))
    flags = ["--existing", "--digest", "--json", "--token"]
    cluster.rbd("create", "--size", "20", image)
    first = imprint.run("import", path, image, *flags, "a 1")
    os.unlink(path)
    again = imprint.run("import", path, image, *flags, "a 1")
    other = imprint.run("import", path, image, *flags, "a 2")
    cluster.rbd("snap", "create", f"{image}@s", "--no-progress")
    cluster.rbd("clone", "--rbd-default-clone-format", "2", f"{image}@s", f"{image}-clone")
    clone = imprint.run("import", path, f"{image}-clone", *flags, "a 1")
    cluster.remove_image(pool, f"{name}-clone")
    assert [first.status, again.status] == [command.DONE] * 2, (first, again)
    assert first.result["written"] > 0 and first.result["digest"]
    assert again.result == {**first.result, "written": 0, "fetched": 0}
    assert [other.status, clone.status] == [command.NOT_FOUND] * 2, (other, clone)


def test_every_kind_and_every_place_is_in_the_plan():
    cases = plan()
    assert {kind for kind, _, _ in cases} == set(KINDS)
    pairs = {(wrapper, source) for _, wrapper, source in cases}
    assert pairs >= set(itertools.product(WRAPPED, SOURCES))
