# SPDX-License-Identifier: Apache-2.0
"""What is exported, qemu-img finds to be sound and to hold the same disk, wherever it goes."""

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import threading
import time

import pytest
import rbd

import imprint as command
import s3_store
from images import MIB, fill, qemu_img, same
from places import BUCKET, SINKS

FORMATS = {
    "raw": ["--format", "raw"],
    "plain": ["--compress", "none"],
    "zlib": [],
    "zstd": ["--compress", "zstd"],
}
PART = 5 * MIB  # of an upload of so little


@pytest.fixture(scope="module")
def source(cluster, pool, disk):
    """An image in RBD that holds the disk."""
    cluster.put_image(pool, "source", disk)
    yield f"{pool}/source"
    cluster.remove_image(pool, "source")


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(cluster, pool, source, s3):
    yield
    assert not cluster.snapshots(pool, "source")
    assert not left_records(cluster, pool)
    assert not s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads")


def left_records(cluster, pool):
    with cluster.ioctx(pool) as ioctx:
        return [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]


def export(imprint, places, image, kind, path, *flags, **options):
    """Exports to a destination and brings what came there to the path."""
    url, more = places.destination(kind, path)
    with contextlib.ExitStack() as stack:
        if kind == "pipe":
            options["stdout"] = stack.enter_context(open(path, "wb"))
        done = imprint.run("export", image, url, *flags, *more, **options)
    assert done.status == command.DONE, done
    assert done.stderr == ""
    return places.collect(kind, path)


def check(path, disk, format):
    """What is in the file is the disk, and the file is what it should be."""
    if format == "raw":
        assert same(path, disk)
        return
    qemu_img("check", "-f", "qcow2", path)  # fails also where clusters are leaked
    assert "identical" in qemu_img("compare", "-f", "raw", "-F", "qcow2", disk, path)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", SINKS)
def test_every_format_to_every_place(imprint, places, source, disk, tmp_path, name, kind, format):
    path = export(imprint, places, source, kind, tmp_path / name, *FORMATS[format])
    check(path, disk, format)
    if format in ("zlib", "zstd"):
        assert f"compression type: {format}" in qemu_img("info", path)
        assert os.path.getsize(path) < 20 * MIB


# Sizes around clusters, sectors, and what one L2 table maps; disks without any data.
@pytest.mark.parametrize("size, pieces", [(512, 0), (65536 * 3 + 700, 3), (65536 * 3 + 512, 3), (600 * MIB, 0),
                                          (513 * MIB, 9)])
def test_disks_of_odd_sizes(cluster, pool, imprint, places, tmp_path, name, size, pieces):
    disk = tmp_path / "disk.raw"
    if pieces:
        fill(disk, size, pieces=pieces)
    else:
        disk.touch()
        os.truncate(disk, size)
    cluster.put_image(pool, name, disk)
    for kind, format in (("file", "raw"), ("file", "plain"), ("pipe", "zlib"), ("s3", "zstd"),
                         ("s3", "plain")):
        path = tmp_path / f"{name}-{kind}-{format}"
        check(export(imprint, places, f"{pool}/{name}", kind, path, *FORMATS[format]), disk, format)
    cluster.remove_image(pool, name)


def test_a_disk_of_no_size(cluster, pool, imprint, places, tmp_path, name):
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, name, 0)
    for kind in ("file", "s3", "http"):
        path = export(imprint, places, f"{pool}/{name}", kind, tmp_path / kind, "--format", "raw")
        assert os.path.getsize(path) == 0
    cluster.remove_image(pool, name)


def test_a_named_snapshot(cluster, pool, imprint, places, source, disk, tmp_path, name):
    """Of a user who may do nothing but read."""
    with cluster.image(pool, "source") as image:
        image.create_snap("kept")
    path = export(imprint, places, f"{source}@kept", "s3", tmp_path / name)
    check(path, disk, "zlib")
    cluster.add_user("reader", mon="profile rbd", osd="profile rbd-read-only")
    reader = command.Imprint(cluster, imprint.environment, user="reader")
    for kind in ("file", "s3"):
        path = export(reader, places, f"{source}@kept", kind, tmp_path / f"{name}-{kind}")
        check(path, disk, "zlib")
    with cluster.image(pool, "source") as image:
        assert [snap["name"] for snap in image.list_snaps()] == ["kept"]
        image.remove_snap("kept")


