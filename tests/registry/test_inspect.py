# SPDX-License-Identifier: Apache-2.0
"""What `imprint inspect` says of images, without fetching them: it agrees with qemu-img about every
format and from every kind of source, also about those that an import would refuse."""

import gzip
import json
import os
import subprocess
import tarfile

import pytest
import rbd

import imprint as command
import oci_image
from fault_server import FaultServer, File
from images import GIB, KIB, MIB, qemu_img, qemu_io
from nbd import QemuNbd

FLAGS = ["--insecure-registry", "--allow-local-addresses"]
LARGE = 24 * MIB  # of a file that must not be fetched
GLANCE = 1 * MIB  # what may be


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("inspect")


@pytest.fixture(scope="module")
def large(folder):
    """A qcow2 file of LARGE random bytes and 10 GiB of disk."""
    path = folder / "large.qcow2"
    data = folder / "data.raw"
    data.write_bytes(os.urandom(LARGE))
    qemu_img("convert", "-f", "raw", "-O", "qcow2", data, path)
    qemu_img("resize", path, "10G")
    return path


@pytest.fixture
def inspect(imprint):
    """Runs the command: its JSON, once the table was seen to say the same."""

    def run(source, *flags, **options):
        done = imprint.run("inspect", source, "--json", *FLAGS, *flags, **options)
        assert done.status == command.DONE, done
        (line,) = done.stdout.decode().splitlines()
        return json.loads(line)

    return run


def made(folder, format, size="3G", **options):
    name = "-".join([format, *(f"{key}-{value}" for key, value in options.items())])
    path = folder / "".join(c if c.isalnum() or c in "-." else "_" for c in name)
    words = [word for item in options.items() for word in ("-o", "=".join(map(str, item)))]
    qemu_img("create", "-q", "-f", format, *words, path, size)
    return path


# ---- what a file is

@pytest.mark.parametrize("format, options, expected", [
    ("qcow2", {}, {"variant": "version 3", "compression": "zlib"}),
    ("qcow2", {"compat": "0.10"}, {"variant": "version 2", "compression": "zlib"}),
    ("qcow2", {"cluster_size": 512}, {}),
    ("qcow2", {"cluster_size": "2M"}, {}),
    ("qcow2", {"compression_type": "zstd"}, {"compression": "zstd"}),
    ("qcow2", {"extended_l2": "on"}, {"subclusters": True}),
    ("qcow2", {"lazy_refcounts": "on"}, {"lazyRefcounts": True}),
    ("qcow2", {"preallocation": "metadata"}, {"compressedClusters": "none"}),
    ("vmdk", {}, {"variant": "monolithicSparse"}),
    ("vmdk", {"subformat": "streamOptimized"}, {"variant": "streamOptimized", "compression": "zlib"}),
    ("vdi", {}, {"variant": "dynamic"}),
    ("vpc", {}, {"variant": "dynamic"}),
    ("vpc", {"force_size": "on"}, {}),
    ("vhdx", {}, {}),
    ("vhdx", {"block_size": "32M"}, {}),
    ("qed", {}, {}),
    ("raw", {}, {}),
], ids=str)
def test_formats(inspect, folder, format, options, expected):
    path = made(folder, format, **options)
    said = inspect(path)
    info = json.loads(qemu_img("info", "--output=json", "-f", format, path))
    assert said["format"] == {"vpc": "vhd"}.get(format, format)
    assert said["virtualSize"] == info["virtual-size"]
    assert said["size"] == os.path.getsize(path)
    if "cluster-size" in info:
        assert said["clusterSize"] == info["cluster-size"]
    assert said["importable"] is True
    assert {key: said[key] for key in expected} == expected
    assert "backingFile" not in said


def test_a_vhd_of_fixed_size(inspect, folder):
    path = made(folder, "vpc", size="64M", subformat="fixed")
    said = inspect(path)
    assert (said["format"], said["variant"]) == ("vhd", "fixed")
    assert said["virtualSize"] == os.path.getsize(path) - 512
    assert said["importable"] is True


