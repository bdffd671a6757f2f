# SPDX-License-Identifier: Apache-2.0
"""Exports onto the disks of NBD servers, real ones: what is there afterwards is the image, and what an
export that was broken off has left is not taken for one."""

import contextlib
import os
import signal
import time

import pytest

import imprint as command
import tls
from images import MIB, qemu_img
from nbd import NbdKit, QemuNbd, free_port

LOCAL = "--allow-local-addresses"


@pytest.fixture(scope="module")
def source(cluster, pool, disk):
    cluster.put_image(pool, "served", disk)
    yield f"{pool}/served"
    assert not cluster.snapshots(pool, "served")
    cluster.remove_image(pool, "served")


@pytest.fixture
def target(disk, tmp_path):
    """A disk of the same size, rounded up to 4 KiB, with something else on all of it."""
    return full_of_noise(tmp_path / "target.raw", (os.path.getsize(disk) + 4095) // 4096 * 4096)


def full_of_noise(path, size):
    block = os.urandom(MIB)
    with open(path, "wb") as file:
        for at in range(0, size, MIB):
            file.write(block[:min(MIB, size - at)])
    return path


def url_of(server):
    return f"nbd+unix:///?socket={server.socket}"


def export(imprint, source, url, *flags):
    done = imprint.run("export", source, url, LOCAL, "--json", *flags)
    assert done.status == command.DONE, done
    assert done.result["format"] == "raw"
    return done


def check(target, disk, image_format="raw"):
    """The disk, and zeros behind it: then qemu-img calls them identical, too."""
    assert "identical" in qemu_img("compare", "-f", "raw", "-F", image_format, disk, target)
    if image_format == "raw":
        size = os.path.getsize(disk)
        with open(disk, "rb") as one, open(target, "rb") as other:
            while piece := one.read(MIB):
                assert other.read(len(piece)) == piece
            rest = other.read()
        assert not rest.strip(b"\0") and len(rest) == os.path.getsize(target) - size


# ---- servers of many kinds

def test_qemu_nbd(imprint, source, disk, target, tmp_path):
    with QemuNbd(target, tmp_path) as server:
        export(imprint, source, url_of(server))
        check(target, disk)
        assert os.stat(target).st_blocks * 512 < 60 * MIB  # what was not written was punched out


def test_a_larger_disk_of_another_format(imprint, source, disk, tmp_path):
    target = tmp_path / "target.qcow2"
    qemu_img("create", "-f", "qcow2", target, str(200 * MIB))
    with QemuNbd(target, tmp_path, image_format="qcow2") as server:
        export(imprint, source, url_of(server), "--format", "raw")
    check(target, disk, "qcow2")
    assert os.path.getsize(target) < 60 * MIB


@pytest.mark.parametrize("filters, settings", [
    ([], []),
    (["nozero"], []),  # zeros have to be written
    (["blocksize-policy"], ["blocksize-minimum=4096", "blocksize-preferred=65536",
                            "blocksize-maximum=128K", "blocksize-error-policy=error"]),
    (["nozero", "blocksize-policy"], ["blocksize-minimum=4096", "blocksize-preferred=4096",
                                      "blocksize-maximum=64K", "blocksize-error-policy=error"]),
], ids=["plain", "no-zeros", "blocks", "blocks-no-zeros"])
def test_nbdkit(imprint, source, disk, target, tmp_path, filters, settings):
    with NbdKit(target, tmp_path, filters, settings) as server:
        export(imprint, source, url_of(server))
    check(target, disk)


def test_a_named_snapshot_by_tcp_and_tls(imprint, cluster, pool, source, disk, target, tmp_path):
    certificates = tls.make_certificates(tmp_path / "tls")
    with cluster.image(pool, "served") as image:
        image.create_snap("kept")
    for scheme, flags, more in (("nbd", [], []), (
            "nbds", ["--ca-bundle", certificates / "ca-cert.pem"],
            ["--object", f"tls-creds-x509,id=tls0,endpoint=server,dir={certificates},verify-peer=no",
             "--tls-creds", "tls0"])):
        full_of_noise(target, os.path.getsize(target))
        port = free_port()
        with QemuNbd(target, tmp_path, [*more, "--export-name", "a b"], port=port):
            export(imprint, f"{source}@kept", f"{scheme}://localhost:{port}/a%20b", *flags)
        check(target, disk)
    with cluster.image(pool, "served") as image:
        image.remove_snap("kept")


@pytest.mark.parametrize("size", [512, 700, 65536, MIB - 512, MIB + 4096])
def test_small_disks(imprint, cluster, pool, tmp_path, name, size):
    disk = full_of_noise(tmp_path / "disk.raw", size)
    target = full_of_noise(tmp_path / "target.raw", 3 * MIB)
    cluster.put_image(pool, name, disk)
    with NbdKit(target, tmp_path) as server:
        export(imprint, f"{pool}/{name}", url_of(server))
    check(target, disk)
    cluster.remove_image(pool, name)


# ---- what is refused

@pytest.mark.parametrize("flags", [["--format", "qcow2"], ["--compress", "zstd"], ["--format", "vdi"]])
def test_a_disk_gets_raw_bytes(imprint, source, flags):
    done = imprint.run("export", source, "nbd://disks.example.com/", *flags)
    assert done.status == command.REFUSED, done
    assert "--format" in done.stderr


def test_disks_that_cannot_take_it(imprint, source, target, tmp_path):
    with QemuNbd(target, tmp_path, ["--read-only"]) as server:
        done = imprint.run("export", source, url_of(server), LOCAL)
        assert done.status == command.WRONG_STATE and "read-only" in done.stderr
        done = imprint.run("export", source, url_of(server))
        assert done.status == command.NOT_ALLOWED, done
    small = full_of_noise(tmp_path / "small.raw", 3 * MIB)
    before = small.read_bytes()
    with QemuNbd(small, tmp_path) as server:
        done = imprint.run("export", source, url_of(server), LOCAL)
        assert done.status == command.TOO_LARGE and "has to be larger" in done.stderr
    assert small.read_bytes() == before
    done = imprint.run("export", source, url_of(server), LOCAL, "--retries", "1")
    assert done.status in (command.UNREACHABLE, command.NOT_FOUND), done
    (line,) = done.stderr.splitlines()


def test_a_server_that_runs_out_of_space(imprint, source, target, tmp_path):
    with NbdKit(target, tmp_path, ["error"], ["error=ENOSPC", "error-pwrite-rate=100%"]) as server:
        done = imprint.run("export", source, url_of(server), LOCAL)
    assert done.status == command.TOO_LARGE, done
    assert "space" in done.stderr


# ---- what is broken off

def slow(target, folder):
    """40 Mbit/s: the export takes some seconds."""
    return NbdKit(target, folder, ["rate"], ["rate=40M"])


@contextlib.contextmanager
def under_way(imprint, source, server, target, *flags):
    """An export that has begun: the first thing it does is to take the beginning of the disk away."""
    running = imprint.start("export", source, url_of(server), LOCAL, *flags)
    deadline = time.monotonic() + 60
    while any(read_head(target)):
        assert running.popen.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    yield running


def read_head(target):
    with open(target, "rb") as file:
        return file.read(MIB)


def test_a_server_that_is_restarted(imprint, source, disk, target, tmp_path):
    """It may have lost what it had not flushed: all is written again."""
    server = slow(target, tmp_path).start()
    with under_way(imprint, source, server, target, "--json") as running:
        time.sleep(0.5)
        server.kill()
        full_of_noise(target, os.path.getsize(target))
        with NbdKit(target, tmp_path):
            done = running.wait()
    assert done.status == command.DONE, done
    assert [event["attempt"] for event in done.events if event["event"] == "retry"] == [1]
    check(target, disk)


def test_a_server_that_goes_away(imprint, source, target, tmp_path):
    server = slow(target, tmp_path).start()
    with under_way(imprint, source, server, target, "--retries", "1") as running:
        server.kill()
        done = running.wait()
    assert done.status in (command.UNREACHABLE, command.NOT_FOUND), done
    assert not any(read_head(target))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_was_stopped_does_not_look_whole(imprint, source, disk, target, tmp_path, number):
    with slow(target, tmp_path) as server:
        with under_way(imprint, source, server, target) as running:
            running.signal(number)
            done = running.wait()
        assert done.status in (command.STOPPED, -signal.SIGKILL)
        assert done.seconds < 30
    assert not any(read_head(target))
    with NbdKit(target, tmp_path) as server:
        export(imprint, source, url_of(server))
    check(target, disk)
