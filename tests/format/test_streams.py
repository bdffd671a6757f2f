# SPDX-License-Identifier: Apache-2.0
"""Compressed files made by the usual programs, and images inside them."""

import subprocess

import pytest

import images
from images import MIB, Refused, fill, qemu_img, read

PACKERS = {
    "gzip": ["gzip", "-c"],
    "gzip -1": ["gzip", "-1", "-c"],
    "gzip -9": ["gzip", "-9", "-c"],
    "xz": ["xz", "-c", "-T1"],
    "xz -0, blocks": ["xz", "-0", "-c", "--block-size=300000"],
    "zstd": ["zstd", "-q", "-c"],
    "zstd -19": ["zstd", "-q", "-19", "-c"],
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("disk") / "disk.raw", 12 * MIB + 512)


def pack(packer, source, target, mode="wb"):
    with open(target, mode) as out:
        subprocess.run([*PACKERS[packer], str(source)], stdout=out, check=True)
    return target


@pytest.mark.parametrize("packer", PACKERS)
def test_unpacked(disk, tmp_path, packer):
    packed = pack(packer, disk, tmp_path / "packed")
    for options in ([], ["--piece", "1000"]):
        read(["unpack"], packed, tmp_path / "out", *options)
        assert images.same(tmp_path / "out", disk), options


@pytest.mark.parametrize("packer", PACKERS)
def test_pieces_that_follow_each_other(disk, tmp_path, packer):
    packed, twice = tmp_path / "packed", tmp_path / "twice.raw"
    pack(packer, disk, packed)
    pack(packer, disk, packed, "ab")
    with open(disk, "rb") as file:
        content = file.read()
    with open(twice, "wb") as file:
        file.write(content * 2)
    read(["unpack"], packed, tmp_path / "out")
    assert images.same(tmp_path / "out", twice)


@pytest.mark.parametrize("packer", ["gzip", "gzip -1", "gzip -9"])
@pytest.mark.parametrize("every", [1, 65536, 1234567])
def test_gzip_restarted(disk, tmp_path, packer, every):
    if every == 1:  # so many restarts take long
        with open(tmp_path / "start", "wb") as file, open(disk, "rb") as start:
            file.write(start.read(3 * MIB)[-2000:])
        disk = tmp_path / "start"
    packed = pack(packer, disk, tmp_path / "packed")
    said = read(["unpack"], packed, tmp_path / "out", "--save-every", str(every))
    assert said["saves"] > 0
    assert said["state_max"] < MIB
    assert images.same(tmp_path / "out", disk)


@pytest.mark.parametrize("packer", PACKERS)
def test_truncated(disk, tmp_path, packer):
    packed = pack(packer, disk, tmp_path / "packed")
    with open(packed, "rb") as file:
        content = file.read()
    for cut in [*range(7, len(content), len(content) // 23), len(content) - 1]:
        with open(packed, "wb") as file:
            file.write(content[:cut])
        with pytest.raises(Refused, match="DATA_LOSS.*too early"):
            read(["unpack"], packed, tmp_path / "out")


@pytest.mark.parametrize("packer", PACKERS)
def test_changed_by_a_bit(disk, tmp_path, packer):
    packed = pack(packer, disk, tmp_path / "packed")
    with open(packed, "rb") as file:
        content = bytearray(file.read())
    for place in range(len(content) // 29, len(content), len(content) // 29):
        content[place] ^= 4
        with open(packed, "wb") as file:
            file.write(content)
        with pytest.raises(Refused):
            read(["unpack"], packed, tmp_path / "out")
        content[place] ^= 4


def test_limits_of_memory(disk, tmp_path):
    for command, text in (
        (["xz", "-c", "--lzma2=preset=0,dict=1GiB"], "needs 1[0-9]* MiB of memory"),
        (["zstd", "-q", "-c", "--ultra", "--long=30"], "window of more than 128 MiB"),
    ):
        # from a pipe, so that the packer does not see how little there is
        with open(tmp_path / "packed", "wb") as out, open(disk, "rb") as source:
            subprocess.run(command, stdin=source, stdout=out, check=True)
        with pytest.raises(Refused, match=text):
            read(["unpack"], tmp_path / "packed", tmp_path / "out")


@pytest.mark.parametrize("packer", ["gzip", "xz", "zstd"])
@pytest.mark.parametrize("compressed", [[], ["-c"]], ids=["plain", "compressed"])
def test_qcow2_inside(disk, tmp_path, packer, compressed):
    image = tmp_path / "image"
    qemu_img("convert", *compressed, "-O", "qcow2", disk, image)
    packed = pack(packer, image, tmp_path / "packed")
    options = ["--save-every", "1000000"] if packer == "gzip" else []
    said = read(["stream"], packed, tmp_path / "out", *options)
    assert said["spooled"] == 0
    assert images.same(tmp_path / "out", disk)


def test_formats_are_told_apart(disk, tmp_path):
    expected = {}
    for form in ("qcow2", "qed", "vdi", "vhdx", "vmdk", "raw"):
        qemu_img("create", "-f", form, tmp_path / form, "5M")
        expected[form] = form
    qemu_img("create", "-f", "vpc", tmp_path / "vhd", "5M")
    qemu_img("create", "-f", "vpc", "-o", "subformat=fixed", tmp_path / "vhd_fixed", "5M")
    expected.update(vhd="vhd", vhd_fixed="raw")
    qemu_img(
        *["create", "--object", "secret,id=key,data=abc", "-f", "luks", "-o"],
        *["key-secret=key,iter-time=10", tmp_path / "luks", "5M"],
    )
    expected["luks"] = "luks"
    for packer in ("gzip", "xz", "zstd"):
        pack(packer, disk, tmp_path / packer)
        expected[packer] = packer
    subprocess.run(["tar", "-C", tmp_path, "-cf", tmp_path / "tar", "raw"], check=True)
    expected["tar"] = "tar"
    for name, form in expected.items():
        said = read(["probe"], tmp_path / name)
        assert said["format"] == form, name
        assert said["vhd_footer"] == (name in ("vhd_fixed",)), name
