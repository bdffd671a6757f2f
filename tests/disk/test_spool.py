# SPDX-License-Identifier: Apache-2.0
"""qcow2 files that come in one pass, in an order that cannot be read so: through a temporary RBD image,
which is gone at the end, whatever happens on the way."""

import contextlib
import hashlib
import os
import random
import struct
import subprocess
import time

import pytest
import rados
import rbd

from imprint import DAMAGED, EXISTS, Imprint
from rbd_compare import same_as_file

MIB = 1 << 20
RSS_MAX = 256 * MIB
# enum checkpoint_kind
CHUNKS, STREAM, SPOOL, DONE = range(4)


def run(*command):
    subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A file with a snapshot of its own: what was written behind it moved the tables to the end, 72 MiB
    behind the data that they map. As raw, qcow2, gzip and xz."""
    folder = tmp_path_factory.mktemp("late")
    raw, qcow2 = folder / "late.raw", folder / "late.qcow2"
    with open(raw, "wb") as file:
        file.truncate(1024 * MIB)
        file.write(random.Random(3).randbytes(72 * MIB))
    run("qemu-img", "convert", "-O", "qcow2", raw, qcow2)
    run("qemu-img", "snapshot", "-c", "first", qcow2)
    run("qemu-io", "-c", "write -P 7 4096 4096", "-c", "write -P 9 1000M 3M", qcow2)
    run("qemu-img", "convert", "-O", "raw", qcow2, raw)
    for command in (["gzip", "-1", "-k"], ["xz", "-0", "-k", "-T2"]):
        run(*command, qcow2)
    return {"raw": raw, "qcow2": qcow2, "gz": folder / "late.qcow2.gz", "xz": folder / "late.qcow2.xz"}


@pytest.fixture
def imprint(cluster, pool):
    yield Imprint(cluster)
    with cluster.ioctx(pool) as ioctx:
        for name in rbd.RBD().list(ioctx):
            rbd.RBD().remove(ioctx, name)
    assert cluster.wait_empty(pool) == []


def check(done, cluster, pool, late):
    assert done.status == 0, done.stderr
    assert done.result["format"] == "qcow2"
    check_image(cluster, pool, late)


def check_image(cluster, pool, late):
    assert cluster.images(pool) == ["disk"]
    assert [line for line in cluster.leftovers(pool) if "imprint." in line] == []
    assert same_as_file(cluster, pool, "disk", late["raw"])


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_compressed_file(imprint, cluster, pool, late, kind):
    running = imprint.start("import", late[kind], f"{pool}/disk", "--json")
    peak = 0
    while (now := running.peak_rss()) is not None and running.popen.poll() is None:
        peak = max(peak, now)
        time.sleep(0.02)
    check(running.wait(), cluster, pool, late)
    if os.environ["PRESET"] == "release":
        assert 0 < peak <= RSS_MAX


def test_pipe_with_a_checksum(imprint, cluster, pool, late):
    content = late["qcow2"].read_bytes()
    checksum = "sha256:" + hashlib.sha256(content).hexdigest()
    done = imprint.run("import", "-", f"{pool}/disk", "--json", "--checksum", checksum, input=content)
    check(done, cluster, pool, late)


def test_wrong_checksum(imprint, cluster, pool, late):
    done = imprint.run("import", late["gz"], f"{pool}/disk", "--checksum", "sha256:" + 64 * "0")
    assert done.status == DAMAGED, done.stderr
    assert cluster.wait_empty(pool) == []


def test_file_that_ends_in_the_spool(imprint, cluster, pool, late):
    done = imprint.run("import", "-", f"{pool}/disk", input=late["qcow2"].read_bytes()[:70 * MIB])
    assert done.status == DAMAGED, done.stderr
    assert cluster.wait_empty(pool) == []


def test_an_upload_in_pieces(imprint, cluster, pool, late):
    """Before, while and after the spool is filled, each by another process; the last ones are killed."""
    content = late["qcow2"].read_bytes()
    size = len(content)
    cluster.rbd("create", "--size", "1G", f"{pool}/disk")
    arguments = [f"upload:0:{size}:one", f"{pool}/disk", "--existing", "--token", "t", "--json"]
    safe = 0
    for end in (MIB, 20 * MIB, 68 * MIB, 71 * MIB):
        done = imprint.run("import", *arguments, input=content[safe:end])
        assert {"event": "ready", "verb": "import", "offset": safe} in done.events, done
        assert done.events[-1]["safe"] == end, done
        safe = end
    assert kinds(cluster, pool) == (SPOOL, STREAM)
    for wanted in (SPOOL, DONE), (CHUNKS, DONE):
        running = imprint.start("import", *arguments, stdin=subprocess.PIPE)
        with contextlib.suppress(BrokenPipeError):
            running.popen.stdin.write(content[safe:])
            running.popen.stdin.flush()
        while running.popen.poll() is None and kinds(cluster, pool) != wanted:
            pass
        running.kill()
        safe = size
    # Whoever imports it needs no more of it.
    done = imprint.run("import", arguments[0].replace(":0:", ":-:"), *arguments[1:])
    assert done.status == 0, done.stderr
    check_image(cluster, pool, late)


# Killed.

def kinds(cluster, pool):
    """What the checkpoints of the target and of the spool say; None where there is none."""
    found = {}
    with cluster.ioctx(pool) as ioctx:
        for name in ("disk", next((n for n in rbd.RBD().list(ioctx) if n.startswith("imprint.spool.")), "")):
            with contextlib.suppress(rbd.ImageNotFound, rados.ObjectNotFound, rbd.InvalidArgument):
                with rbd.Image(ioctx, name, read_only=True) as image:
                    image_id = image.id()
                record = ioctx.read(f"imprint.checkpoint.{image_id}", 64)
                magic = b"imprint checkpoint 1\n"
                assert record.startswith(magic)
                found["disk" if name == "disk" else "spool"] = struct.unpack_from("<I", record, len(magic))[0]
    return found.get("disk"), found.get("spool")


def kill_when(imprint, cluster, pool, source, wanted, *flags, **options):
    """kill -9 as soon as the checkpoints are `wanted`. False when that was not seen."""
    running = imprint.start("import", source, f"{pool}/disk", *flags, **options)
    while running.popen.poll() is None:
        if wanted(*kinds(cluster, pool)):
            running.kill()
            return True
    running.wait()
    return False


MOMENTS = {
    "while it is filled": lambda target, spool: target == SPOOL and spool == STREAM,
    "when it is full": lambda target, spool: target == SPOOL and spool == DONE,
    "before it is removed": lambda target, spool: target == DONE,
}


def kill_at(imprint, cluster, pool, source, moment, *flags):
    """kill_when() as often as it takes to meet the moment."""
    for _ in range(20):
        if kill_when(imprint, cluster, pool, source, MOMENTS[moment], *flags):
            return
        with cluster.ioctx(pool) as ioctx:  # it was too quick
            rbd.RBD().remove(ioctx, "disk")
    pytest.fail("the moment was never met")


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed(imprint, cluster, pool, late, moment):
    kill_at(imprint, cluster, pool, late["gz"], moment, "--digest")
    done = imprint.run("import", late["gz"], f"{pool}/disk", "--digest", "--json")
    check(done, cluster, pool, late)
    size = os.path.getsize(late["gz"])
    with open(late["gz"], "rb") as file:
        assert done.result["digest"] == "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    assert done.result["resumedAt"] > 0
    if moment != "while it is filled":
        assert done.result["fetched"] < size / 2


def test_killed_again_and_again(imprint, cluster, pool, late):
    """Later each time, until one gets through; only behind one that told its result before it died the next
    finds the name taken. The first ones die before there is a checkpoint, and each of the next removes what
    the last has left."""
    delay = 0.2
    has_told = False
    while True:
        running = imprint.start("import", late["gz"], f"{pool}/disk", "--json")
        deadline = time.monotonic() + delay
        while running.popen.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if running.popen.poll() is not None:
            done = running.wait()
            if has_told and done.status == EXISTS:
                check_image(cluster, pool, late)
            else:
                check(done, cluster, pool, late)
            return
        has_told = any(event["event"] == "done" for event in running.kill().events)
        delay *= 1.4


def test_killed_with_a_source_that_cannot_be_told_again(imprint, cluster, pool, late):
    """A pipe: nothing of it can be used, and nothing of it stays."""
    with open(late["qcow2"], "rb") as file:
        content = file.read()
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as out:
        running = imprint.start("import", "-", f"{pool}/disk", stdin=reader)
        os.close(reader)
        with contextlib.suppress(BrokenPipeError):
            out.write(content[:70 * MIB])
            while not any(name.startswith("imprint.spool.") for name in cluster.images(pool)):
                assert running.popen.poll() is None
                time.sleep(0.02)
            running.kill()
    assert len(cluster.images(pool)) == 2
    check(imprint.run("import", "-", f"{pool}/disk", "--json", input=content), cluster, pool, late)


def test_another_source_after_one_that_was_killed(imprint, cluster, pool, late):
    kill_at(imprint, cluster, pool, late["gz"], "while it is filled")
    check(imprint.run("import", late["qcow2"], f"{pool}/disk", "--json"), cluster, pool, late)
