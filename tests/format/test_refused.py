# SPDX-License-Identifier: Apache-2.0
"""Files that must not be imported, each refused by every reader with a message that names what is
wrong."""

import os
import struct

import pytest

import images
from images import MIB, Refused, fill, qemu_img, qemu_io, read

CLUSTER = 65536
# Fields of the header.
VERSION, BACKING, BACKING_LENGTH, CLUSTER_BITS, SIZE, CRYPT = 4, 8, 16, 20, 24, 32
L1_SIZE, L1_OFFSET, REFCOUNTS, REFCOUNT_CLUSTERS, SNAPSHOTS = 36, 40, 48, 56, 60
INCOMPATIBLE, REFCOUNT_ORDER, HEADER_LENGTH, COMPRESSION = 72, 96, 100, 104
READERS = [["map"], ["stream"]]


class Image:
    """A qcow2 file whose bytes can be changed."""

    def __init__(self, path):
        self.path = path

    def get(self, offset, form=">Q"):
        with open(self.path, "rb") as file:
            file.seek(offset)
            return struct.unpack(form, file.read(struct.calcsize(form)))[0]

    def put(self, offset, value, form=">Q"):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(value if isinstance(value, bytes) else struct.pack(form, value))

    @property
    def l1(self):
        return self.get(L1_OFFSET)

    @property
    def l2(self):
        return self.get(self.l1) & ((1 << 63) - 1)

    @property
    def size(self):
        return os.path.getsize(self.path)


@pytest.fixture
def image(tmp_path):
    """A sound file: one L2 table, plain clusters."""
    disk = fill(tmp_path / "disk.raw", 4 * MIB, pieces=20)
    qemu_img("convert", "-O", "qcow2", disk, tmp_path / "image")
    return Image(tmp_path / "image")


def check_refused(image, *texts):
    for reader in READERS:
        with pytest.raises(Refused) as refusal:
            read(reader, image.path, f"{image.path}.out")
        message = str(refusal.value)
        assert any(text in message for text in texts), message
        assert "DATA_LOSS" in message or "INVALID_ARGUMENT" in message


def test_the_sound_file_is_read(image, tmp_path):
    images.check_all_ways(image.path, tmp_path)


HEADERS = {
    "version": [(VERSION, 4, ">I", "version 4")],
    "version 1": [(VERSION, 1, ">I", "version 1")],
    "small clusters": [(CLUSTER_BITS, 8, ">I", "2^8 bytes")],
    "large clusters": [(CLUSTER_BITS, 22, ">I", "2^22 bytes")],
    "no size": [(SIZE, 0, ">Q", "no size")],
    "absurd size": [(SIZE, (64 << 50) + 1, ">Q", "absurd")],
    "negative size": [(SIZE, 1 << 63, ">Q", "absurd")],
    "AES": [(CRYPT, 1, ">I", "encrypted (AES)")],
    "LUKS": [(CRYPT, 2, ">I", "encrypted (LUKS)")],
    "L1 too small": [(SIZE, 1 << 40, ">Q", "L1 table is too small")],
    "L1 absent": [(L1_SIZE, 0, ">I", "L1 table is too small")],
    "L1 too large": [(L1_SIZE, 1 << 30, ">I", "L1 table is too large")],
    "L1 unaligned": [(L1_OFFSET, CLUSTER * 3 + 512, ">Q", "not aligned")],
    "L1 outside": [(L1_OFFSET, CLUSTER << 20, ">Q", "outside", "truncated")],
    "L1 on the header": [(L1_OFFSET, 0, ">Q", "L1 table cannot be at")],
    "L1 on refcounts": [(L1_OFFSET, CLUSTER, ">Q", "overlaps")],
    "refcounts unaligned": [(REFCOUNTS, 1000, ">Q", "not aligned")],
    "refcounts outside": [(REFCOUNTS, CLUSTER << 20, ">Q", "outside", "truncated")],
    "refcounts absent": [(REFCOUNT_CLUSTERS, 0, ">I", "no refcount table")],
    "refcounts too large": [(REFCOUNT_CLUSTERS, 1 << 20, ">I", "refcount table is too large")],
    "refcounts wide": [(REFCOUNT_ORDER, 7, ">I", "2^7 bits")],
    "too many snapshots": [(SNAPSHOTS, 70000, ">I", "too many snapshots")],
    "corrupt": [(INCOMPATIBLE, 2, ">Q", "corrupt")],
    "external data": [(INCOMPATIBLE, 4, ">Q", "in another file")],
    "unknown feature": [(INCOMPATIBLE, 1 << 40, ">Q", "not known (bit 40)")],
    "compression bit": [(INCOMPATIBLE, 8, ">Q", "contradict")],
    "compression type": [(COMPRESSION, 1, ">B", "contradict")],
    "header too short": [(HEADER_LENGTH, 88, ">I", "cannot have 88 bytes")],
    "header too long": [(HEADER_LENGTH, CLUSTER + 8, ">I", "cannot have")],
    "extension": [(112 + 4, 1 << 31, ">I", "longer than the header")],
}


