# SPDX-License-Identifier: Apache-2.0
"""Container disks that we push, read back by others; and pushes to a registry that fails."""

import gzip
import io
import json
import os
import tarfile

import pytest

import oci_image
from registry import Failure, info, tool


LARGE_CHUNKS = 4


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A file of some chunks of an upload, with a hole in it; its path."""
    path = tmp_path_factory.mktemp("large") / "disk.img"
    path.write_bytes(oci_image.make_disk(3, 10 << 20) + bytes(10 << 20) + oci_image.make_disk(4, (5 << 20) + 13))
    return path


def unpacked(foreign, url, tmp_path):
    """The files of a pushed image as skopeo fetches them: (manifest, config, layer as a tar)."""
    folder = tmp_path / "fetched"
    foreign.copy(url, f"dir:{folder}")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    config = json.loads((folder / manifest["config"]["digest"].partition(":")[2]).read_bytes())
    (layer,) = manifest["layers"]
    data = (folder / layer["digest"].partition(":")[2]).read_bytes()
    if layer["mediaType"].endswith("gzip"):
        data = gzip.decompress(data)
    assert config["rootfs"]["diff_ids"] == [oci_image.digest(data)]
    return manifest, config, tarfile.open(fileobj=io.BytesIO(data))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("command", ["push", "sink"])
def test_others_read_what_is_pushed(foreign, real, tmp_path, large, command, compressed):
    url = real.url(f"push/{command}-{compressed}".lower() + ":1.0")
    options = {"gzip": True} if compressed else {}
    said = tool(command, url, large, name="fedora-40.qcow2", platform="arm64/v8", **options)
    manifest, config, layer = unpacked(foreign, url, tmp_path)
    digest = json.loads(foreign.skopeo("inspect", "--tls-verify=false", "--override-arch=arm64",
                                       url))["Digest"]
    if command == "push":
        assert said.decode().strip() == digest
    assert manifest["mediaType"] == oci_image.MANIFEST
    assert manifest["layers"][0]["mediaType"] == oci_image.LAYER + ("+gzip" if compressed else "")
    assert (config["architecture"], config["variant"], config["os"]) == ("arm64", "v8", "linux")
    assert config["created"] == "1970-01-01T00:00:00Z"
    folder, file = layer.getmembers()
    assert (folder.name, folder.isdir(), folder.mode) == ("disk", True, 0o555)
    assert (file.name, file.isreg(), file.mode) == ("disk/fedora-40.qcow2", True, 0o440)
    for entry in (folder, file):
        assert (entry.uid, entry.gid, entry.mtime) == (107, 107, 0)
    assert layer.extractfile(file).read() == large.read_bytes()
    # … and so do we.
    assert tool("cat", url) == large.read_bytes()


def test_buildah_takes_it_for_an_image(foreign, real, large):
    url = real.url("push/buildah:1")
    tool("push", url, large, gzip=True)
    container = foreign.buildah("from", "--tls-verify=false", url)
    root = foreign.buildah("mount", container)
    path = os.path.join(root, "disk", "disk.img")
    with open(path, "rb") as file:
        assert file.read() == large.read_bytes()
    status = os.stat(path)
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (107, 107, 0o440)
    foreign.buildah("umount", container)


def test_the_same_disk_is_the_same_image(real, large):
    first = tool("push", real.url("push/same:1"), large, gzip=True)
    second = tool("push", real.url("push/same:2"), large, gzip=True)
    other = tool("push", real.url("push/same:3"), large)
    assert first == second != other


def test_a_tag_is_moved(real, tmp_path, disk, other_disk):
    path = tmp_path / "disk.img"
    for content in (disk, other_disk):
        path.write_bytes(content)
        digest = tool("push", real.url("push/moved"), path).decode().strip()
        assert tool("resolve", real.url("push/moved:latest")).decode().strip() == digest
        assert tool("cat", real.url("push/moved")) == content


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 8 << 20, (8 << 20) - 1536, (8 << 20) - 1535])
def test_sizes_at_the_edges(real, tmp_path, size):
    path = tmp_path / "disk.img"
    path.write_bytes(oci_image.make_disk(5, size))
    for options in ({}, {"gzip": True}):
        tool("push", real.url(f"push/edge{size}"), path, **options)
        assert tool("cat", real.url(f"push/edge{size}")) == path.read_bytes()


def test_a_layer_that_is_there_is_not_sent(fake, large):
    first = tool("push", fake.url("t/disk:1"), large)
    patches = fake.count("PATCH", "/uploads/")
    assert patches == 5  # 25 MiB in parts of 8 MiB, and the configuration
    assert tool("push", fake.url("t/disk:2"), large, probed=True) == first
    assert fake.count("PATCH", "/uploads/") == patches
    assert tool("cat", fake.url("t/disk:2")) == large.read_bytes()


def test_a_layer_of_another_repository_is_mounted(foreign, real, tmp_path, large):
    digest = tool("push", real.url("push/origin:1"), large, gzip=True)
    again = tool("push", real.url("push/mounted:1"), large, gzip=True, probed=True,
                 mount_from="push/origin")
    assert again == digest
    assert tool("cat", real.url("push/mounted:1")) == large.read_bytes()
    # One that is not there is sent after all.
    tool("push", real.url("push/mounted:2"), large, probed=True, mount_from="push/nowhere")
    assert tool("cat", real.url("push/mounted:2")) == large.read_bytes()


# ---- refusals

@pytest.mark.parametrize("url, options, message", [
    ("t/disk@sha256:" + "0" * 64, {}, "INVALID_ARGUMENT: .*pushed under a tag"),
    ("T/Disk:1", {}, "INVALID_ARGUMENT: .*repository is malformed"),
    ("t/disk:1", {"name": "../x"}, "INVALID_ARGUMENT: .*cannot name the disk"),
    ("t/disk:1", {"name": "a b"}, "INVALID_ARGUMENT: .*cannot name the disk"),
    ("t/disk:1", {"name": "x" * 65}, "INVALID_ARGUMENT: .*cannot name the disk"),
    ("t/disk:1", {"platform": '"'}, "INVALID_ARGUMENT: .*platform"),
])
def test_what_cannot_be_pushed(fake, large, url, options, message):
    with pytest.raises(Failure, match="^" + message):
        tool("push", fake.url(url), large, **options)
    assert not fake.manifests and not fake.uploads


# ---- a registry that fails

@pytest.mark.parametrize("faults", [
    [("break", 0)],
    [("break", 1_000_000)],
    [None, ("break", 5 << 20), ("break", 100), ("break", 3)],
    [("lost",)],
    [None, ("lost",), ("lost",)],
    [("status", 503), ("status", 500)],
    [None, ("status", 429), None, ("status", 502)],
])
def test_an_upload_goes_on_where_it_broke(fake, large, faults):
    fake.patch_faults = list(faults)
    tool("push", fake.url(), large)
    assert tool("cat", fake.url()) == large.read_bytes()
    assert fake.patch_faults == []
    assert not fake.uploads
    # Nothing was sent again without asking first what has arrived.
    failed = sum(fault is not None for fault in faults)
    assert fake.count("GET", "/blobs/uploads/") == failed
    assert fake.count("PATCH", "/blobs/uploads/") - failed <= LARGE_CHUNKS + 1  # the configuration


def test_an_upload_that_is_given_up_begins_anew(fake, large):
    """As docker-registry does when a part of an upload breaks off."""
    fake.forgets_uploads = True
    fake.patch_faults = [None, ("break", 1_000_000)]
    tool("push", fake.url(), large)
    assert tool("cat", fake.url()) == large.read_bytes()
    assert not fake.uploads
    # A sink cannot begin anew: its bytes are gone.
    fake.patch_faults = [None, ("break", 1_000_000)]
    with pytest.raises(Failure, match="^ABORTED: .*given the upload up"):
        tool("sink", fake.url("t/disk:sink"), large, name="another.img")  # another layer
    assert "sink" not in fake.manifests


def test_a_registry_that_always_fails(fake, large):
    fake.patch_faults = [("status", 500)] * 100
    with pytest.raises(Failure, match="^UNAVAILABLE: "):
        tool("push", fake.url(), large)
    assert not fake.manifests
    assert not fake.uploads  # taken back


def test_the_last_step_of_an_upload(fake, large):
    fake.put_faults = ["lost"]
    tool("push", fake.url("t/disk:1"), large)
    fake.blobs.clear()
    fake.put_faults = [("status", 500), ("status", 503)]
    tool("push", fake.url("t/disk:2"), large)
    assert tool("cat", fake.url("t/disk:2")) == large.read_bytes()
    fake.blobs.clear()
    fake.put_faults = [("status", 400)]
    with pytest.raises(Failure, match="^INVALID_ARGUMENT: "):
        tool("push", fake.url("t/disk:3"), large)
    assert "3" not in fake.manifests
    assert not fake.uploads


def test_a_file_that_is_not_there(fake):
    with pytest.raises(Failure):
        tool("push", fake.url(), "/nonexistent")
    assert not fake.requests


def test_what_is_pushed_tells_its_size(fake, large):
    tool("push", fake.url(), large)
    assert info(fake.url())["size"] == large.stat().st_size