def test_a_clone_with_its_parents_data(cluster, pool, imprint, places, disk, tmp_path, name):
    expected = tmp_path / "expected.raw"
    subprocess.run(["cp", "--sparse=always", str(disk), str(expected)], check=True)
    cluster.put_image(pool, f"{name}-parent", disk)
    with cluster.ioctx(pool) as ioctx:
        with rbd.Image(ioctx, f"{name}-parent") as image:
            image.create_snap("base")
            image.protect_snap("base")
        rbd.RBD().clone(ioctx, f"{name}-parent", "base", ioctx, name)
        with rbd.Image(ioctx, name) as clone, open(expected, "r+b") as file:
            for offset in (0, 33 * MIB + 5, 79 * MIB):
                clone.write(b"changed" * 1000, offset)
                file.seek(offset)
                file.write(b"changed" * 1000)
            clone.discard(40 * MIB, 4 * MIB)
            file.seek(40 * MIB)
            file.write(bytes(4 * MIB))
    path = export(imprint, places, f"{pool}/{name}", "file", tmp_path / name)
    check(path, expected, "zlib")
    cluster.remove_image(pool, name)
    cluster.remove_image(pool, f"{name}-parent")


def test_an_image_in_use_is_exported_as_it_was(cluster, pool, imprint, tmp_path, name):
    """Somebody who holds the image's lock writes all the time; the export is of one moment."""
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, name, 64 * MIB, features=61)
        with rbd.Image(ioctx, name) as image:
            image.write(b"A" * MIB, 0)
            image.write(b"A" * (40 * MIB), 20 * MIB)
            assert image.is_exclusive_lock_owner()
            running = imprint.start("export", f"{pool}/{name}", "-", "--format", "raw")
            first = running.popen.stdout.read(MIB)  # it has its snapshot, and waits for a reader
            image.write(b"B" * (50 * MIB), 0)
            assert len(cluster.snapshots(pool, name)) == 1
            rest = running.popen.stdout.read()
            done = running.wait()
            assert done.status == command.DONE, done
    content = first + rest
    assert content == b"A" * MIB + bytes(19 * MIB) + b"A" * (40 * MIB) + bytes(4 * MIB)
    assert not cluster.snapshots(pool, name)
    cluster.remove_image(pool, name)


def test_only_what_is_allocated_is_read(cluster, pool, imprint, tmp_path, name):
    """2 TiB with 3 MiB in it."""
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().create(ioctx, name, 2 << 40, features=61)
        with rbd.Image(ioctx, name) as image:
            for offset in (0, 1 << 40, (2 << 40) - MIB):
                image.write(b"x" * MIB, offset)
    path = tmp_path / "out"
    done = imprint.run("export", f"{pool}/{name}", path, "--json")
    assert done.status == command.DONE, done
    assert done.seconds < 30 and done.result["written"] < 4 * MIB
    assert os.path.getsize(path) < 8 * MIB
    qemu_img("check", path)
    cluster.remove_image(pool, name)


# ---- exports that do not end well


class Gate:
    """A server before the store that lets so many parts pass, then holds everything, or does what
    on_part(request, reply) says."""

    def __init__(self, store, parts=2, on_part=None):
        self.passed = 0
        self.parts = parts
        self.on_part = on_part
        self.reached = threading.Event()
        self.lock = threading.Lock()
        self.server = s3_store.through(store, lambda request, body: body, before=self.before)

    def before(self, request, reply):
        if request.method != "PUT" or "partNumber" not in request.target:
            return False
        with self.lock:
            self.passed += 1
            number = self.passed
        if number <= self.parts:
            return False
        self.reached.set()
        if self.on_part:
            return self.on_part(request, reply)
        reply.stall(60)
        reply.close()
        return True

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL": self.server.url("")}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()