def test_compressed_clusters_are_noticed(inspect, folder):
    data = folder / "text.raw"
    data.write_bytes(b"some text. " * 200_000 + bytes(100 * MIB))
    for flags, expected in ((["-c"], "all"), ([], "none")):
        path = folder / f"clusters-{expected}.qcow2"
        qemu_img("convert", *flags, "-f", "raw", "-O", "qcow2", data, path)
        assert inspect(path)["compressedClusters"] == expected
    qemu_io(folder / "clusters-all.qcow2", "write 0 64k")
    assert inspect(folder / "clusters-all.qcow2")["compressedClusters"] == "some"


def test_the_content_of_a_raw_disk(inspect, folder):
    path = folder / "mbr.raw"
    path.write_bytes(bytes(510) + b"\x55\xaa" + bytes(MIB))
    assert inspect(path)["content"] == "MBR"


def test_snapshots_are_counted(inspect, folder):
    path = made(folder, "qcow2", size="64M")
    qemu_img("snapshot", "-c", "one", path)
    assert inspect(path)["snapshots"] == 1


# ---- what is refused

def refused(said, text):
    assert said["importable"] is False
    assert text in said["refusal"]


def test_a_backing_file_is_named(inspect, folder):
    base = made(folder, "qcow2", size="5G")
    for format in ("qcow2", "qed", "vmdk"):
        path = folder / f"child.{format}"
        parent = base if format != "vmdk" else made(folder, "vmdk", size="5G")
        backing = "vmdk" if format == "vmdk" else "qcow2"
        qemu_img("create", "-q", "-f", format, "-b", parent, "-F", backing, path)
        said = inspect(path)
        assert said["virtualSize"] == 5 * GIB
        assert said["backingFile"] == str(parent)
        refused(said, str(parent))
    assert inspect(folder / "child.qcow2")["backingFormat"] == "qcow2"


def test_other_reasons(inspect, folder):
    refused(inspect(made(folder, "qcow2", size="1G", data_file=folder / "outside.raw")),
            "its data is in another file")
    refused(inspect(made(folder, "vmdk", size="1G", subformat="monolithicFlat")),
            "its data is in another file")
    encrypted = made(folder, "qcow2", size="64M", cluster_size="128k")
    with open(encrypted, "r+b") as file:
        file.seek(32)
        file.write(b"\0\0\0\2")
    said = inspect(encrypted)
    assert said["encryption"] == "LUKS"
    refused(said, "encrypted (LUKS)")
    unknown = made(folder, "qcow2", size="64M", cluster_size="1M")
    with open(unknown, "r+b") as file:
        file.seek(72)
        file.write(b"\0" * 7 + b"\x80")
    refused(inspect(unknown), "feature")
    (folder / "x.zip").write_bytes(b"PK\3\4" + bytes(1000))
    refused(inspect(folder / "x.zip"), "zip")


def test_a_file_that_was_cut_off(inspect, folder, large):
    cut = folder / "cut.qcow2"
    cut.write_bytes(large.read_bytes()[:-100 * KIB])
    said = inspect(cut)
    assert said["virtualSize"] == 10 * GIB
    refused(said, "truncated")
    cut.write_bytes(large.read_bytes()[:50])
    assert "virtualSize" not in inspect(cut)
    refused(inspect(cut), "ends in its header")


# ---- what is around it

def test_wrappings(inspect, folder):
    image = made(folder, "qcow2", size="10G", cluster_size="4k")
    qemu_io(image, "write -P 1 0 1M")
    for suffix, tool in (("gz", "gzip"), ("xz", "xz"), ("zst", "zstd")):
        with open(folder / f"image.{suffix}", "wb") as out:
            subprocess.run([tool, "-c", image], stdout=out, check=True)
    with tarfile.open(folder / "image.tar.gz", "w:gz") as archive:
        archive.add(image, "somewhere/image.qcow2")
    with tarfile.open(folder / "two.tar", "w") as archive:
        archive.add(folder / "image.gz", "one.gz")
        archive.add(made(folder, "qcow2", size="7G"), "two.qcow2")
    for name, wrapping in (("image.gz", "gzip"), ("image.xz", "xz"), ("image.zst", "zstd"),
                           ("image.tar.gz", "gzip, tar")):
        said = inspect(folder / name)
        assert (said["wrapping"], said["format"]) == (wrapping, "qcow2")
        assert said["virtualSize"] == 10 * GIB
        assert said["size"] == os.path.getsize(folder / name)
    said = inspect(folder / "two.tar", "--path=two.qcow2")
    assert (said["wrapping"], said["virtualSize"]) == ("tar", 7 * GIB)
    said = inspect(folder / "two.tar", "--path=one.gz")
    assert (said["wrapping"], said["virtualSize"]) == ("tar, gzip", 10 * GIB)
    raw = folder / "raw.gz"
    raw.write_bytes(gzip.compress(bytes(MIB)))
    said = inspect(raw)
    assert said["format"] == "raw"
    assert "virtualSize" not in said  # nobody knows before it is read


