# SPDX-License-Identifier: Apache-2.0
"""Images in archives on disk: as skopeo and buildah save them, and layers that other programs made."""

import json
import os
import subprocess
import tarfile

import pytest

import oci_image
from registry import Failure, info, read_in_steps, tool


def oci_archive(tmp_path, *images, **more):
    folder = oci_image.layout(tmp_path / "layout", *images, **more)
    return "oci-archive:" + oci_image.archive(tmp_path / "image.tar", folder)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_an_oci_archive(tmp_path, disk, compression):
    image = oci_image.Image(oci_image.tar(("etc/x", b"y"), ("disk/a", disk), ("etc/z", b"z")),
                            compression=compression, env=["A=b"])
    url = oci_archive(tmp_path, image)
    assert tool("cat", url) == disk
    facts = info(url)
    assert facts["identity"] == f"{image.digest}/disk/a"
    assert facts["env"] == {"A": "b"}
    assert facts["seek"] == (compression == "none")
    if compression == "none":
        assert tool("seek", url) == disk


def test_another_process_goes_on(tmp_path, disk):
    for compression in ("none", "gzip"):
        url = oci_archive(tmp_path / compression,
                          oci_image.Image(oci_image.tar(("disk/a", disk)), compression=compression))
        state = tmp_path / compression / "state"
        pieces = [tool("cat", url, stop_after=700_000, state=state) for _ in range(6)]
        assert b"".join(pieces) == disk


@pytest.mark.parametrize("kind", ["oci-archive", "docker-archive"])
def test_what_skopeo_saves(foreign, tmp_path, disk, other_disk, kind):
    image = oci_image.Image(oci_image.tar(("disk/old", other_disk)),
                            oci_image.tar(("disk/.wh.old", b""), ("disk/new", disk)),
                            compression="gzip", env=["A=b"])
    layout = oci_image.layout(tmp_path / "layout", image)
    path = tmp_path / "saved.tar"
    foreign.copy(f"oci:{layout}:latest", f"{kind}:{path}:disks/fedora:40")
    for url in (f"{kind}:{path}", f"{kind}:{path}:disks/fedora:40", f"{kind}:{path}:40"):
        try:
            assert tool("cat", url) == disk
        except Failure as failure:
            # docker's names are completed by skopeo with a registry of its own
            assert kind == "docker-archive" and ":disks/" in url and "it has '" in str(failure)
    assert info(f"{kind}:{path}")["env"]["A"] == "b"
    # An uncompressed layer, as docker's always are, is read anywhere.
    if kind == "docker-archive":
        assert tool("seek", f"{kind}:{path}") == disk
    # Which of the two it is, the archive says.
    assert tool("cat", f"oci-archive:{path}") == disk


def test_what_buildah_saves(foreign, tmp_path, disk):
    source = tmp_path / "disk.img"
    source.write_bytes(disk)
    container = foreign.buildah("from", "scratch")
    foreign.buildah("add", container, source, "/disk/")
    image = foreign.buildah("commit", container)
    for kind in ("oci-archive", "docker-archive"):
        path = tmp_path / f"{kind}.tar"
        foreign.buildah("push", image, f"{kind}:{path}:name:tag")
        assert tool("cat", f"{kind}:{path}") == disk


def test_several_images_in_one_archive(foreign, tmp_path, disk, other_disk):
    path = tmp_path / "saved.tar"
    folders = []
    for name, content in (("one", disk), ("two", other_disk)):
        folders.append(oci_image.layout(tmp_path / name,
                                        oci_image.Image(oci_image.tar(("disk/a", content)))))
    merged = tmp_path / "merged"
    for folder, name in zip(folders, ("one", "two")):
        foreign.copy(f"oci:{folder}:latest", f"oci:{merged}:{name}")
    oci_image.archive(path, merged)
    assert tool("cat", f"oci-archive:{path}:one") == disk
    assert tool("cat", f"oci-archive:{path}:two") == other_disk
    with pytest.raises(Failure, match="^INVALID_ARGUMENT: .*several images, say which: 'one', 'two'"):
        tool("cat", f"oci-archive:{path}")
    with pytest.raises(Failure, match="^NOT_FOUND: .*no image 'three'; it has 'one', 'two'"):
        tool("cat", f"oci-archive:{path}:three")


