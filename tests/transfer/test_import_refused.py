# SPDX-License-Identifier: Apache-2.0
"""Images that must not come in: each is refused with a message that names the cause, by a file that can
be read anywhere and by a pipe, and leaves nothing in the pool."""

import gzip
import hashlib
import os
import struct

import pytest
import rbd

import imprint as command
from disk_images import wrap
from images import MIB, fill, qemu_img

CLUSTER = 65536
# Fields of the header.
CRYPT, L1_OFFSET, INCOMPATIBLE = 32, 40, 72


def put(path, offset, value, form=">Q"):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(struct.pack(form, value))


def get(path, offset, form=">Q"):
    with open(path, "rb") as file:
        file.seek(offset)
        return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def l1(path):
    return get(path, L1_OFFSET)


def l2(path):
    return get(path, l1(path)) & ((1 << 63) - 1)


def sound(path):
    disk = fill(f"{path}.disk", 4 * MIB, pieces=20)
    qemu_img("convert", "-O", "qcow2", disk, path)
    os.unlink(disk)


def changed(*places):
    """place: (offset or a function of the path, value, format)"""

    def make(path):
        sound(path)
        for offset, value, *form in places:
            put(path, offset(path) if callable(offset) else offset, value, *form)

    return make


def backing(path):
    sound(f"{path}.base")
    qemu_img("create", "-f", "qcow2", "-F", "qcow2", "-b", f"{path}.base", path)


def external_data(path):
    qemu_img("create", "-f", "qcow2", "-o", f"data_file={path}.data", path, "5M")


def encrypted(path):
    qemu_img("create", "--object", "secret,id=key,data=abc", "-f", "qcow2", "-o",
             "encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=10", path, "5M")


def truncated(path):
    sound(path)
    os.truncate(path, os.path.getsize(path) - 2 * CLUSTER)