def start_s3(imprint, source, name, *flags, environment=None):
    return imprint.start("export", source, f"s3://{BUCKET}/{name}", "--allow-local-addresses",
                         *(flags or FORMATS["plain"]), environment=environment)


def check_gone(s3, cluster, pool, name):
    assert not s3_store.uploads(s3, BUCKET, name)
    assert not s3.list_objects_v2(Bucket=BUCKET, Prefix=name).get("Contents")
    assert not cluster.snapshots(pool, "source")
    assert not left_records(cluster, pool)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
@pytest.mark.parametrize("format", ["raw", "plain"])
def test_a_signal_aborts_the_upload(cluster, pool, imprint, source, store, s3, name, number, format):
    with Gate(store) as gate:
        running = start_s3(imprint, source, name, *FORMATS[format], environment=gate.environment)
        assert gate.reached.wait(30)
        assert len(s3_store.uploads(s3, BUCKET, name)) == 1
        running.signal(number)
        done = running.wait()
    assert done.status == command.STOPPED, done
    assert done.seconds < 20
    check_gone(s3, cluster, pool, name)


def test_a_store_that_refuses_parts_ends_it(cluster, pool, imprint, source, store, s3, name):

    def refuse(request, reply):
        reply.answer(403, {}, b"<Error><Code>QuotaExceeded</Code></Error>")
        return True

    with Gate(store, on_part=refuse) as gate:
        done = start_s3(imprint, source, name, "--format", "raw",
                        environment=gate.environment).wait()
    assert done.status == command.NOT_ALLOWED, done
    assert f"s3://{BUCKET}/{name}" in done.stderr and "QuotaExceeded" in done.stderr
    check_gone(s3, cluster, pool, name)


def test_a_store_that_stays_broken_ends_it(cluster, pool, imprint, source, store, s3, name):
    with Gate(store, on_part=lambda _, reply: reply.answer(500) or True) as gate:
        done = start_s3(imprint, source, name, "--format", "raw", "--retries", 2,
                        environment=gate.environment).wait()
    assert done.status == command.UNREACHABLE, done
    assert "the server answered 500" in done.stderr
    check_gone(s3, cluster, pool, name)


def test_parts_are_sent_again(imprint, places, source, disk, store, tmp_path, name):
    """The first attempt at each: 500, 503, a reset before the answer, one after it."""
    seen = {}
    lock = threading.Lock()

    def spoil_first(request, reply):
        with lock:
            number = seen[request.target] = seen.get(request.target, -1) + 1
            case = len(seen) % 4
        if number > 0:
            return False
        if case == 0:
            reply.answer(500)
        elif case == 1:
            reply.answer(503, {"Retry-After": "0"}, b"<Error><Code>SlowDown</Code></Error>")
        elif case == 2:
            reply.reset()
        else:
            s3_store.onward(store, request)
            reply.reset()
        return True

    with Gate(store, parts=0, on_part=spoil_first) as gate:
        path = export(imprint, places, source, "s3", tmp_path / name, "--format", "raw",
                      environment=gate.environment)
    assert len(seen) == 80 * MIB // PART + 1
    check(path, disk, "raw")


def test_an_object_that_was_there_stays_until_the_end(imprint, source, store, s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"before")
    with Gate(store) as gate:
        running = start_s3(imprint, source, name, environment=gate.environment)
        assert gate.reached.wait(30)
        running.signal(signal.SIGTERM)
        assert running.wait().status == command.STOPPED
    assert s3.get_object(Bucket=BUCKET, Key=name)["Body"].read() == b"before"
    s3.delete_object(Bucket=BUCKET, Key=name)


