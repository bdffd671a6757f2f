# SPDX-License-Identifier: Apache-2.0
"""What an import costs: memory that does not grow with the image, time that goes with its data, and only
those objects that hold something."""

import contextlib
import gzip
import os
import random
import signal
import subprocess
import threading
import time

import pytest

import imprint as command
import xz_file
from fault_server import FaultServer
from image_server import ImageFile, paced
from images import GIB, MIB, TIB, fill, qemu_img, qemu_io
from places import SOURCES

RSS_MAX = 256 * MIB
DATA = 300 * MIB


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """100 GiB, with data from its beginning to its end that cannot be compressed much."""
    folder = tmp_path_factory.mktemp("large")
    raw = folder / "disk.raw"
    chance = random.Random(4)
    with open(raw, "wb") as file:
        file.truncate(100 * GIB)
        for number in range(75):
            file.seek(number * (100 * GIB // 75) // 512 * 512)
            file.write(chance.randbytes(DATA // 75 // 512 * 512))
    qemu_img("convert", "-c", "-O", "qcow2", raw, folder / "large.qcow2")
    os.unlink(raw)
    return folder / "large.qcow2"


def watch(running, timeout_s=300):
    """Waits for the end; (how it ended, peak of its memory)."""
    peak = [0]

    def look():
        while (now := running.peak_rss()) is not None:
            peak[0] = max(peak[0], now)
            time.sleep(0.02)

    thread = threading.Thread(target=look)
    thread.start()
    done = running.wait(timeout_s=timeout_s)
    thread.join()
    return done, peak[0]


@pytest.mark.parametrize("source", SOURCES)
def test_memory_is_bounded(imprint, places, large, image, source):
    """With the number of threads that people leave as it is, and with the most."""
    url, flags = places.offer(source, large)
    if source in ("http", "file"):
        flags = [*flags, "--jobs", "64"]
    with open(large, "rb") as stdin:
        stdin = {"stdin": stdin} if source == "pipe" else {}
        done, peak = watch(imprint.start("import", url, image, "--json", *flags, **stdin))
    places.take_back(source, large)
    print(f"{source}: {peak // MIB} MiB")
    assert done.status == command.DONE, done
    assert done.result["virtualSize"] == 100 * GIB
    assert 20 * MIB < peak <= RSS_MAX


@pytest.mark.parametrize("kind, way", [("s3", ["--jobs", "64"]), ("file", []),
                                       ("pipe", ["--format", "raw", "--jobs", "64"])],
                         ids=["s3-zlib", "file-zlib", "pipe-raw"])
def test_memory_of_an_export_is_bounded(cluster, pool, imprint, places, tmp_path, name, image, kind, way):
    disk = tmp_path / "disk.raw"
    with open(disk, "wb") as file:
        for _ in range(150):
            file.write(random.Random(1).randbytes(MIB))
    cluster.put_image(pool, name, disk)
    url, flags = places.destination(kind, tmp_path / f"{name}-out")
    with open(tmp_path / f"{name}-out", "wb") if kind == "pipe" else contextlib.nullcontext() as out:
        stdout = {"stdout": out} if out else {}
        done, peak = watch(imprint.start("export", image, url, *way, *flags, **stdout))
    print(f"{kind}: {peak // MIB} MiB")
    assert done.status == command.DONE, done
    assert 20 * MIB < peak <= RSS_MAX
    places.collect(kind, tmp_path / f"{name}-out")


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_ten_tebibytes_with_little_in_them(cluster, pool, imprint, tmp_path, name, image, source):
    path = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", path, 10 * TIB)
    places = [0, 3 * TIB + 12345 * 512, 7 * TIB, 10 * TIB - MIB]
    qemu_io(path, *(f"write -P {n + 1} {offset} 1M" for n, offset in enumerate(places)))
    with open(path, "rb") as stdin:
        arguments = [path] if source == "file" else ["-"]
        stdin = {} if source == "file" else {"stdin": stdin}
        done, peak = watch(imprint.start("import", *arguments, image, "--json", **stdin))
    assert done.status == command.DONE, done
    assert done.seconds < 60 and peak <= RSS_MAX
    assert 4 * MIB <= done.result["written"] <= 4 * MIB + 65536  # one is not aligned to a cluster
    with cluster.image(pool, name, read_only=True) as opened:
        assert opened.size() == 10 * TIB
        for number, offset in enumerate(places):
            assert opened.read(offset, MIB) == bytes([number + 1]) * MIB


def test_a_hundred_gibibytes_out_of_a_pipe(imprint, tmp_path, image):
    """Zeros in gzip: nothing that is read in one go is kept."""
    path = tmp_path / "zeros.gz"
    block = gzip.compress(bytes(64 * MIB), 6)
    with open(path, "wb") as file:
        for _ in range(100 * GIB // (64 * MIB)):
            file.write(block)
    with open(path, "rb") as stdin:
        done, peak = watch(imprint.start("import", "-", image, "--json", stdin=stdin), 600)
    assert done.status == command.DONE, done
    assert done.result["virtualSize"] == 100 * GIB and done.result["written"] == 0
    assert 20 * MIB < peak <= RSS_MAX


def test_memory_of_compressions_around_each_other(imprint, tmp_path, image):
    """One with the longest window there is, and another one around it; two of them are too much."""

    def pack(data, window_log):
        return subprocess.run(["zstd", "-q", "-c", "-1", "--long=27", f"--zstd=wlog={window_log}"], input=data,
                              stdout=subprocess.PIPE, check=True).stdout

    inside = pack(os.urandom(150 * MIB), 27)
    path = tmp_path / "packed"
    path.write_bytes(pack(inside, 23))
    done, peak = watch(imprint.start("import", path, image, "--json"))
    print(f"{peak // MIB} MiB")
    assert done.status == command.DONE and done.result["virtualSize"] == 150 * MIB, done
    assert peak <= RSS_MAX
    path.write_bytes(pack(inside, 27))
    done = imprint.run("import", path, f"{image}-2")
    assert done.status == command.TOO_LARGE and "together" in done.stderr, done


def test_memory_of_a_long_window_that_is_saved(imprint, tmp_path, image):
    """As "xz -9" makes it, with content of which a checkpoint becomes nearly as large as one may."""
    chance = random.Random(5)
    disk = b"".join(chance.randbytes(7 * MIB // 10) + bytes(MIB - 7 * MIB // 10) for _ in range(200))
    path = tmp_path / "packed"
    path.write_bytes(xz_file.stored(disk, 64 * MIB))
    file = ImageFile(path)
    with FaultServer(paced(file, 16 * MIB)) as server:
        running = imprint.start("import", server.url(), image, "--allow-local-addresses")
        threading.Timer(10, running.popen.kill).start()
        done, saving = watch(running)
        assert done.status == -signal.SIGKILL, done
        server.handler = file.serve
        done, restoring = watch(imprint.start("import", server.url(), image, "--allow-local-addresses", "--json"))
    print(f"{saving // MIB} MiB, then {restoring // MIB} MiB, resumed at {done.result['resumedAt'] // MIB} MiB")
    assert done.status == command.DONE and done.result["virtualSize"] == 200 * MIB, done
    assert done.result["resumedAt"] > 64 * MIB
    assert saving <= RSS_MAX and restoring <= RSS_MAX


@pytest.mark.parametrize("form", ["raw", "preallocated"])
def test_holes_of_a_file_are_not_read(cluster, pool, imprint, tmp_path, name, image, form):
    """All clusters of such a qcow2 are there, and hold nothing."""
    path = tmp_path / "image"
    offsets = [0, 50 * GIB + 4096, 100 * GIB - MIB]
    if form == "raw":
        with open(path, "wb") as file:
            file.truncate(100 * GIB)
        options = ["-f", "raw"]
    else:
        qemu_img("create", "-f", "qcow2", "-o", "preallocation=metadata", path, 100 * GIB)
        options = ["-f", "qcow2"]
    qemu_io(path, *(f"write -P {n + 1} {offset} 1M" for n, offset in enumerate(offsets)), options=options)
    done, peak = watch(imprint.start("import", path, image, "--json"))
    assert done.status == command.DONE, done
    assert peak <= RSS_MAX
    assert done.result["written"] < 4 * MIB and done.result["fetched"] < 40 * MIB
    with cluster.image(pool, name, read_only=True) as opened:
        for number, offset in enumerate(offsets):
            assert opened.read(offset, MIB) == bytes([number + 1]) * MIB
        assert opened.read(MIB, MIB) == bytes(MIB)


def objects(cluster, pool, name):
    """The numbers of an image's data objects."""
    with cluster.image(pool, name, read_only=True) as opened:
        prefix = opened.block_name_prefix() + "."
    with cluster.ioctx(pool) as ioctx:
        return sorted(int(item.key.removeprefix(prefix), 16) for item in ioctx.list_objects()
                      if item.key.startswith(prefix))


@pytest.mark.parametrize("form", ["raw", "zlib", "full"])
def test_only_objects_with_data_are_made(cluster, pool, imprint, tmp_path, name, image, form):
    """The same as `rbd import` makes; also of a file whose zeros are all written out."""
    disk = fill(tmp_path / "disk.raw", 400 * MIB, pieces=30)
    with open(disk, "r+b") as file:  # zeros that are no hole
        file.seek(200 * MIB)
        file.write(bytes(32 * MIB))
    path = tmp_path / "image"
    if form == "raw":
        path = disk
    else:
        options = ["-o", "preallocation=full"] if form == "full" else ["-c"] if form == "zlib" else []
        qemu_img("convert", "-S", "0", *options, "-O", "qcow2", disk, path)
    cluster.put_image(pool, f"{name}-rbd", disk)
    expected = objects(cluster, pool, f"{name}-rbd")
    used = cluster.rbd("du", "--format", "json", f"{pool}/{name}-rbd").split(b'"used_size":')[1]
    cluster.remove_image(pool, f"{name}-rbd")
    assert imprint.run("import", path, image).status == command.DONE
    assert objects(cluster, pool, name) == expected and len(expected) < 60
    assert cluster.rbd("du", "--format", "json", image).split(b'"used_size":')[1][:12] == used[:12]
