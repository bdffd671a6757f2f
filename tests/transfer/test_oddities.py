# SPDX-License-Identifier: Apache-2.0
"""Files as people have them lying about: tiny ones, sizes that are no multiple of anything, one wrapping in
another, archives put together from pieces, servers with an address of the other family."""

import gzip
import http.server
import io
import lzma
import os
import socket
import subprocess
import tarfile
import threading

import pytest

import imprint as command
import s3_store
from disk_images import make
from images import MIB, fill

LOCAL = ["--allow-local-addresses"]


def whole_sectors(size):
    """As qemu takes a raw file."""
    return -(-size // 512) * 512


def check_raw(cluster, image, content):
    """The content, and zeros up to the end of the image."""
    pool, name = image.split("/")
    with cluster.image(pool, name, read_only=True) as opened:
        assert opened.size() == whole_sectors(len(content))
        assert opened.read(0, opened.size()) == content.ljust(opened.size(), b"\0")


# ---- sizes


def offer(places, source, path):
    url, flags = places.offer(source, path)
    return url, [*flags], ({"input": path.read_bytes()} if source == "pipe" else {})


@pytest.mark.parametrize("source", ["file", "pipe", "http", "http-whole", "s3"])
@pytest.mark.parametrize("size", [1, 511, 513, 65537, MIB + 1])
def test_sizes_that_are_no_multiple_of_anything(cluster, imprint, places, tmp_path, name, image, size,
                                                source):
    content = bytes(range(1, 200)) * (size // 199 + 1)
    path = tmp_path / name
    path.write_bytes(content[:size])
    url, flags, more = offer(places, source, path)
    done = imprint.run("import", url, image, "--json", *flags, **more)
    places.take_back(source, path)
    assert done.status == command.DONE, done
    assert done.result["format"] == "raw" and done.result["virtualSize"] == whole_sectors(size)
    check_raw(cluster, image, content[:size])


@pytest.mark.parametrize("source", ["file", "pipe", "http", "http-whole", "s3"])
@pytest.mark.parametrize("size", [None, 3 * MIB])
def test_nothing_is_a_blank_disk(cluster, pool, imprint, places, tmp_path, name, image, size, source):
    """As `rbd import` and qemu-img take it."""
    path = tmp_path / name
    path.write_bytes(b"")
    url, flags, more = offer(places, source, path)
    wanted = ["--size", str(size)] if size else []
    done = imprint.run("import", url, image, "--json", *wanted, *flags, **more)
    places.take_back(source, path)
    assert done.status == command.DONE, done
    assert done.result["virtualSize"] == 0 and done.result["written"] == 0
    with cluster.image(pool, name, read_only=True) as opened:
        assert opened.size() == (size or 0)
        assert not any(opened.read(0, opened.size()))


# ---- one in another


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("small") / "disk.raw", 9 * MIB + 512, pieces=30, seed=3)


def in_tar(mode, data, arcname="disk.img"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        entry = tarfile.TarInfo(arcname)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zstd(data, *flags):
    return subprocess.run(["zstd", "-q", "-c", *flags], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def halves(data, pack):
    return pack(data[:len(data) // 2]) + pack(data[len(data) // 2:])


def skippable(data):
    """A frame that decoders pass over; zstd:chunked puts its table of contents into one."""
    return b"\x50\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data


PACKED = {
    "tar.xz": lambda data: lzma.compress(in_tar("w:", data), preset=0),
    "tar.zst": lambda data: zstd(in_tar("w:", data)),
    "gz in tar": lambda data: in_tar("w:", gzip.compress(data, 1)),
    "xz in tar": lambda data: in_tar("w:", lzma.compress(data, preset=0)),
    "xz in tar.gz": lambda data: in_tar("w:gz", lzma.compress(data, preset=0)),
    "gz of several members": lambda data: halves(data, lambda part: gzip.compress(part, 1)),
    "xz of several streams, padded": lambda data: halves(
        data, lambda part: lzma.compress(part, preset=0) + bytes(8)),
    "xz of many blocks": lambda data: subprocess.run(
        ["xz", "-0", "-c", "--block-size=1MiB", "-T2"], input=data, stdout=subprocess.PIPE,
        check=True).stdout,
    "zst of several frames": lambda data: skippable(b"before") + halves(data, zstd) + skippable(
        b"after"),
    "zst with a long window": lambda data: zstd(data, "--long=27"),
}


@pytest.mark.parametrize("source", ["file", "pipe", "http"])
@pytest.mark.parametrize("packing", PACKED)
def test_one_in_another(cluster, imprint, places, small, tmp_path, name, image, packing, source):
    plain = make("v3", small, str(tmp_path / "plain"))
    with open(plain, "rb") as file:
        content = file.read()
    path = tmp_path / name
    path.write_bytes(PACKED[packing](content))
    url, flags, more = offer(places, source, path)
    done = imprint.run("import", url, image, "--json", *flags, **more)
    places.take_back(source, path)
    assert done.status == command.DONE, done
    assert done.result["format"] == "qcow2", done
    with open(small, "rb") as file:
        check_raw(cluster, image, file.read())


def test_what_the_server_packs_on_the_way(cluster, imprint, nginx, small, tmp_path, name, image):
    """Content-Encoding: the file itself is not packed."""
    with open(small, "rb") as file:
        content = file.read()
    nginx.write(name, content)
    done = imprint.run("import", nginx.url(f"/packed/{name}"), image, "--json", *LOCAL)
    assert done.status == command.DONE, done
    check_raw(cluster, image, content)


# ---- addresses


class Ipv6Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


def test_an_address_of_the_other_family(cluster, imprint, small, name, image):
    with open(small, "rb") as file:
        content = file.read()

    class Handler(http.server.BaseHTTPRequestHandler):

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with Ipv6Server(("::1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://[::1]:{server.server_port}/disk.raw"
        refused = imprint.run("import", url, image)
        done = imprint.run("import", url, image, *LOCAL)
        server.shutdown()
    assert refused.status == command.NOT_ALLOWED, refused
    assert done.status == command.DONE, done
    check_raw(cluster, image, content)


# ---- no room


def test_a_full_bucket_ends_an_export(cluster, pool, imprint, store, s3, small, name, image):
    """A real one, with a quota."""
    cluster.put_image(pool, name, small)
    admin = ["radosgw-admin", "-c", cluster.conf, "--bucket", "full"]
    s3.create_bucket(Bucket="full")
    subprocess.run([*admin, "quota", "set", "--quota-scope=bucket", "--max-size=1048576"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([*admin, "quota", "enable", "--quota-scope=bucket"], check=True,
                   stdout=subprocess.DEVNULL)
    done = imprint.run("export", image, f"s3://full/{name}", "--format", "raw", *LOCAL)
    assert done.status == command.NOT_ALLOWED and "QuotaExceeded" in done.stderr, done
    assert not s3_store.uploads(s3, "full", name)
    assert not s3.list_objects_v2(Bucket="full").get("Contents")
    assert not cluster.snapshots(pool, name)


def test_a_full_file_system_ends_an_export(cluster, pool, imprint, small, tmp_path, name, image):
    cluster.put_image(pool, name, small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        done = imprint.run("export", image, tmp_path / "out", "--format", "raw")
        assert done.status != command.DONE and "No space left" in done.stderr, done
        assert os.listdir(tmp_path) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert not cluster.snapshots(pool, name)