def test_after_a_kill_the_next_one_clears_up(cluster, pool, imprint, places, source, disk, store, s3,
                                             tmp_path, name):
    """Its upload and its snapshot, at once; what others have begun is left alone."""
    other = s3.create_multipart_upload(Bucket=BUCKET, Key=name)["UploadId"]
    with Gate(store) as gate:
        running = start_s3(imprint, source, name, environment=gate.environment)
        assert gate.reached.wait(30)
        running.kill()
        assert len(s3_store.uploads(s3, BUCKET, name)) == 2
        assert len(cluster.snapshots(pool, "source")) == 1
        gate.parts = gate.passed + 1000
        start = time.monotonic()
        path = export(imprint, places, source, "s3", tmp_path / name, environment=gate.environment)
        assert time.monotonic() - start < 25  # sooner than Ceph notices by itself
    check(path, disk, "zlib")
    assert [upload["UploadId"] for upload in s3_store.uploads(s3, BUCKET, name)] == [other]
    s3.abort_multipart_upload(Bucket=BUCKET, Key=name, UploadId=other)
    check_gone(s3, cluster, pool, name)


def test_a_kill_before_the_upload_is_known_by_its_id(cluster, pool, imprint, places, source, disk,
                                                     store, s3, tmp_path, name):
    """The store has begun it, the answer does not arrive any more."""
    other = s3.create_multipart_upload(Bucket=BUCKET, Key=name)["UploadId"]
    running = []

    def kill(request, body):
        if request.method == "POST" and request.target.endswith("?uploads=") and running:
            running.pop().signal(signal.SIGKILL)
            return None
        return body

    with s3_store.through(store, kill) as between:
        environment = {"AWS_ENDPOINT_URL": between.url("")}
        killed = start_s3(imprint, source, name, environment=environment)
        running.append(killed)
        killed.wait()
        assert len(s3_store.uploads(s3, BUCKET, name)) == 2
        path = export(imprint, places, source, "s3", tmp_path / name, environment=environment)
    check(path, disk, "zlib")
    assert [upload["UploadId"] for upload in s3_store.uploads(s3, BUCKET, name)] == [other]
    s3.abort_multipart_upload(Bucket=BUCKET, Key=name, UploadId=other)
    check_gone(s3, cluster, pool, name)


def test_an_upload_that_was_begun_twice(cluster, pool, imprint, places, source, disk, store, s3,
                                        tmp_path, name):
    """The first answer was lost, and the store has begun one more than is known."""
    other = s3.create_multipart_upload(Bucket=BUCKET, Key=name)["UploadId"]
    lost = []

    def lose(request, body):
        if request.target.endswith("?uploads=") and not lost:
            lost.append(request)
            return None
        return body

    with s3_store.through(store, lose) as between:
        path = export(imprint, places, source, "s3", tmp_path / name,
                      environment={"AWS_ENDPOINT_URL": between.url("")})
    assert lost
    check(path, disk, "zlib")
    assert [upload["UploadId"] for upload in s3_store.uploads(s3, BUCKET, name)] == [other]
    s3.abort_multipart_upload(Bucket=BUCKET, Key=name, UploadId=other)
    check_gone(s3, cluster, pool, name)


def test_two_at_once_do_not_destroy_each_other(imprint, source, disk, store, s3, name, tmp_path,
                                               places):
    with Gate(store) as gate:
        running = start_s3(imprint, source, name, environment=gate.environment)
        assert gate.reached.wait(30)
        done = start_s3(imprint, source, name, environment=gate.environment).wait()
        assert done.status == command.UNREACHABLE, done
        assert "another export to the same destination is under way" in done.stderr
        assert len(s3_store.uploads(s3, BUCKET, name)) == 1
        running.signal(signal.SIGTERM)
        assert running.wait().status == command.STOPPED