def test_an_index_in_an_archive(tmp_path, disk, other_disk):
    amd64 = oci_image.Image(oci_image.tar(("disk/a", disk)), architecture="amd64")
    arm64 = oci_image.Image(oci_image.tar(("disk/a", other_disk)), architecture="arm64")
    url = oci_archive(tmp_path, amd64, arm64, combined=oci_image.index(amd64, arm64))
    assert tool("cat", url, platform="amd64") == disk
    assert tool("cat", url, platform="arm64") == other_disk
    with pytest.raises(Failure, match="^NOT_FOUND: .*not there for linux/riscv64"):
        tool("cat", url, platform="riscv64")


def test_links_between_layers_of_a_docker_archive(tmp_path, disk):
    """Old versions of docker save a layer that is there twice as a symbolic link."""
    empty = oci_image.tar(("etc/x", b"y"))
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), empty, empty, compression="none")
    manifest = json.dumps([{"Config": "c.json", "RepoTags": None,
                            "Layers": ["0/layer.tar", "1/layer.tar", "2/layer.tar"]}]).encode()
    path = tmp_path / "docker.tar"
    path.write_bytes(oci_image.tar(("manifest.json", manifest), ("c.json", image.config),
                                   ("0/layer.tar", image.layers[0]), ("1/layer.tar", empty),
                                   ("2/layer.tar", "->../1/layer.tar")))
    assert tool("cat", f"docker-archive:{path}") == disk


# ---- broken archives

def test_damage_is_noticed(tmp_path, disk):
    for compression in ("none", "gzip"):
        image = oci_image.Image(oci_image.tar(("disk/a", disk)), compression=compression)
        url = oci_archive(tmp_path / compression, image)
        path = url.partition(":")[2]
        with open(path, "r+b") as file:
            where = file.read().find(image.layers[0]) + len(image.layers[0]) - 1
            file.seek(where)
            file.write(b"\x55")
        with pytest.raises(Failure, match="^DATA_LOSS: .*blob"):
            tool("cat", url)
        if compression == "none":
            with pytest.raises(Failure, match="^DATA_LOSS: .*digest"):
                tool("seek", url)


def test_a_manifest_of_another_digest(tmp_path, disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)))
    image.blobs[image.digest] += b" "
    with pytest.raises(Failure, match="^DATA_LOSS: .*bytes, not"):
        tool("cat", oci_archive(tmp_path / "longer", image))
    image.blobs[image.digest] = image.manifest.replace(b"gzip", b"zstd")
    with pytest.raises(Failure, match="^DATA_LOSS: .*digest"):
        tool("cat", oci_archive(tmp_path / "other", image))


@pytest.mark.parametrize("entries, message", [
    ([("x", b"y")], "INVALID_ARGUMENT: .*holds no container image"),
    ([("index.json", b"{")], "INVALID_ARGUMENT: .*not valid JSON"),
    ([("index.json", b'{"schemaVersion":2,"manifests":[]}')], "INVALID_ARGUMENT: .*0 entries"),
    ([("manifest.json", b"[]")], "NOT_FOUND: .*no image"),
    ([("manifest.json", b'[{"Layers":[]}]')], "INVALID_ARGUMENT: .*'Config' is left out"),
    ([("manifest.json", b'[{"Config":"c","Layers":["l"]}]')], "INVALID_ARGUMENT: .*no 'c'"),
    ([("manifest.json", b'[{"Config":"c","Layers":["l"]}]'), ("c", b"{}")],
     "INVALID_ARGUMENT: .*names 1 layers, the configuration 0"),
    ([("manifest.json", "->manifest.json")], "INVALID_ARGUMENT: .*holds no container image"),
])
def test_archives_that_make_no_sense(tmp_path, entries, message):
    path = tmp_path / "x.tar"
    path.write_bytes(oci_image.tar(*entries))
    with pytest.raises(Failure, match="^" + message):
        tool("cat", f"oci-archive:{path}")


def test_files_that_are_no_archives(tmp_path, disk):
    with pytest.raises(Failure, match="^NOT_FOUND: .*missing.tar"):
        tool("cat", f"oci-archive:{tmp_path}/missing.tar:latest")
    path = tmp_path / "x.tar"
    path.write_bytes(disk)
    with pytest.raises(Failure, match="^INVALID_ARGUMENT: .*not a tar archive"):
        tool("cat", f"oci-archive:{path}")
    with pytest.raises(Failure, match="^INVALID_ARGUMENT"):
        tool("cat", f"oci-archive:{tmp_path}")