# ---- every kind of source, and what it is asked for

class Files:
    """Serves files by name, with ranges or without."""

    def __init__(self, **files):
        self.files = {}
        for name, data in files.items():
            self.files["/" + name] = file = File(size=0)
            file.data = data
        self.ranges = True

    def __call__(self, request, reply):
        status, headers, body = self.files[request.path].answer(request, ranges=self.ranges)
        reply.head(status, headers)
        for start in range(0, len(body), 64 * KIB):  # what nobody takes is not counted
            reply.send(body[start:start + 64 * KIB])


def test_http_is_asked_for_little(inspect, large):
    data = large.read_bytes()
    files = Files(plain=data, packed=gzip.compress(data, compresslevel=1))
    for name in ("plain", "packed"):
        with FaultServer(files) as server:
            said = inspect(server.url("/" + name))
            assert said["virtualSize"] == 10 * GIB
            assert said["identity"].startswith('etag:"v1"')
            assert server.sent < 2 * GLANCE
            assert all("range" in request.headers for request in server.requests)


def test_http_without_ranges_is_broken_off(inspect, large):
    files = Files(plain=large.read_bytes())
    files.ranges = False
    with FaultServer(files) as server:
        said = inspect(server.url("/plain"))
        assert said["virtualSize"] == 10 * GIB
        assert said["importable"] is True
        assert server.sent < LARGE / 2  # what the kernel takes ahead


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_a_registry_is_asked_for_little(inspect, fake, large, compression):
    data = large.read_bytes()
    image = oci_image.Image(oci_image.tar(("disk/a.qcow2", data)), compression=compression,
                            env=["A=b"], architecture="arm64")
    fake.add(image, "latest")
    said = inspect(fake.url())
    assert (said["format"], said["virtualSize"]) == ("qcow2", 10 * GIB)
    assert said["size"] == len(data)
    assert said["digest"] == image.digest
    assert said["container"] == {
        "digest": image.digest, "platform": "linux/arm64", "path": "disk/a.qcow2",
        "layer": oci_image.digest(image.layers[0]), "layerSize": len(image.layers[0]),
        "layerCompression": compression, "env": {"A": "b"}}
    assert "wrapping" not in said
    assert fake.sent < GLANCE
    # … and without ranges the answer is broken off.
    fake.has_ranges = False
    fake.sent = 0
    assert inspect(fake.url())["virtualSize"] == 10 * GIB
    assert fake.sent < LARGE / 2


def test_the_same_in_a_real_registry(inspect, foreign, real, tmp_path, large):
    layout = oci_image.layout(tmp_path / "layout",
                              oci_image.Image(oci_image.tar(("disk/a.qcow2", large.read_bytes()))))
    for format in ("oci", "v2s2"):
        url = real.url(f"inspect/{format}:1")
        foreign.copy(f"oci:{layout}:latest", url, "--format", format)
        said = inspect(url)
        theirs = json.loads(foreign.skopeo("inspect", "--tls-verify=false", url))
        assert said["digest"] == theirs["Digest"]
        assert [said["container"]["layer"]] == theirs["Layers"]
        assert said["virtualSize"] == 10 * GIB


