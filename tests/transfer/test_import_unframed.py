# SPDX-License-Identifier: Apache-2.0
"""Web servers that do not say how long a file is. One that ends its bodies with the connection cannot
tell a whole file from a part: it is imported where the file itself can tell, or a checksum does. One
that sends chunks can."""

import gzip
import hashlib
import subprocess

import pytest

import imprint as command
from fault_server import FaultServer
from images import MIB, fill, qemu_img
from rbd_compare import same_as_file

LOCAL = "--allow-local-addresses"
SIZE = 9 * MIB + 512


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The disk in every form: name -> bytes; and where it lies."""
    folder = tmp_path_factory.mktemp("unframed")
    disk = fill(folder / "disk.raw", SIZE, pieces=20)
    for form, options in (("qcow2", []), ("qcow2-zlib", ["-c"])):
        qemu_img("convert", "-f", "raw", "-O", "qcow2", *options, disk, folder / form)
    qemu_img("convert", "-f", "raw", "-O", "vmdk", disk, folder / "vmdk")
    raw = disk.read_bytes()
    half = len(raw) // 2
    subprocess.run(["tar", "-C", folder, "-cf", folder / "tar", "disk.raw"], check=True)
    made = {name: (folder / name).read_bytes() for name in ("qcow2", "qcow2-zlib", "vmdk", "tar")}
    made["raw"] = raw
    made["gzip"] = gzip.compress(raw, 1)
    made["gzip-twice"] = gzip.compress(raw[:half], 1) + gzip.compress(raw[half:], 1)
    made["gzip-twice-qcow2"] = gzip.compress(made["qcow2"][:half], 1) + gzip.compress(made["qcow2"][half:], 1)
    made["tar-gzip"] = gzip.compress(made["tar"], 1)
    for form in ("xz", "zstd"):
        pack = [form, "-1", "-c"]
        made[form] = subprocess.run(pack, input=raw, check=True, capture_output=True).stdout
        made[f"{form}-twice"] = b"".join(
            subprocess.run(pack, input=part, check=True, capture_output=True).stdout
            for part in (raw[:half], raw[half:]))
    return made, disk


def unframed(data, version="1.1", header="Connection: close"):
    """A body that ends with the connection. Ranges are not known here."""

    def handle(_, reply):
        reply.raw(f"HTTP/{version} 200 OK\r\n{header}\r\n\r\n".encode())
        reply.send(data)
        reply.close()

    return handle


def chunked(data, parts=7):

    def handle(_, reply):
        reply.head(200, {"Transfer-Encoding": "chunked"})
        for at in range(0, len(data), len(data) // parts + 1):
            reply.chunk(data[at:at + len(data) // parts + 1])
        reply.chunk(b"")

    return handle


def run(imprint, handler, image, *flags):
    with FaultServer(handler) as server:
        return imprint.run("import", server.url("/disk"), image, LOCAL, "--json", *flags)


def checksum(data):
    return ["--checksum", f"sha256:{hashlib.sha256(data).hexdigest()}"]


@pytest.mark.parametrize("form", ["qcow2", "qcow2-zlib", "gzip", "xz", "zstd", "tar", "tar-gzip",
                                  "gzip-twice-qcow2"])
def test_what_knows_its_own_end(imprint, cluster, pool, files, image, name, form):
    made, disk = files
    done = run(imprint, unframed(made[form]), image)
    assert done.status == command.DONE, done
    assert same_as_file(cluster, pool, name, disk)


@pytest.mark.parametrize("form", ["qcow2", "qcow2-zlib", "gzip", "xz", "zstd", "tar", "tar-gzip",
                                  "gzip-twice-qcow2"])
@pytest.mark.parametrize("lacking", [0.5, 0.02])
def test_what_is_cut_off_is_noticed(imprint, cluster, pool, files, image, name, form, lacking):
    data = files[0][form]
    done = run(imprint, unframed(data[:int(len(data) * (1 - lacking))]), image)
    assert done.status == command.DAMAGED, done
    assert name not in cluster.images(pool)


@pytest.mark.parametrize("form", ["raw", "vmdk", "gzip-twice", "xz-twice", "zstd-twice"])
def test_what_does_not_know_its_end(imprint, cluster, pool, files, image, name, form):
    """It is refused, whole as it is, and the message tells what to do. A checksum is proof."""
    made, disk = files
    done = run(imprint, unframed(made[form]), image)
    assert done.status == command.WRONG_STATE, done
    (line,) = done.stderr.splitlines()
    assert "does not say where the file ends" in line and "--checksum" in line
    assert name not in cluster.images(pool)
    done = run(imprint, unframed(made[form]), image, "--digest")  # which proves nothing
    assert done.status == command.WRONG_STATE, done
    done = run(imprint, unframed(made[form]), image, *checksum(made[form]))
    assert done.status == command.DONE, done
    assert same_as_file(cluster, pool, name, disk)


def test_a_checksum_notices_a_raw_disk_that_is_cut_off(imprint, cluster, pool, files, image, name):
    data = files[0]["raw"]
    done = run(imprint, unframed(data[:-512]), image, *checksum(data))
    assert done.status == command.DAMAGED, done
    assert name not in cluster.images(pool)


@pytest.mark.parametrize("version, header", [("1.0", "Server: old"), ("1.0", "Connection: close"),
                                             ("1.1", "Server: lazy")])
def test_servers_of_old(imprint, cluster, pool, files, image, name, version, header):
    made, disk = files
    done = run(imprint, unframed(made["gzip"], version, header), image)
    assert done.status == command.DONE, done
    assert same_as_file(cluster, pool, name, disk)


def test_a_reset_is_not_the_end(imprint, cluster, pool, files, image, name):
    """It is begun again, from the start, and must be the same bytes."""
    made, disk = files

    def handle(request, reply):
        reply.head(200)
        if request.number == 1:  # behind the question what there is
            reply.send(made["gzip"][:3 * MIB])
            reply.reset()
        else:
            reply.send(made["gzip"])
            reply.close()

    done = run(imprint, handle, image)
    assert done.status == command.DONE, done
    assert same_as_file(cluster, pool, name, disk)


@pytest.mark.parametrize("form", ["raw", "vmdk", "gzip-twice", "zstd-twice", "qcow2"])
def test_chunks_have_an_end(imprint, cluster, pool, files, image, name, form):
    made, disk = files
    done = run(imprint, chunked(made[form]), image)
    assert done.status == command.DONE, done
    assert same_as_file(cluster, pool, name, disk)


def test_chunks_without_their_end(imprint, cluster, pool, files, image, name):

    def handle(_, reply):
        reply.head(200, {"Transfer-Encoding": "chunked"})
        reply.chunk(files[0]["raw"])
        reply.close()

    done = run(imprint, handle, image, "--retries", "1")
    assert done.status == command.UNREACHABLE, done
    if name in cluster.images(pool):
        with cluster.image(pool, name) as begun:
            assert "imprint.ready" not in dict(begun.metadata_list())


def test_it_can_be_inspected(imprint, files):
    made, _ = files
    for form, told in (("raw", "raw"), ("qcow2", "qcow2"), ("gzip", "raw")):
        with FaultServer(unframed(made[form])) as server:
            done = imprint.run("inspect", server.url("/disk"), LOCAL, "--json")
        assert done.status == command.DONE, done
        assert f'"{told}"' in done.stdout.decode()
