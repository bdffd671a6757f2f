# SPDX-License-Identifier: Apache-2.0
"""Exports into another RBD image: the same bytes, only what is allocated, and never one that looks
whole and is not."""

import os
import signal
import time

import pytest
import rbd

import imprint as command
from images import MIB, qemu_img, same
from rbd_compare import data_bytes


@pytest.fixture(scope="module")
def source(cluster, pool, disk):
    cluster.put_image(pool, "original", disk)
    yield f"{pool}/original"
    assert not cluster.snapshots(pool, "original")
    cluster.remove_image(pool, "original")


@pytest.fixture(params=["imprint/copies", "imprint-data"])
def elsewhere(cluster, request):
    """A namespace, or another pool."""
    if "/" in request.param:
        cluster.rbd("namespace", "create", request.param)
    yield request.param
    cluster.rbd("rm", "--no-progress", f"{request.param}/copy")
    if "/" in request.param:
        cluster.rbd("namespace", "rm", request.param)


def left(cluster, pool):
    """What is there beside images."""
    with cluster.ioctx(pool) as ioctx:
        return [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]


def metadata(cluster, pool, name):
    with cluster.image(pool, name) as image:
        return dict(image.metadata_list())


def export(imprint, source, image, *flags):
    done = imprint.run("export", source, f"rbd:{image}", "--json", *flags)
    assert done.status == command.DONE, done
    assert done.stderr == ""
    return done.result


def check(cluster, pool, name, disk, tmp_path):
    cluster.get_image(pool, name, tmp_path / "copy.raw")
    assert same(tmp_path / "copy.raw", disk)
    marks = metadata(cluster, pool, name)
    assert "imprint.ready" in marks and "imprint.importing" not in marks
    assert not left(cluster, pool)


def test_a_copy(imprint, cluster, pool, source, image, name, disk, tmp_path):
    """Of an image that may be in use, and in the sandbox."""
    said = export(imprint, source, image)
    assert said["format"] == "raw" and said["bytes"] == os.path.getsize(disk)
    check(cluster, pool, name, disk, tmp_path)
    assert data_bytes(cluster, pool, name) <= data_bytes(cluster, pool, "original") + MIB
    assert not cluster.snapshots(pool, "original")


def test_a_copy_of_a_snapshot_elsewhere(imprint, cluster, pool, source, elsewhere, disk, tmp_path):
    with cluster.image(pool, "original") as original:
        original.create_snap("kept")
    export(imprint, f"{source}@kept", f"{elsewhere}/copy", "--format", "raw")
    cluster.rbd("export", "--no-progress", f"{elsewhere}/copy", str(tmp_path / "copy.raw"))
    assert same(tmp_path / "copy.raw", disk)
    with cluster.image(pool, "original") as original:
        original.remove_snap("kept")


def test_what_a_disk_begins_like_does_not_matter(imprint, cluster, pool, disk, image, name, tmp_path):
    """A guest can write a qcow2 file onto its disk: that is not for us to open."""
    small = tmp_path / "small.raw"
    with open(disk, "rb") as file:
        small.write_bytes(file.read(3 * MIB))
    packed = tmp_path / "packed.qcow2"
    qemu_img("convert", "-f", "raw", "-O", "qcow2", small, packed)
    cluster.put_image(pool, f"{name}-guest", packed)
    export(imprint, f"{pool}/{name}-guest", image)
    check(cluster, pool, name, packed, tmp_path)
    cluster.remove_image(pool, f"{name}-guest")


def test_a_clone(imprint, cluster, pool, image, name, disk, tmp_path):
    cluster.put_image(pool, f"{name}-parent", disk)
    with cluster.ioctx(pool) as ioctx:
        with rbd.Image(ioctx, f"{name}-parent") as parent:
            parent.create_snap("base")
            parent.protect_snap("base")
        rbd.RBD().clone(ioctx, f"{name}-parent", "base", ioctx, f"{name}-clone")
    export(imprint, f"{pool}/{name}-clone", image)
    check(cluster, pool, name, disk, tmp_path)
    with cluster.image(pool, name) as copied, pytest.raises(rbd.ImageNotFound):
        copied.parent_info()
    cluster.remove_image(pool, f"{name}-clone")
    with cluster.image(pool, f"{name}-parent") as parent:
        parent.unprotect_snap("base")
        parent.remove_snap("base")
    cluster.remove_image(pool, f"{name}-parent")