@pytest.mark.parametrize("case", HEADERS)
def test_header(image, case):
    texts = []
    for offset, value, form, *said in HEADERS[case]:
        image.put(offset, value, form)
        texts += said
    check_refused(image, *texts)


def test_backing_file(image, tmp_path):
    overlay = tmp_path / "overlay"
    qemu_img("create", "-f", "qcow2", "-F", "qcow2", "-b", image.path, overlay)
    check_refused(Image(overlay), f"backing file ('{image.path}')")


def test_external_data_file(tmp_path):
    image = tmp_path / "image"
    qemu_img("create", "-f", "qcow2", "-o", f"data_file={tmp_path}/data", image, "5M")
    check_refused(Image(image), "in another file")


def test_encryption(tmp_path):
    image = tmp_path / "image"
    options = "encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=10"
    qemu_img(
        "create", "--object", "secret,id=key,data=abc", "-f", "qcow2", "-o", options, image, "5M"
    )
    check_refused(Image(image), "encrypted (LUKS)")


def test_a_feature_is_named(image):
    """qemu-img writes a table of names; one of them is made that of an unknown bit."""
    start = image.get(HEADER_LENGTH, ">I")
    assert image.get(start, ">I") == 0x6803F857
    image.put(start + 8, b"\0\x17warp drive".ljust(48, b"\0"))
    image.put(INCOMPATIBLE, 1 << 0x17)
    check_refused(image, "'warp drive' (bit 23)")


TABLES = {
    # name: (where, value, texts)
    "L2 outside": ("l1", CLUSTER << 20, ["outside", "truncated"]),
    "L2 unaligned": ("l1", CLUSTER * 4 + 512, ["not aligned"]),
    "L2 reserved": ("l1", CLUSTER * 4 + 1, ["reserved bits"]),
    "L2 high bits": ("l1", (1 << 60) | CLUSTER * 4, ["reserved bits"]),
    "L2 on the refcount table": ("l1", CLUSTER, ["overlaps"]),
    "L2 on a refcount block": ("l1", CLUSTER * 2, ["overlaps"]),
    "L2 on the L1 table": ("l1", CLUSTER * 3, ["overlaps"]),
    "data outside": ("l2", CLUSTER << 20, ["outside", "truncated"]),
    "data unaligned": ("l2", CLUSTER * 5 + 512, ["not aligned"]),
    "data reserved": ("l2", CLUSTER * 5 + 2, ["reserved bits"]),
    "data high bits": ("l2", (1 << 58) | CLUSTER * 5, ["reserved bits"]),
    "data on the refcount table": ("l2", CLUSTER, ["overlaps the refcount table"]),
    "data on a refcount block": ("l2", CLUSTER * 2, ["overlaps a refcount block"]),
    "data on the L1 table": ("l2", CLUSTER * 3, ["overlaps the L1 table"]),
    "data on its L2 table": ("l2", CLUSTER * 4, ["overlaps an L2 table"]),
    "compressed outside": ("l2", (1 << 62) | CLUSTER << 20, ["outside", "truncated"]),
    "compressed on the header": ("l2", (1 << 62) | 1000, ["overlaps the header"]),
    "compressed on an L2 table": ("l2", (1 << 62) | CLUSTER * 4 + 7, ["overlaps an L2 table"]),
    "block outside": ("refcounts", CLUSTER << 20, ["outside", "truncated"]),
    "block unaligned": ("refcounts", CLUSTER * 2 + 512, ["not aligned"]),
    "block reserved": ("refcounts", CLUSTER * 2 + 3, ["reserved bits"]),
    "block on the header": ("refcounts", 1 << 56, ["too large"]),
    "block on data": ("refcounts", CLUSTER * 5, ["overlaps a refcount block"]),
    "block on the L2 table": ("refcounts", CLUSTER * 4, ["overlaps"]),
}


