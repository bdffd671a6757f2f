# SPDX-License-Identifier: Apache-2.0
"""qcow2 files with every option that qemu-img has, read in every way, byte for byte as qemu-img
reads them."""

import itertools
import os
import subprocess

import pytest

import images
from images import GIB, KIB, MIB, check_all_ways, fill, qemu_img, qemu_io

CLUSTERS = [512 << bits for bits in range(13)]
PREALLOCATIONS = ["off", "metadata", "falloc", "full"]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("disk") / "disk.raw", 20 * MIB + 7 * 512)


def convert(disk, image, options, compressed=()):
    qemu_img("convert", *compressed, "-O", "qcow2", "-o", options, disk, image)
    return image


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("version", ["0.10", "1.1"])
def test_plain(disk, tmp_path, cluster, version):
    options = f"cluster_size={cluster},compat={version}"
    check_all_ways(convert(disk, tmp_path / "image", options), tmp_path)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("compression", ["zlib", "zstd"])
def test_compressed(disk, tmp_path, cluster, compression):
    options = f"cluster_size={cluster},compression_type={compression}"
    check_all_ways(convert(disk, tmp_path / "image", options, ["-c"]), tmp_path)


@pytest.mark.parametrize("compression", ["zlib", "zstd"])
def test_compressed_out_of_order(disk, tmp_path, compression):
    """As the fastest way of qemu-img writes it."""
    options = f"compression_type={compression}"
    image = convert(disk, tmp_path / "image", options, ["-c", "-m", "16", "-W"])
    check_all_ways(image, tmp_path)


def test_compressed_version_2(disk, tmp_path):
    check_all_ways(convert(disk, tmp_path / "image", "compat=0.10", ["-c"]), tmp_path)


@pytest.mark.parametrize("cluster", [cluster for cluster in CLUSTERS if cluster >= 16 * KIB])
@pytest.mark.parametrize("compressed", [[], ["-c"]], ids=["plain", "compressed"])
def test_subclusters(disk, tmp_path, cluster, compressed):
    options = f"cluster_size={cluster},extended_l2=on"
    check_all_ways(convert(disk, tmp_path / "image", options, compressed), tmp_path)


@pytest.mark.parametrize("preallocation", PREALLOCATIONS)
@pytest.mark.parametrize("options", ["", "lazy_refcounts=on", "extended_l2=on", "cluster_size=4k"])
def test_preallocated(disk, tmp_path, preallocation, options):
    options = ",".join(filter(None, [f"preallocation={preallocation}", options]))
    check_all_ways(convert(disk, tmp_path / "image", options), tmp_path)


@pytest.mark.parametrize("preallocation", PREALLOCATIONS)
def test_preallocated_and_empty(tmp_path, preallocation):
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", "-o", f"preallocation={preallocation}", image, "5M")
    check_all_ways(image, tmp_path)


@pytest.mark.parametrize("bits", [1, 8, 16, 64])
def test_refcount_widths(disk, tmp_path, bits):
    check_all_ways(convert(disk, tmp_path / "image", f"refcount_bits={bits}"), tmp_path)


@pytest.mark.parametrize("size", [1, 512, 65535, 65536, 65537, 536870912, 536870913, 999999937])
@pytest.mark.parametrize("compressed", [[], ["-c"]], ids=["plain", "compressed"])
def test_odd_sizes(tmp_path, size, compressed):
    """With data in the last byte."""
    disk = fill(tmp_path / "disk.raw", size, pieces=3)
    image = tmp_path / "image"
    qemu_img("convert", *compressed, "-f", "raw", "-O", "qcow2", disk, image)
    check_all_ways(image, tmp_path)


@pytest.mark.parametrize("options", ["", "cluster_size=512", "extended_l2=on", "compat=0.10"])
def test_written_over_and_over(tmp_path, options):
    """Writes here and there, zeros, discards and compressed clusters, in no order."""
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", *(["-o", options] if options else []), image, "64M")
    version_2 = "compat" in options
    zero = "write -z 21M 3M" if not version_2 else "write -P 0 21M 3M"
    qemu_io(
        image,
        "write -P 1 40M 3M",
        "write -P 2 1M 5000k",
        "write -P 3 63M 1M",
        "write -P 4 20M 10M",
        zero,
        "discard 41M 1M",
        "write -P 5 22M 100k",
        "write -P 6 4095k 3k",
        "discard -q 0 512",
        "write -P 7 1234567 12345" if version_2 else "write -z -u 63M 70k",
    )
    if "512" not in options:
        qemu_io(image, "write -c -P 8 50M 2M", "write -P 9 51M 64k")
    check_all_ways(image, tmp_path)