# ---- what is refused

@pytest.mark.parametrize("url, flags, status, text", [
    ("rbd:imprint/original", [], command.EXISTS, "exists already"),
    ("rbd:imprint/x@y", [], command.REFUSED, "a snapshot cannot be exported to"),
    ("rbd:x", [], command.REFUSED, "rbd:pool/image"),
    ("rbd:nowhere/x", [], command.NOT_FOUND, "nowhere"),
    ("rbd:imprint/nowhere/x", [], command.NOT_FOUND, "nowhere"),
    ("rbd:imprint/x", ["--format", "qcow2"], command.REFUSED, "--format"),
    ("rbd:imprint/x", ["--compress", "zstd"], command.REFUSED, "--compress"),
])
def test_where_it_cannot_go(imprint, cluster, pool, source, url, flags, status, text):
    done = imprint.run("export", source, url, *flags)
    assert done.status == status, done
    (line,) = done.stderr.splitlines()
    assert text in line
    assert "x" not in cluster.images(pool)
    assert not cluster.snapshots(pool, "original") and not left(cluster, pool)


# ---- what is broken off

def begin(imprint, cluster, pool, source, image, name):
    """An export that has just made its image."""
    running = imprint.start("export", source, f"rbd:{image}", "--jobs", "1")
    deadline = time.monotonic() + 60
    while name not in cluster.images(pool):
        assert running.popen.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    return running


def test_a_killed_one_is_made_anew(imprint, cluster, pool, source, image, name, disk, tmp_path):
    running = begin(imprint, cluster, pool, source, image, name)
    running.kill()
    marks = metadata(cluster, pool, name)
    assert ("imprint.importing" in marks) != ("imprint.ready" in marks)
    if "imprint.ready" in marks:  # it was quicker
        cluster.remove_image(pool, name)
    export(imprint, source, image)
    check(cluster, pool, name, disk, tmp_path)


def test_a_killed_one_is_discarded(imprint, cluster, pool, source, image, name):
    running = begin(imprint, cluster, pool, source, image, name)
    running.kill()
    done = imprint.run("discard", source, f"rbd:{image}")
    assert done.status == command.DONE, done
    assert name not in cluster.images(pool) or "imprint.ready" in metadata(cluster, pool, name)
    assert not cluster.snapshots(pool, "original") and not left(cluster, pool)


def test_an_image_of_somebody_else_is_not_discarded(imprint, cluster, pool, source):
    done = imprint.run("discard", source, f"rbd:{source}")
    assert done.status == command.DONE, done
    assert "original" in cluster.images(pool)


def test_a_stopped_one_leaves_nothing(imprint, cluster, pool, source, image, name):
    running = begin(imprint, cluster, pool, source, image, name)
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.status in (command.STOPPED, command.DONE), done
    assert (name in cluster.images(pool)) == (done.status == command.DONE)
    assert not cluster.snapshots(pool, "original") and not left(cluster, pool)


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_snapshot_that_is_removed_meanwhile(imprint, cluster, pool, source, image, name, verb):
    """RBD gives zeros for it, or newer data, without a word: what was read so must not become an image."""
    arguments = ([f"{source}@gone", f"rbd:{image}"] if verb == "export" else [f"rbd:{source}@gone", image])
    for _ in range(10):
        with cluster.image(pool, "original") as original:
            original.create_snap("gone")
        running = imprint.start(verb, *arguments, "--jobs", "1")
        while name not in cluster.images(pool):
            assert running.popen.poll() is None
            time.sleep(0.001)
        running.signal(signal.SIGSTOP)
        was_quicker = "imprint.ready" in metadata(cluster, pool, name)
        with cluster.image(pool, "original") as original:
            original.remove_snap("gone")
        running.signal(signal.SIGCONT)
        done = running.wait()
        if not was_quicker:
            break
        cluster.remove_image(pool, name)
    assert done.status == command.NOT_FOUND, done
    assert "gone" in done.stderr
    if verb == "export":
        assert name not in cluster.images(pool)
    else:
        assert "imprint.ready" not in metadata(cluster, pool, name)
        assert imprint.run("discard", source, f"rbd:{image}").status == command.DONE
    assert not left(cluster, pool)