@pytest.mark.parametrize("case", TABLES)
def test_table(image, case):
    where, value, texts = TABLES[case]
    assert (image.l1, image.l2) == (CLUSTER * 3, CLUSTER * 4)
    place = {"l1": image.l1, "l2": image.l2, "refcounts": image.get(REFCOUNTS)}[where]
    image.put(place, value)
    check_refused(image, *texts)


def test_clusters_that_share_their_place(image):
    entries = [image.get(image.l2 + 8 * i) for i in range(64)]
    used = [i for i in range(64) if entries[i]]
    assert len(used) > 2
    image.put(image.l2 + 8 * used[0], entries[used[-1]])
    check_refused(image, "share", "overlaps", "mapped twice")


def test_zeros_in_version_2(tmp_path):
    image = Image(tmp_path / "image")
    qemu_img("create", "-f", "qcow2", "-o", "compat=0.10", image.path, "5M")
    qemu_io(image.path, "write -P 1 0 64k")
    image.put(image.l2 + 8, 1)
    check_refused(image, "version 2")


def test_subclusters_that_contradict_each_other(tmp_path):
    image = Image(tmp_path / "image")
    qemu_img("create", "-f", "qcow2", "-o", "extended_l2=on", image.path, "5M")
    qemu_io(image.path, "write -P 1 0 64k")
    image.put(image.l2 + 8, 0x0000000100000001)
    check_refused(image, "both allocated and zeros")
    image.put(image.l2 + 8, 1)
    image.put(image.l2, 0)
    check_refused(image, "there is no cluster")


@pytest.mark.parametrize("compression", ["zlib", "zstd"])
def test_a_damaged_compressed_cluster(tmp_path, compression):
    disk = fill(tmp_path / "disk.raw", 4 * MIB, pieces=20)
    image = Image(tmp_path / "image")
    options = f"compression_type={compression}"
    qemu_img("convert", "-c", "-O", "qcow2", "-o", options, disk, image.path)
    place = image.get(image.l2 + 8 * 63) & ((1 << 54) - 1)  # the last byte of the disk
    image.put(place, b"\xff" * 20)
    check_refused(image, "a compressed cluster is damaged")


@pytest.mark.parametrize("compressed", [[], ["-c"]], ids=["plain", "compressed"])
def test_truncated(tmp_path, compressed):
    """At many places: in tables, between clusters, in the middle of them."""
    disk = fill(tmp_path / "disk.raw", 4 * MIB, pieces=20)
    image = Image(tmp_path / "image")
    qemu_img("convert", *compressed, "-O", "qcow2", disk, image.path)
    whole = image.size
    # a compressed file ends with the padding of a sector, which is not missed
    cuts = {1, 512, *range(0, whole - 1024, whole // 97), whole - 1024}
    for cut in sorted(cuts, reverse=True):
        os.truncate(image.path, cut)
        for reader in READERS:
            with pytest.raises(Refused, match="DATA_LOSS|no qcow2 header") as refusal:
                read(reader, image.path, tmp_path / "out")
            assert any(
                text in str(refusal.value)
                for text in ("truncated", "ends", "header", "compressed cluster is damaged")
            ), (cut, refusal.value)


@pytest.mark.parametrize("content", [b"QFI\xfb", b"QFI\xfb\0\0\0\3" + bytes(1000), bytes(5000)])
def test_what_only_claims_to_be_qcow2(tmp_path, content):
    image = Image(tmp_path / "image")
    with open(image.path, "wb") as file:
        file.write(content)
    check_refused(image, "qcow2: ")