@pytest.mark.parametrize("kind", ["oci-archive", "docker-archive"])
def test_archives(inspect, foreign, tmp_path, large, kind):
    image = oci_image.Image(oci_image.tar(("disk/a.qcow2", large.read_bytes())))
    layout = oci_image.layout(tmp_path / "layout", image)
    foreign.copy(f"oci:{layout}:latest", f"{kind}:{tmp_path}/x.tar:a/b:1")
    said = inspect(f"{kind}:{tmp_path}/x.tar")
    assert (said["format"], said["virtualSize"]) == ("qcow2", 10 * GIB)
    assert said["container"]["path"] == "disk/a.qcow2"


def test_files_and_pipes(inspect, large):
    assert inspect(f"file://{large}")["virtualSize"] == 10 * GIB
    said = inspect("-", input=large.read_bytes()[:MIB])
    assert (said["source"], said["virtualSize"]) == ("standard input", 10 * GIB)


def test_an_s3_store(inspect, large, s3):
    s3.upload_file(str(large), "inspect", "folder/large.qcow2")
    said = inspect("s3://inspect/folder/large.qcow2")
    assert (said["format"], said["virtualSize"]) == ("qcow2", 10 * GIB)
    assert said["identity"].startswith("etag:")


def test_an_nbd_server(inspect, tmp_path, large):
    for format, expected in (("raw", "qcow2"), ("qcow2", "raw")):
        with QemuNbd(large, tmp_path, image_format=format, options=["--read-only"]) as server:
            said = inspect(f"nbd+unix:///?socket={server.socket}")
            assert (said["format"], said["virtualSize"]) == (expected, 10 * GIB)


def test_an_rbd_image(inspect, cluster, pool):
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, "inspected", 3 * GIB)
        try:
            with rbd.Image(ioctx, "inspected") as image:
                image.create_snap("s")
            for url in (f"rbd:{pool}/inspected", f"rbd:{pool}/inspected@s"):
                said = inspect(url)
                assert (said["format"], said["virtualSize"]) == ("raw", 3 * GIB)
        finally:
            with rbd.Image(ioctx, "inspected") as image:
                image.remove_snap("s")
            rbd.RBD().remove(ioctx, "inspected")


# ---- the table, and what goes wrong

def test_the_table(imprint, real, folder, large):
    base = made(folder, "qcow2", size="6G")
    qemu_img("create", "-q", "-f", "qcow2", "-b", base, "-F", "qcow2", folder / "table.qcow2")
    done = imprint.run("inspect", folder / "table.qcow2")
    assert done.status == command.DONE
    rows = dict(line.split(None, 1) for line in done.stdout.decode().replace(" size", "-size")
                .splitlines())
    assert rows["format"] == "qcow2 (version 3)"
    assert rows["virtual-size"] == f"6.0 GiB ({6 * GIB} bytes)"
    assert rows["cluster-size"] == "64.0 KiB (65536 bytes)"
    assert rows["chain"] == f"backing file '{base}' (qcow2)"
    assert rows["import"].startswith("refused (qcow2: it has a backing file")
    done = imprint.run("inspect", large)
    assert "import        possible" in done.stdout.decode()


@pytest.mark.parametrize("source, status, text", [
    ("/nowhere/disk.img", command.NOT_FOUND, "/nowhere/disk.img"),
    ("gopher://x", command.REFUSED, "known are"),
    ("docker://127.0.0.1:1/a/b:1", command.UNREACHABLE, "127.0.0.1:1"),
    ("oci-archive:/nowhere.tar", command.NOT_FOUND, "/nowhere.tar"),
    ("rbd:imprint/nothing", command.NOT_FOUND, "nothing"),
    ("nbd+unix:///?socket=/nowhere.sock", command.NOT_FOUND, "/nowhere.sock"),
])
def test_what_cannot_be_looked_at(imprint, source, status, text):
    done = imprint.run("inspect", source, "--retries=1", *FLAGS)
    assert (done.status, done.stdout) == (status, b"")
    (line,) = done.stderr.splitlines()
    assert text in line


def test_images_without_a_disk(imprint, fake):
    fake.add(oci_image.Image(oci_image.tar(("etc/x", b"y"))), "latest")
    done = imprint.run("inspect", fake.url(), *FLAGS)
    assert done.status == command.NOT_FOUND
    assert "no file at '/disk'" in done.stderr
