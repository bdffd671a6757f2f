# SPDX-License-Identifier: Apache-2.0
"""Foreign formats through `imprint import`: into RBD as qemu-img reads them, or refused with nothing left."""

import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile

import pytest
import rbd

import nbd
from foreign import KINDS, descriptor
from imprint import DAMAGED, REFUSED, TOO_LARGE, Imprint
from rbd_compare import data_bytes, same_as_file

MIB = 1 << 20
NAMES = {"vpc": "vhd"}


@pytest.fixture
def imprint(cluster, pool):
    yield Imprint(cluster)
    with cluster.ioctx(pool) as ioctx:
        for name in rbd.RBD().list(ioctx):
            rbd.RBD().remove(ioctx, name)
    assert cluster.wait_empty(pool) == []


def packed(path, folder):
    """The file inside gzip: it can only be read front to back."""
    target = folder / "packed.gz"
    with open(path, "rb") as file, gzip.open(target, "wb", compresslevel=1) as out:
        out.write(file.read())
    return target


def check(done, cluster, pool, disk, kind):
    assert done.status == 0, done.stderr
    image_format = KINDS[kind][0]
    assert done.result["format"] == NAMES.get(image_format, image_format)
    assert cluster.images(pool) == ["disk"]
    assert same_as_file(cluster, pool, "disk", disk)
    assert data_bytes(cluster, pool, "disk") <= 24 * MIB


@pytest.mark.parametrize("kind", KINDS)
def test_file(imprint, cluster, pool, images, disk, kind):
    check(imprint.run("import", images[kind], f"{pool}/disk", "--json"), cluster, pool, disk, kind)


@pytest.mark.parametrize("kind", ["vmdk", "vmdk-stream", "vdi", "vhd", "vhd-fixed", "vhdx", "qed"])
def test_file_in_gzip(imprint, cluster, pool, images, disk, tmp_path, kind):
    """By way of a temporary image."""
    done = imprint.run("import", packed(images[kind], tmp_path), f"{pool}/disk", "--json")
    check(done, cluster, pool, disk, kind)


def archived(path, folder):
    """The file inside a compressed tar archive, which tells its length and is read front to back."""
    target = folder / "packed.tar.gz"
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        archive.add(path, "disk.vhd")
    return target


@pytest.mark.parametrize("how", ["fitted", "size", "existing"])
def test_fixed_vhd_in_an_archive(imprint, cluster, pool, images, disk, tmp_path, how):
    """As clouds hand them out: the footer is not a part of the disk, and needs no room."""
    size = os.path.getsize(disk)
    flags = {"fitted": [], "size": ["--size", size], "existing": ["--existing"]}[how]
    if how == "existing":
        with cluster.ioctx(pool) as ioctx:
            rbd.RBD().create(ioctx, "disk", size)
    done = imprint.run("import", archived(images["vhd-fixed"], tmp_path), f"{pool}/disk", "--json", *flags)
    check(done, cluster, pool, disk, "vhd-fixed")
    assert done.result["virtualSize"] == size
    with cluster.image(pool, "disk", read_only=True) as image:
        assert image.size() == size


def test_a_sector_too_much_in_an_archive(imprint, cluster, pool, disk, tmp_path):
    """It could have been a footer."""
    larger = tmp_path / "larger.raw"
    shutil.copyfile(disk, larger)
    with open(larger, "ab") as file:
        file.write(b"!" * 512)
    path = archived(larger, tmp_path)
    refused(imprint, cluster, pool, TOO_LARGE, str(os.path.getsize(disk)), path, "--size",
            str(os.path.getsize(disk)))
    done = imprint.run("import", path, f"{pool}/disk", "--json")
    assert done.status == 0 and done.result["format"] == "raw", done
    assert same_as_file(cluster, pool, "disk", larger)


def test_pipe(imprint, cluster, pool, images, disk):
    done = imprint.run("import", "-", f"{pool}/disk", "--json", input=images["vdi"].read_bytes())
    check(done, cluster, pool, disk, "vdi")


def test_server(imprint, cluster, pool, images, disk, tmp_path):
    with nbd.QemuNbd(images["vhdx"], tmp_path, ["--read-only"]) as server:
        done = imprint.run("import", f"nbd+unix:///?socket={server.socket}", f"{pool}/disk", "--json",
                           "--allow-local-addresses")
    check(done, cluster, pool, disk, "vhdx")


def test_existing_image(imprint, cluster, pool, images, disk):
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, "disk", 80 * MIB)
    done = imprint.run("import", images["qed"], f"{pool}/disk", "--existing", "--json")
    check(done, cluster, pool, disk, "qed")


