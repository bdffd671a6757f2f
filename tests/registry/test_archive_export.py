# SPDX-License-Identifier: Apache-2.0
"""`imprint export … oci-archive:` and `imprint push … oci-archive:`: archives as skopeo, tar and
`imprint import` read them, and that nobody ever sees half of one."""

import gzip
import io
import json
import os
import signal
import subprocess
import tarfile
import time

import pytest

import imprint as command
from images import MIB, fill, qemu_img, same

SIZE = 24 * MIB + 512


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archive-export")


@pytest.fixture(scope="module")
def raw(folder):
    return fill(folder / "disk.raw", SIZE)


@pytest.fixture(scope="module")
def source(cluster, pool, raw):
    cluster.put_image(pool, "archived", raw)
    yield f"{pool}/archived"
    assert not cluster.snapshots(pool, "archived")
    cluster.remove_image(pool, "archived")


def made(command_, *arguments):
    done = command_.run(*arguments, "--json")
    assert done.status == command.DONE, done
    return done.result


def fetched(foreign, url, tmp_path):
    """What skopeo makes of it: (manifest, the disk's tar entry, its bytes)."""
    target = tmp_path / "fetched"
    subprocess.run(["rm", "-rf", target], check=True)
    foreign.copy(url, f"dir:{target}")
    manifest = json.loads((target / "manifest.json").read_bytes())
    (layer,) = manifest["layers"]
    data = (target / layer["digest"].partition(":")[2]).read_bytes()
    if layer["mediaType"].endswith("gzip"):
        data = gzip.decompress(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        directory, disk = archive.getmembers()
        assert (directory.name, directory.uid, directory.gid) == ("disk", 107, 107)
        return manifest, disk, archive.extractfile(disk).read()


def check_import(imprint, cluster, pool, url, tmp_path, expected):
    done = imprint.run("import", url, f"{pool}/archived-back")
    assert done.status == command.DONE, done
    cluster.get_image(pool, "archived-back", tmp_path / "back.raw")
    assert same(tmp_path / "back.raw", expected)
    cluster.remove_image(pool, "archived-back")


@pytest.mark.parametrize("flags, is_gzip", [
    ([], True), (["--format=raw"], True), (["--format=raw", "--layer=none"], False),
    (["--compress=zstd"], False), (["--compress=none", "--layer=none"], False)])
def test_an_export(sandboxed, foreign, cluster, pool, source, raw, tmp_path, flags, is_gzip):
    """As people run it, in its sandbox; and the archive is as good as a registry's image."""
    path = tmp_path / "disk.tar"
    url = f"oci-archive:{path}"
    said = made(sandboxed, "export", source, url, *flags)
    assert json.loads(foreign.skopeo("inspect", url))["Digest"] == said["digest"]
    manifest, disk, data = fetched(foreign, url, tmp_path)
    assert manifest["layers"][0]["mediaType"].endswith("gzip") == is_gzip
    assert (disk.name, disk.uid, disk.gid, disk.mode) == ("disk/disk.img", 107, 107, 0o440)
    (tmp_path / "x").write_bytes(data)
    qemu_img("compare", "-f", "raw" if "--format=raw" in flags else "qcow2", "-F", "raw", tmp_path / "x", raw)
    check_import(sandboxed, cluster, pool, url, tmp_path, raw)
    assert os.listdir(tmp_path) and not [name for name in os.listdir(tmp_path) if "part" in name]


def test_it_is_the_image_that_a_registry_gets(imprint, real, cluster, source, tmp_path):
    flags = ["--insecure-registry", "--allow-local-addresses"]
    into_registry = made(imprint, "push", source, real.url("archive/same:1"), *flags)
    assert made(imprint, "push", source, f"oci-archive:{tmp_path}/a.tar")["digest"] == into_registry["digest"]


@pytest.mark.parametrize("name, make, layer_is_gzip", [
    ("fedora.raw", ["-O", "raw"], True), ("small.qcow2", ["-c", "-O", "qcow2"], False)])
def test_a_file_is_pushed(imprint, sandboxed, foreign, cluster, pool, raw, tmp_path, name, make, layer_is_gzip):
    path = tmp_path / name
    qemu_img("convert", "-f", "raw", *make, raw, path)
    for number, program in enumerate((imprint, sandboxed)):
        url = f"oci-archive:{tmp_path}/{number}.tar"
        said = made(program, "push", path, url)
        assert said["fetched"] == os.path.getsize(path)  # it is read once
    manifest, disk, data = fetched(foreign, url, tmp_path)
    assert said["digest"] == json.loads(foreign.skopeo("inspect", url))["Digest"]
    assert manifest["layers"][0]["mediaType"].endswith("gzip") == layer_is_gzip
    assert disk.name == f"disk/{name}"
    assert data == path.read_bytes()
    check_import(imprint, cluster, pool, url, tmp_path, raw)


def test_names(imprint, foreign, source, tmp_path):
    """The image is saved under a name, as with skopeo, and found by it."""
    path = tmp_path / "named.tar"
    said = made(imprint, "export", source, f"oci-archive:{path}:vms/debian:12")
    for name in ("vms/debian:12", "12"):
        done = imprint.run("inspect", f"oci-archive:{path}:{name}")
        assert done.status == command.DONE, done
    assert imprint.run("inspect", f"oci-archive:{path}:13").status == command.NOT_FOUND
    assert json.loads(foreign.skopeo("inspect", f"oci-archive:{path}:vms/debian:12"))["Digest"] == said["digest"]


def test_the_archive_itself(imprint, source, tmp_path):
    """Plain tar reads it; zeros of a layer that is not compressed are holes."""
    path = tmp_path / "plain.tar"
    made(imprint, "export", source, f"oci-archive:{path}", "--format=raw", "--layer=none")
    listed = subprocess.run(["tar", "-tf", path], check=True, capture_output=True, text=True).stdout.split()
    assert listed[:3] == ["oci-layout", "blobs/", "blobs/sha256/"]
    assert listed[-1] == "index.json" and len(listed) == 7
    with tarfile.open(path) as archive:
        layer = archive.getmembers()[3]
        assert layer.size > SIZE
        assert json.load(archive.extractfile("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    assert os.stat(path).st_blocks * 512 < SIZE - 4 * MIB


def test_another_platform(imprint, foreign, source, tmp_path):
    url = f"oci-archive:{tmp_path}/arm.tar"
    made(imprint, "export", source, url, "--platform=arm64/v8", "--disk-name=d.img")
    config = json.loads(foreign.skopeo("--override-arch=arm64", "inspect", "--config", url))
    assert (config["architecture"], config["variant"]) == ("arm64", "v8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_is_broken_off_is_never_seen(imprint, cluster, pool, source, raw, tmp_path, number):
    """What was there before stays until the new one is whole; what a killed one left is taken over."""
    path = tmp_path / "disk.tar"
    path.write_text("before")
    running = imprint.start("export", source, f"oci-archive:{path}", "--format=raw", "--layer=none")
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{path}.imprint-part"):
        assert time.monotonic() < deadline and running.popen.poll() is None
        time.sleep(0.001)
    running.signal(number)
    if running.wait().status != command.DONE:
        assert path.read_text() == "before"
        assert os.path.exists(f"{path}.imprint-part") == (number == signal.SIGKILL)
    made(imprint, "export", source, f"oci-archive:{path}")
    assert os.listdir(tmp_path) == ["disk.tar"]
    check_import(imprint, cluster, pool, f"oci-archive:{path}", tmp_path, raw)


@pytest.mark.parametrize("url, text", [
    ("oci-archive:", "PATH"), ("oci-archive:-", "PATH"), ("oci-archive:/tmp", "no file"),
    ("oci-archive:/dev/null", "no file"), ('oci-archive:/tmp/x.tar:a"b', "cannot name an image")])
def test_what_cannot_be_made(imprint, source, url, text):
    for verb, what in (("export", source), ("push", "/etc/hostname")):
        done = imprint.run(verb, what, url)
        assert done.status == command.REFUSED, done
        (line,) = done.stderr.splitlines()
        assert text in line
