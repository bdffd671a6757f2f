# SPDX-License-Identifier: Apache-2.0
"""rbd:pool/image@snapshot as a source, on a real Ceph."""

import contextlib
import os

import pytest
import rbd

from disk import copy, probe, same_content

MIB = 1 << 20


@contextlib.contextmanager
def made(cluster, pool, name, size=64 * MIB, namespace=""):
    with cluster.ioctx(pool, namespace) as ioctx:
        rbd.RBD().create(ioctx, name, size)
        try:
            with rbd.Image(ioctx, name) as image:
                yield image
        finally:
            with rbd.Image(ioctx, name) as image:
                for snapshot in list(image.list_snaps()):
                    image.remove_snap(snapshot["name"])
            rbd.RBD().remove(ioctx, name)


def ceph(cluster):
    return "--conf", cluster.conf, "--keyring", os.path.join(cluster.dir, "imprint.keyring")


def fill(image, disk):
    with open(disk, "rb") as file:
        for offset in range(0, os.path.getsize(disk), 4 * MIB):
            data = file.read(4 * MIB)
            if data.strip(b"\0"):
                image.write(data, offset)


@pytest.mark.parametrize("arguments", [[], ["--only-data", "--threads", 8], ["--chunk", 100003],
                                       ["--stream", "--chunk", "3M"]])
def test_image_is_read(cluster, pool, disk, output, arguments):
    with made(cluster, pool, "source") as image:
        fill(image, disk)
        outcome = copy(f"rbd:{pool}/source", output, *ceph(cluster), *arguments)
        assert outcome.error is None
        assert outcome.size == 64 * MIB
        assert outcome.identity is None
    assert same_content(disk, output)


def test_snapshot_is_read_and_has_an_identity(cluster, pool, disk, output):
    with made(cluster, pool, "source") as image:
        fill(image, disk)
        image.create_snap("first")
        image.write(b"changed" * 1000, 0)
        outcome = copy(f"rbd:{pool}/source@first", output, *ceph(cluster))
        assert same_content(disk, output)
        assert outcome.identity.startswith("rbd:local:")
        # another snapshot of the same name is another one
        image.remove_snap("first")
        image.create_snap("first")
        again = probe(*ceph(cluster), f"rbd:{pool}/source@first")
        assert again.identity != outcome.identity


def test_data_is_found(cluster, pool):
    """By object: the object map knows no more."""
    with made(cluster, pool, "source", size=100 * MIB) as image:
        for offset in (0, 5 * MIB, 50 * MIB, 99 * MIB):
            image.write(b"x" * 4096, offset)
        outcome = probe(*ceph(cluster), "--map", f"rbd:{pool}/source")
        assert outcome.data == [[0, 8 * MIB], [48 * MIB, 52 * MIB], [96 * MIB, 100 * MIB]]


def test_large_empty_image_costs_little(cluster, pool):
    """Several windows of it, and a write across the border of two."""
    with made(cluster, pool, "source", size=3 << 40) as image:
        image.write(b"x" * 8192, (2 << 40) - 4096)
        outcome = probe(*ceph(cluster), "--map", f"rbd:{pool}/source")
        assert outcome.data == [[(2 << 40) - 4 * MIB, 2 << 40], [2 << 40, (2 << 40) + 4 * MIB]]


def test_clones_hold_what_their_parents_hold(cluster, pool):
    cluster.rados.conf_set("rbd_default_clone_format", "2")
    with made(cluster, pool, "parent") as parent:
        parent.write(b"p" * 4096, 4 * MIB)
        parent.create_snap("base")
        with cluster.ioctx(pool) as ioctx:
            rbd.RBD().clone(ioctx, "parent", "base", ioctx, "child")
            try:
                with rbd.Image(ioctx, "child") as child:
                    child.write(b"c" * 4096, 20 * MIB)
                outcome = probe(*ceph(cluster), "--map", f"rbd:{pool}/child")
                assert outcome.data == [[4 * MIB, 8 * MIB], [20 * MIB, 24 * MIB]]
            finally:
                rbd.RBD().remove(ioctx, "child")


def test_namespaces(cluster, pool, disk, output):
    namespace = os.environ.get("NAMESPACE", "tenant")
    with made(cluster, pool, "source", namespace=namespace) as image:
        fill(image, disk)
        assert copy(f"rbd:{pool}/{namespace}/source", output, *ceph(cluster)).error is None
    assert same_content(disk, output)


def test_what_is_not_there(cluster, pool):
    with made(cluster, pool, "source"):
        for url in (f"rbd:{pool}/missing", f"rbd:{pool}/source@missing", "rbd:missing/source",
                    f"rbd:{pool}/missing/source"):
            assert probe(*ceph(cluster), url).code == "NOT_FOUND", url


@pytest.mark.parametrize("url", ["rbd:", "rbd:pool", "rbd:/image", "rbd:pool/", "rbd:pool//image",
                                 "rbd:pool/a/b/c", "rbd:pool/image@", "rbd:pool/image@a@b",
                                 "rbd:pool/image@a/b", "rbd:@snapshot"])
def test_what_is_no_image(cluster, url):
    outcome = probe(*ceph(cluster), url)
    assert outcome.code == "INVALID_ARGUMENT"
    assert "is not like rbd:pool/image" in outcome.error