@pytest.mark.parametrize("program", ["gzip", "xz", "zstd"])
def test_a_compressed_archive_is_named_as_such(tmp_path, disk, program):
    path = oci_archive(tmp_path, oci_image.Image(oci_image.tar(("disk/a", disk[:9999])))).partition(":")[2]
    packed = tmp_path / "packed"
    packed.write_bytes(subprocess.run([program, "-c", path], stdout=subprocess.PIPE, check=True).stdout)
    for kind in ("oci-archive", "docker-archive"):
        with pytest.raises(Failure, match=f"^UNIMPLEMENTED: .*is compressed.*{program} -d"):
            tool("cat", f"{kind}:{packed}")


def test_a_compressed_layer_in_a_docker_archive_is_refused(tmp_path, disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), compression="gzip")
    manifest = json.dumps([{"Config": "c.json", "Layers": ["layer.tar"]}]).encode()
    path = tmp_path / "docker.tar"
    path.write_bytes(oci_image.tar(("manifest.json", manifest), ("c.json", image.config),
                                   ("layer.tar", image.layers[0])))
    with pytest.raises(Failure, match="^UNIMPLEMENTED: .*layer 'layer.tar' is compressed"):
        tool("cat", f"docker-archive:{path}")


# ---- archives of other programs, as layers

def layer_by(tmp_path, disk, *command):
    """The archive that a command makes of a tree with the disk in it."""
    tree = tmp_path / "tree"
    long = "a" * 90 + "/" + "b" * 90 + "/" + "c" * 90
    (tree / "disk" / long).mkdir(parents=True)
    (tree / "disk" / long / ("d" * 120)).write_bytes(disk)
    (tree / "etc").mkdir()
    (tree / "etc" / "link").symlink_to("x" * 300)
    (tree / "etc" / "file").write_bytes(b"x" * 1000)
    os.link(tree / "etc" / "file", tree / "etc" / "hard")
    return subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("format", ["gnu", "oldgnu", "pax"])
def test_archives_of_gnu_tar(tmp_path, disk, format):
    archive = layer_by(tmp_path, disk, "tar", f"--format={format}", "-cf", "-", ".")
    assert tool("cat", oci_archive(tmp_path, oci_image.Image(archive))) == disk


def test_archives_of_gnu_tar_with_attributes(tmp_path, disk):
    archive = layer_by(tmp_path, disk, "tar", "--format=pax", "--numeric-owner",
                       "--pax-option=exthdr.name=%d/x/%f,comment=" + "y" * 5000, "-cf", "-", ".")
    assert tool("cat", oci_archive(tmp_path, oci_image.Image(archive))) == disk


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_python(tmp_path, disk, format):
    path = "disk/" + "a" * 80 + "/" + "b" * 90
    archive = oci_image.tar((path, disk), format=format)
    assert tool("cat", oci_archive(tmp_path, oci_image.Image(archive))) == disk


def test_old_archives(tmp_path, disk):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "a").write_bytes(disk)
    for format in ("v7", "ustar"):
        archive = subprocess.run(["tar", f"--format={format}", "-cf", "-", "disk"], cwd=tmp_path,
                                 stdout=subprocess.PIPE, check=True).stdout
        assert tool("cat", oci_archive(tmp_path / format, oci_image.Image(archive))) == disk


@pytest.mark.parametrize("format", [["--format=gnu"], ["--format=pax", "--sparse-version=0.0"],
                                    ["--format=pax", "--sparse-version=0.1"],
                                    ["--format=pax", "--sparse-version=1.0"]])
def test_sparse_files(tmp_path, disk, format):
    (tmp_path / "disk").mkdir()
    (tmp_path / "etc").mkdir()
    for name in ("disk/a", "etc/sparse"):
        with open(tmp_path / name, "wb") as file:
            for i in range(30):  # more holes than a header has room for
                file.seek(i * 100_000)
                file.write(b"x" * 5000)
    def archive(*names):
        return subprocess.run(["tar", "--sparse", *format, "-cf", "-", *names], cwd=tmp_path,
                              stdout=subprocess.PIPE, check=True).stdout
    sparse = (tmp_path / "disk" / "a").read_bytes()
    for compression in ("gzip", "none"):
        folder = tmp_path / compression
        url = oci_archive(folder, oci_image.Image(archive("etc/sparse", "disk/a"), compression=compression))
        assert tool("cat", url) == sparse
        content, processes = read_in_steps(url, folder, 700_001)
        assert content == sparse and processes > 3
    (tmp_path / "disk" / "a").write_bytes(disk)
    image = oci_image.Image(archive("etc/sparse", "disk/a"))
    assert tool("cat", oci_archive(tmp_path / "2", image)) == disk