def truncated_compressed(path):
    sound(f"{path}.plain")
    qemu_img("convert", "-c", "-O", "qcow2", f"{path}.plain", path)
    os.truncate(path, os.path.getsize(path) // 2)


def mapped_twice(path):
    sound(path)
    table = l2(path)
    used = [i for i in range(64) if get(path, table + 8 * i)]
    put(path, table + 8 * used[0], get(path, table + 8 * used[-1]))


def content(data):

    def make(path):
        with open(path, "wb") as file:
            file.write(data)

    return make


def cut_off(wrapper):
    """Half of a compressed file."""

    def make(path):
        sound(path)
        packed = wrap(wrapper, path)
        os.truncate(packed, os.path.getsize(packed) // 2)
        os.rename(packed, path)

    return make


def flipped(wrapper):
    """A bit of what is in a compressed archive, which only the compression's own checksum tells: it goes
    by the archive's end, as disks' bytes do."""

    def make(path):
        with open(path, "wb") as file:
            file.write(os.urandom(MIB))  # stays as it is when it is compressed
        packed = wrap(wrapper, path)
        put(packed, MIB // 2, get(packed, MIB // 2, ">B") ^ 1, ">B")
        os.rename(packed, path)

    return make


CASES = {
    # name: (how it is made, exit code, words of which the message has one)
    "backing file": (backing, command.REFUSED, ["backing file"]),
    "external data file": (external_data, command.REFUSED, ["another file"]),
    "encryption": (encrypted, command.REFUSED, ["encrypted (LUKS)"]),
    "old encryption": (changed((CRYPT, 1, ">I")), command.REFUSED, ["encrypted (AES)"]),
    "unknown feature": (changed((INCOMPATIBLE, 1 << 40)), command.REFUSED, ["not known (bit 40)"]),
    "corrupt mark": (changed((INCOMPATIBLE, 2)), command.DAMAGED, ["corrupt"]),
    "L1 outside": (changed((L1_OFFSET, CLUSTER << 20)), command.DAMAGED, ["outside", "truncated"]),
    "L2 outside": (changed((l1, CLUSTER << 20)), command.DAMAGED, ["outside", "truncated"]),
    "data outside": (changed((l2, CLUSTER << 20)), command.DAMAGED, ["outside", "truncated"]),
    "L1 over refcounts": (changed((L1_OFFSET, CLUSTER)), command.DAMAGED, ["overlaps"]),
    "L2 over L1": (changed((l1, CLUSTER * 3)), command.DAMAGED, ["overlaps"]),
    "data over L1": (changed((l2, CLUSTER * 3)), command.DAMAGED, ["overlaps"]),
    "a cluster mapped twice": (mapped_twice, command.DAMAGED, ["share", "overlaps", "mapped twice"]),
    "truncated": (truncated, command.DAMAGED, ["truncated", "ends", "outside"]),
    "truncated, compressed": (truncated_compressed, command.DAMAGED,
                              ["truncated", "ends", "outside", "damaged"]),
    "only a magic": (content(b"QFI\xfb"), command.DAMAGED, ["qcow2"]),
    "an empty header": (content(b"QFI\xfb\0\0\0\3" + bytes(5000)), command.DAMAGED, ["qcow2"]),
    "gzip cut off": (cut_off("gz"), command.DAMAGED, ["gzip", "ends", "truncated"]),
    "xz cut off": (cut_off("xz"), command.DAMAGED, ["xz", "ends", "truncated"]),
    "zstd cut off": (cut_off("zst"), command.DAMAGED, ["zstd", "ends", "truncated"]),
    "a bit in tar.gz": (flipped("tar.gz"), command.DAMAGED, ["gzip"]),
    "a bit in tar.xz": (flipped("tar.xz"), command.DAMAGED, ["xz"]),
    "a bit in tar.zst": (flipped("tar.zst"), command.DAMAGED, ["zstd"]),
    "only gzip's magic": (content(b"\x1f\x8b\x08" + b"\xff" * 5000), command.REFUSED, ["gzip"]),
    "only xz's magic": (content(b"\xfd7zXZ\0" + b"\xff" * 5000), command.DAMAGED, ["xz"]),
    "only zstd's magic": (content(b"\x28\xb5\x2f\xfd" + b"\xff" * 5000), command.DAMAGED, ["zstd"]),
}


def check_nothing(cluster, pool, name):
    """No image, no checkpoint, no object."""
    assert name not in cluster.images(pool)
    with cluster.ioctx(pool) as ioctx:
        assert not [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]


def run(imprint, source, path, image, *flags):
    if source == "file":
        return imprint.run("import", path, image, *flags)
    with open(path, "rb") as stdin:
        return imprint.run("import", "-", image, *flags, stdin=stdin)


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(cluster, pool, imprint, tmp_path, name, image, case):
    make, status, words = CASES[case]
    path = str(tmp_path / "image")
    make(path)
    for source in ("file", "pipe"):
        done = run(imprint, source, path, image)
        assert done.status == status, done
        assert any(word in done.stderr for word in words), done
        assert done.stderr.count("\n") == 1 and image in done.stderr
        check_nothing(cluster, pool, name)


@pytest.mark.parametrize("source", ["file", "pipe"])
@pytest.mark.parametrize("kind", ["qcow2", "raw", "raw.gz"])
def test_more_than_the_size_allows(cluster, pool, imprint, tmp_path, name, image, kind, source):
    path = str(tmp_path / "image")
    if kind == "qcow2":
        sound(path)
    else:
        fill(path, 4 * MIB, pieces=20)
    if kind == "raw.gz":
        path = wrap("gz", path)
    done = run(imprint, source, path, image, "--size", "3Mi")
    assert done.status == command.TOO_LARGE, done
    assert "3145728" in done.stderr, done
    check_nothing(cluster, pool, name)
    done = run(imprint, source, path, image, "--size", "8Mi")
    assert done.status == command.DONE, done
    with cluster.image(pool, name) as opened:
        assert opened.size() == 8 * MIB


def test_a_bomb_stops_at_the_size(cluster, pool, imprint, tmp_path, name, image):
    """20 GiB of zeros and a byte, in 20 MiB of gzip."""
    path = tmp_path / "bomb.gz"
    block = gzip.compress(bytes(64 * MIB), 9)
    with open(path, "wb") as file:
        file.write(gzip.compress(b"x"))
        for _ in range(320):
            file.write(block)
        file.write(gzip.compress(b"x"))
    done = imprint.run("import", path, image, "--size", "1Gi")
    assert done.status == command.TOO_LARGE, done
    assert done.seconds < 30
    check_nothing(cluster, pool, name)


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_another_format_than_was_said(cluster, pool, imprint, tmp_path, name, image, source):
    path = str(tmp_path / "image")
    sound(path)
    done = run(imprint, source, path, image, "--format", "raw")
    assert done.status == command.REFUSED and "qcow2, not raw" in done.stderr, done
    check_nothing(cluster, pool, name)


@pytest.mark.parametrize("source", ["file", "pipe"])
@pytest.mark.parametrize("kind", ["sha256", "sha512"])
def test_a_wrong_checksum_leaves_no_image(cluster, pool, imprint, tmp_path, name, image, source, kind):
    path = str(tmp_path / "image")
    sound(path)
    with open(path, "rb") as file:
        right = hashlib.new(kind, file.read()).hexdigest()
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    done = run(imprint, source, path, image, "--checksum", f"{kind}:{wrong}")
    assert done.status == command.DAMAGED, done
    assert right in done.stderr and wrong in done.stderr
    check_nothing(cluster, pool, name)
    assert run(imprint, source, path, image, "--checksum", f"{kind}:{right}").status == command.DONE


def test_an_image_that_is_there_stays(cluster, pool, imprint, tmp_path, name, image):
    path = str(tmp_path / "image")
    sound(path)
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, name, 4 * MIB)
        with rbd.Image(ioctx, name) as opened:
            opened.write(b"precious", 0)
    done = imprint.run("import", path, image)
    assert done.status == command.EXISTS and "exists already" in done.stderr, done
    with cluster.image(pool, name) as opened:
        assert opened.read(0, 8) == b"precious"


def test_the_mark_that_it_is_ready_comes_last(cluster, pool, imprint, tmp_path, name, image):
    path = str(tmp_path / "image")
    sound(path)
    assert imprint.run("import", path, image, "--snapshot", "base").status == command.DONE
    with cluster.image(pool, name) as opened:
        keys = dict(opened.metadata_list())
        assert keys["imprint.ready"] == opened.id()
        assert "imprint.importing" not in keys and "imprint.import.owner" not in keys
        assert [snap["name"] for snap in opened.list_snaps()] == ["base"]
    done = imprint.run("import", path, image)
    assert done.status == command.EXISTS, done


# ---- places that are not there


@pytest.mark.parametrize("place, flags, words", [
    ("{pool}/nowhere/{name}", [], "has no namespace 'nowhere'"),
    ("{pool}/{name}", ["--data-pool", "nowhere"], "has no pool 'nowhere'"),
    ("nowhere/{name}", [], "has no pool 'nowhere'"),
], ids=["namespace", "data pool", "pool"])
def test_a_place_that_is_not_there_is_named(cluster, pool, imprint, tmp_path, name, place, flags, words):
    path = tmp_path / "disk.raw"
    path.write_bytes(b"x" * 4096)
    done = imprint.run("import", path, place.format(pool=pool, name=name), *flags)
    assert done.status == command.NOT_FOUND and words in done.stderr, done
    assert name not in str(cluster.images(pool))