def digest(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def test_checksum_is_of_the_file(imprint, cluster, pool, images, disk):
    done = imprint.run("import", images["vmdk"], f"{pool}/disk", "--json", "--checksum",
                       digest(images["vmdk"]))
    check(done, cluster, pool, disk, "vmdk")


# Refused, and nothing is left.

def refused(imprint, cluster, pool, status, text, *arguments):
    done = imprint.run("import", *arguments[:1], f"{pool}/disk", *arguments[1:])
    assert done.status == status, done.stderr
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert cluster.wait_empty(pool) == []


@pytest.mark.parametrize("how", ["file", "gzip"])
def test_wrong_checksum(imprint, cluster, pool, images, tmp_path, how):
    path = images["vmdk"] if how == "file" else packed(images["vmdk"], tmp_path)
    refused(imprint, cluster, pool, DAMAGED, "checksum", path, "--checksum", "sha256:" + 64 * "0")


@pytest.mark.parametrize("how", ["file", "gzip"])
@pytest.mark.parametrize("name", ["extent", "parent"])
def test_other_files_are_named(imprint, cluster, pool, tmp_path, name, how):
    path = tmp_path / "hostile"
    path.write_bytes(descriptor('RW 4 FLAT "/etc/passwd" 0') if name == "extent" else
                     descriptor("RW 4 ZERO", parent="12345678",
                                more='parentFileNameHint="/etc/passwd"'))
    path = path if how == "file" else packed(path, tmp_path)
    refused(imprint, cluster, pool, REFUSED, "refers to another file, '/etc/passwd'", path)


def test_backing_file(imprint, cluster, pool, disk, tmp_path):
    overlay = tmp_path / "overlay"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qed", "-b", disk, "-F", "raw", overlay], check=True)
    refused(imprint, cluster, pool, REFUSED, "refers to another file", overlay)


CLAIMS = {
    "vmdk": b"KDMV",
    "vdi": b"<<< Oracle VM VirtualBox Disk Image >>>\n".ljust(64, b"\0") + b"\x7f\x10\xda\xbe",
    "vhd": b"conectix",
    "vhdx": b"vhdxfile",
    "qed": b"QED\0",
}


@pytest.mark.parametrize("name", CLAIMS)
def test_only_the_beginning_is_right(imprint, cluster, pool, tmp_path, name):
    path = tmp_path / "claim"
    path.write_bytes(CLAIMS[name] + os.urandom(MIB))
    refused(imprint, cluster, pool, REFUSED, "qemu-nbd", path)


@pytest.mark.parametrize("kind", ["vmdk", "vdi", "vhd", "vhdx", "qed"])
@pytest.mark.parametrize("how", ["file", "gzip"])
def test_truncated(imprint, cluster, pool, images, tmp_path, kind, how):
    content = images[kind].read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(content[:len(content) // 2])
    path = path if how == "file" else packed(path, tmp_path)
    done = imprint.run("import", path, f"{pool}/disk")
    assert done.status in (REFUSED, DAMAGED), done.stderr
    assert cluster.wait_empty(pool) == []


@pytest.mark.parametrize("how", ["file", "gzip"])
def test_larger_than_the_volume(imprint, cluster, pool, images, tmp_path, how):
    path = images["vdi"] if how == "file" else packed(images["vdi"], tmp_path)
    refused(imprint, cluster, pool, TOO_LARGE, "more than the 33554432 that --size allows", path,
            "--size", "32Mi")


def test_larger_than_an_existing_image(imprint, cluster, pool, images):
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, "disk", 32 * MIB)
    done = imprint.run("import", images["vdi"], f"{pool}/disk", "--existing")
    assert done.status == TOO_LARGE, done.stderr
    assert data_bytes(cluster, pool, "disk") == 0


def test_bomb_in_gzip(imprint, cluster, pool, tmp_path):
    """More than twice the volume and what tables may take: no such file is worth its room."""
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(b"KDMV")
        for _ in range(280):
            out.write(b"x" * MIB)
    refused(imprint, cluster, pool, TOO_LARGE, "there is room for", path, "--size", "1Mi")


def test_luks(imprint, cluster, pool, tmp_path):
    path = tmp_path / "luks"
    path.write_bytes(b"LUKS\xba\xbe\0\2" + bytes(MIB))
    refused(imprint, cluster, pool, REFUSED, "encrypted (LUKS)", path)


def test_wrong_format(imprint, cluster, pool, images):
    refused(imprint, cluster, pool, REFUSED, "the image is vmdk, not vdi as --format says",
            images["vmdk"], "--format", "vdi")