def test_a_snapshot_that_is_removed_meanwhile_is_no_disk(cluster, pool, imprint, source, store, s3,
                                                         name):
    """RBD gives zeros for it: nothing of that may become an object."""
    with cluster.image(pool, "source") as image:
        image.create_snap("doomed")

    there = ["doomed"]

    def remove(request, reply):
        if there:
            with cluster.image(pool, "source") as image:
                image.remove_snap(there.pop())
        return False

    with Gate(store, on_part=remove) as gate:
        done = start_s3(imprint, f"{source}@doomed", name, "--format", "raw",
                        environment=gate.environment).wait()
    assert done.status == command.NOT_FOUND, done
    assert "source@doomed' was removed while it was read" in done.stderr
    check_gone(s3, cluster, pool, name)


def test_a_bucket_that_is_not_there(cluster, pool, imprint, source):
    done = imprint.run("export", source, "s3://nowhere/x", "--allow-local-addresses")
    assert done.status == command.NOT_FOUND and "NoSuchBucket" in done.stderr, done
    assert not left_records(cluster, pool) and not cluster.snapshots(pool, "source")


def test_an_image_that_is_not_there(imprint, pool, tmp_path):
    done = imprint.run("export", f"{pool}/nothing", tmp_path / "out")
    assert done.status == command.NOT_FOUND and "nothing" in done.stderr, done
    assert not os.listdir(tmp_path)


def packed(text):
    return struct.pack("<I", len(text)) + text.encode()


def half_remove(cluster, pool, name):
    """A snapshot as it is left when who removes it is killed: in the image's own trash, of no use to
    anybody. A clone that is only entered for the moment brings it there."""
    with cluster.image(pool, "source") as image, cluster.ioctx(pool) as ioctx:
        image.create_snap(name)
        spec = struct.pack("<q", cluster.rados.pool_lookup(pool)) + packed("beef01") + packed("")
        snap_id = next(snap["id"] for snap in image.list_snaps() if snap["name"] == name)
        child = struct.pack("<QBBI", snap_id, 2, 1, len(spec)) + spec
        ioctx.execute(f"rbd_header.{image.id()}", "rbd", "child_attach", child)
        image.remove_snap(name)
        ioctx.execute(f"rbd_header.{image.id()}", "rbd", "child_detach", child)


def test_a_snapshot_on_its_way_out_is_removed(cluster, pool, imprint, source, tmp_path):
    """It was to be removed when the export was killed, and would keep old data for ever."""
    half_remove(cluster, pool, "imprint.t.1.1")
    left = cluster.snapshots(pool, "source")
    assert [snap["namespace"] for snap in left] == [rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH]
    assert imprint.run("export", source, tmp_path / "out").status == command.DONE
    assert not cluster.snapshots(pool, "source")


# ---- files and pipes


def test_a_file_appears_as_a_whole(imprint, source, disk, tmp_path):
    """What was there before stays until then; what a killed one has left is taken over."""
    path = tmp_path / "out"
    path.write_bytes(b"before")
    part = tmp_path / "out.imprint-part"
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = imprint.start("export", source, path, "--format", "raw")
        while not part.exists() or part.stat().st_size < MIB:
            time.sleep(0.005)
        running.signal(number)
        done = running.wait()
        assert done.status in (-signal.SIGKILL, command.STOPPED), done
        assert path.read_bytes() == b"before"
        assert part.exists() == (number == signal.SIGKILL)
    part.write_bytes(b"of one that was killed" * (10 * MIB))
    assert imprint.run("export", source, path, "--format", "raw").status == command.DONE
    assert same(path, disk) and not part.exists()
    assert os.stat(path).st_blocks * 512 < 60 * MIB  # holes stay holes


def test_what_takes_the_place_of_a_file_is_no_more_public(imprint, source, disk, tmp_path):
    path = tmp_path / "out"
    path.touch(mode=0o600)
    assert imprint.run("export", source, path, "--format", "raw").status == command.DONE
    assert same(path, disk) and path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_somebody_else_writes(imprint, source, tmp_path):
    with open(tmp_path / "out.imprint-part", "wb") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        done = imprint.run("export", source, tmp_path / "out")
    assert done.status == command.UNREACHABLE and "written by another export" in done.stderr, done