@pytest.mark.parametrize("options", ["", "extended_l2=on", "compat=0.10", "cluster_size=2k"])
def test_internal_snapshots_are_ignored(tmp_path, options):
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", *(["-o", options] if options else []), image, "32M")
    for number in range(1, 5):
        qemu_io(image, f"write -P {number} {number}M 3M", f"write -P {number} 20M {number * 64}k")
        qemu_img("snapshot", "-c", f"snapshot {number}", image)
    qemu_io(image, "write -P 99 2M 4M", "discard 5M 1M")
    qemu_img("snapshot", "-d", "snapshot 2", image)
    check_all_ways(image, tmp_path)


def test_bitmaps_are_ignored(disk, tmp_path):
    image = convert(disk, tmp_path / "image", "compat=1.1")
    qemu_img("bitmap", "--add", "--enable", image, "backup")
    qemu_io(image, "write -P 5 3M 2M")
    check_all_ways(image, tmp_path)


@pytest.mark.parametrize("cluster", ["512", "4k", "64k"])
def test_resized(tmp_path, cluster):
    """The L1 table moves to the end of the file where it must grow."""
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", "-o", f"cluster_size={cluster}", image, "1M")
    for size in ("17M", "40M", "300M"):
        qemu_io(image, f"write -P {len(size)} 900k 70k")
        qemu_img("resize", image, size)
        qemu_io(image, "write -P 7 16M 700k")
    qemu_img("resize", "--shrink", image, "250M")
    check_all_ways(image, tmp_path)


def test_dirty(tmp_path):
    """A writer with lazy refcounts that was killed: the mapping is right."""
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", "-o", "lazy_refcounts=on", image, "64M")
    subprocess.run(
        ["qemu-io", "-c", "write -P 3 5M 9M", "-c", "flush", "-c", "sigraise 9", str(image)],
        check=False,
        capture_output=True,
    )
    with open(image, "rb") as file:
        file.seek(79)
        assert file.read(1) == b"\1", "the file is not dirty"
    actual = tmp_path / "actual.raw"
    for name, way in images.WAYS.items():
        images.read(way[:1], image, actual, *way[1:])
        with open(actual, "rb") as file:
            content = file.read()
        assert content == bytes(5 * MIB) + b"\3" * (9 * MIB) + bytes(50 * MIB), name


def test_a_large_sparse_disk(tmp_path):
    """Data at the beginning, in the middle and in the last cluster of 200 GiB."""
    image, actual = tmp_path / "image", tmp_path / "actual.raw"
    qemu_img("create", "-f", "qcow2", image, "200G")
    qemu_io(image, "write -P 1 0 1M", "write -P 2 100G 1M", f"write -P 3 {200 * GIB - 65536} 64k")
    for way in images.WAYS.values():
        images.read(way[:1], image, actual, *way[1:])
        assert os.path.getsize(actual) == 200 * GIB
        for offset, length, byte in ((0, MIB, 1), (100 * GIB, MIB, 2), (200 * GIB - 65536, 65536, 3)):
            with open(actual, "rb") as file:
                file.seek(offset)
                assert file.read(length) == bytes([byte]) * length
        assert os.stat(actual).st_blocks * 512 < 4 * MIB


@pytest.mark.parametrize(
    "window, piece", itertools.product([0, 100, 70000, 1 << 20], [0, 511, 65537])
)
def test_windows_of_every_size(disk, tmp_path, window, piece):
    image = convert(disk, tmp_path / "image", "cluster_size=64k", ["-c", "-m", "16", "-W"])
    way = ["stream", "--window", str(window), "--piece", str(piece), "--save-every", "1000000"]
    check_all_ways(image, tmp_path, {"stream": way})