def test_a_fifo(imprint, source, disk, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    running = imprint.start("export", source, tmp_path / "fifo", "--format", "raw")
    with open(tmp_path / "fifo", "rb") as fifo, open(tmp_path / "out", "wb") as out:
        while data := fifo.read(1 << 16):
            out.write(data)
    assert running.wait().status == command.DONE
    assert same(tmp_path / "out", disk)
    assert sorted(os.listdir(tmp_path)) == ["fifo", "out"]


def test_a_pipe_that_nobody_reads_can_be_stopped(cluster, pool, imprint, source):
    running = imprint.start("export", source, "-", "--format", "raw")
    running.popen.stdout.read(1)
    time.sleep(0.5)  # the pipe is full now
    running.signal(signal.SIGTERM)
    running.popen.wait(10)
    done = running.wait()
    assert done.status == command.STOPPED, done
    assert not cluster.snapshots(pool, "source")


def test_a_reader_who_goes_away(cluster, pool, imprint, source):
    running = imprint.start("export", source, "-", "--format", "raw")
    running.popen.stdout.read(1)
    running.popen.stdout.close()
    running.popen.stdout = None
    done = running.wait()
    assert done.status > 0 and "Broken pipe" in done.stderr, done
    assert not cluster.snapshots(pool, "source")


@pytest.mark.parametrize("place", ["-", "out"])
def test_places_of_one_name_are_not_one_place(cluster, pool, imprint, source, disk, tmp_path, place):
    """Every process has a standard output, every folder may have a file of that name."""
    folders = [tmp_path / "a", tmp_path / "b"]
    running = []
    for folder in folders:
        folder.mkdir()
        os.mkfifo(folder / "out")
        running.append(imprint.start("export", source, place, "--format", "raw", cwd=folder))
        wait_for_record(cluster, pool, running[-1])
    for folder, process in zip(folders, running):
        if place == "-":
            done = process.wait()
            (folder / "copy").write_bytes(done.stdout)
        else:
            subprocess.run("cat out >copy", shell=True, cwd=folder, check=True, timeout=30)
            done = process.wait()
        assert done.status == command.DONE, done
        assert same(folder / "copy", disk)
    assert not left_records(cluster, pool) and not cluster.snapshots(pool, "source")


def wait_for_record(cluster, pool, running):
    """Until an export has written down that it is at work, or has ended."""
    deadline = time.monotonic() + 30
    while not left_records(cluster, pool) and running.popen.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_places_that_are_none(imprint, source, tmp_path):
    for place, text in ((tmp_path, "is a folder"), (tmp_path / "no" / "out", "No such file"),
                        ("gopher://x/y", "destination"), ("s3://bucket", "s3://BUCKET/KEY"),
                        ("http://", "URL")):
        done = imprint.run("export", source, place)
        assert done.status not in (command.DONE, command.FAILED) and text in done.stderr, (place, done)


# ---- HTTP


def test_a_web_server_that_wants_a_password(imprint, nginx, source, disk, tmp_path, name):
    import nginx as nginx_module
    url = nginx.url(f"/put/private/{name}")
    done = imprint.run("export", source, url, "--allow-local-addresses")
    assert done.status == command.NOT_ALLOWED and "401" in done.stderr, done
    done = imprint.run("export", source, url, "--allow-local-addresses", "--user", nginx_module.USER,
                       environment={"IMPRINT_PASSWORD": nginx_module.PASSWORD})
    assert done.status == command.DONE, done
    check(nginx.put_path(f"private/{name}"), disk, "zlib")


def test_a_web_server_that_takes_nothing(cluster, pool, imprint, nginx, source, name):
    done = imprint.run("export", source, nginx.url(f"/{name}"), "--allow-local-addresses")
    assert done.status != command.DONE and "the server answered 4" in done.stderr, done
    assert not cluster.snapshots(pool, "source")


def test_local_addresses_must_be_allowed(imprint, nginx, source):
    done = imprint.run("export", source, nginx.url("/put/x"))
    assert done.status == command.NOT_ALLOWED and "loopback" in done.stderr, done
