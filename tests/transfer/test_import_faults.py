# SPDX-License-Identifier: Apache-2.0
"""Imports from servers that misbehave, and imports that are killed: each ends right or with the right
error, and never with a gap."""

import contextlib
import random
import signal
import subprocess
import time

import pytest
import rbd

import image_server
import imprint as command
import xz_file
from disk_images import make, wrap
from fault_server import FaultServer
from image_server import ImageFile, paced, spoiled
from images import MIB
from tenancy import mon_command
from volumes import wait_until

QUICK = ["--allow-local-addresses", "--stall", "2"]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """80 MiB, of which 50 cannot be compressed."""
    path = tmp_path_factory.mktemp("faults") / "disk.raw"
    chance = random.Random(11)
    with open(path, "wb") as file:
        file.truncate(80 * MIB)
        for offset in range(0, 80 * MIB, 8 * MIB):
            file.seek(offset + chance.randrange(2 * MIB))
            file.write(chance.randbytes(5 * MIB))
    return path


@pytest.fixture(scope="module")
def files(disk, tmp_path_factory):
    """name: an image to be served; with what qemu-img reads of it."""
    folder = tmp_path_factory.mktemp("images")
    raw, plain, zlib = (str(folder / name) for name in ("raw", "plain", "zlib"))
    make("raw", disk, raw)
    make("v3", disk, plain)
    make("zlib 64k", disk, zlib)
    paths = {"raw": raw, "plain": plain, "zlib": zlib}
    for kind, wrapper in (("raw", "gz"), ("plain", "gz"), ("plain", "tar"), ("plain", "tar.gz"),
                          ("raw", "xz"), ("raw", "zst")):
        copy = make("raw" if kind == "raw" else "v3", disk, f"{folder}/{kind}-{wrapper}")
        paths[f"{kind}.{wrapper}"] = wrap(wrapper, copy)
    paths["raw.frames"] = frames_of(raw, str(folder / "frames.zst"))
    for name, options in (("raw.blocks", ["-0", "--block-size=2MiB"]),
                          ("raw.xz, sha256", ["-0", "--check=sha256"]),
                          ("raw.xz, filter", ["--x86", "--lzma2=preset=0"])):
        paths[name] = f"{folder}/{name}"
        with open(paths[name], "wb") as out:
            subprocess.run(["xz", *options, "-c", raw], check=True, stdout=out)
    for name, window_log in (("raw.zst, long", 26), ("raw.zst, too long", 27)):
        paths[name] = f"{folder}/{name}"
        with open(raw, "rb") as file, open(paths[name], "wb") as out:
            subprocess.run(["zstd", "-q", "-c", f"--zstd=wlog={window_log}"], check=True, stdin=file, stdout=out)
    paths["raw.xz, long"] = str(folder / "long.xz")
    with open(raw, "rb") as file, open(paths["raw.xz, long"], "wb") as out:
        out.write(xz_file.stored(file.read(), 64 * MIB))
    return {name: ImageFile(path) for name, path in paths.items()}


def frames_of(path, target, length=2 * MIB):
    """As pzstd packs it: each piece for itself."""
    with open(path, "rb") as file, open(target, "wb") as out:
        while piece := file.read(length):
            out.write(subprocess.run(["zstd", "-q", "-c", "-1"], input=piece, check=True,
                                     stdout=subprocess.PIPE).stdout)
    return target


def check_content(cluster, pool, name, disk):
    with cluster.image(pool, name, read_only=True) as opened, open(disk, "rb") as file:
        assert opened.size() == 80 * MIB
        for offset in range(0, 80 * MIB, 8 * MIB):
            assert opened.read(offset, 8 * MIB) == file.read(8 * MIB), offset


def left(cluster, pool, name):
    """The image and its checkpoint, where they are there."""
    with cluster.ioctx(pool) as ioctx:
        records = [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]
    return [*records, *(found for found in cluster.images(pool) if found == name)]


# ---- servers that misbehave, and come to their senses

PASSING = {
    "drops": (image_server.drop_half, {"every": 2, "first": 20}),
    "closes early": (image_server.close_early, {"every": 2, "first": 20}),
    "stalls": (image_server.stall, {"every": 4, "first": 12}),
    "trickles": (image_server.slow_loris, {"every": 4, "first": 12}),
    "429": (image_server.busy(429), {"every": 2, "first": 20}),
    "500": (image_server.busy(500), {"every": 3, "first": 20}),
    "503": (image_server.busy(503), {"every": 2, "first": 20}),
}


@pytest.mark.parametrize("form", ["zlib", "raw.gz"], ids=["pieces", "stream"])
@pytest.mark.parametrize("case", PASSING)
def test_what_passes_is_waited_for(cluster, pool, imprint, files, disk, name, image, case, form):
    spoil, options = PASSING[case]
    with FaultServer(spoiled(files[form], spoil, **options)) as server:
        done = imprint.run("import", server.url(), image, *QUICK)
        sent = server.sent
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)
    assert sent < 2 * len(files[form].data) + 8 * MIB


def test_a_server_without_ranges_is_asked_once(cluster, pool, imprint, files, disk, name, image):
    with FaultServer(lambda request, reply: files["zlib"].serve(request, reply, ranges=False)) as server:
        done = imprint.run("import", server.url(), image, *QUICK)
        gets = [request for request in server.requests if request.method == "GET"]
    assert done.status == command.DONE, done
    assert len(gets) <= 2, len(gets)  # one to see what it is
    check_content(cluster, pool, name, disk)


def heedless(file, first, last=None, other=None):
    """From one request on, to another, ranges are not heeded: as by one of several behind a balancer."""

    def handle(request, reply):
        if request.number < first or (last is not None and request.number > last):
            file.serve(request, reply)
        else:
            (other or file).serve(request, reply, ranges=False)

    return handle


@pytest.mark.parametrize("form, last", [("raw", 14), ("zlib", None)], ids=["for a while", "for good"])
def test_ranges_are_not_heeded_any_more(cluster, pool, imprint, files, disk, name, image, form, last):
    with FaultServer(heedless(files[form], 6, last)) as server:
        done = imprint.run("import", server.url(), image, *QUICK, "--json", "--checksum",
                           f"sha256:{files[form].sha256}")
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)
    assert left(cluster, pool, name) == [name]


def test_ranges_are_not_heeded_and_the_file_is_another(cluster, pool, imprint, files, name, image):
    """The other one is told by its ETag alone."""
    other = ImageFile.__new__(ImageFile)
    other.__dict__.update(files["raw"].__dict__, etag='"v2"')

    def handle(request, reply):
        is_asked_anew = request.number and request.headers.get("range") == "bytes=0-0"
        heedless(other if is_asked_anew else files["raw"], 4)(request, reply)

    with FaultServer(handle) as server:
        done = imprint.run("import", server.url(), image, *QUICK)
    assert done.status == command.WRONG_STATE and "changed" in done.stderr, done
    assert not left(cluster, pool, name)


# ---- servers that lie

LIES = {
    # name: (how, forms, exit code, words)
    "wrong Content-Range": (image_server.wrong_range, ["zlib"], command.DAMAGED, ["asked for the bytes"]),
    "another total": (image_server.other_total, ["zlib"], command.WRONG_STATE, ["changed", "size"]),
    "another length": (image_server.other_length, ["zlib"], command.DAMAGED, ["do not agree"]),
    "another ETag": (image_server.other_etag, ["zlib", "raw"], command.WRONG_STATE,
                     ["changed while it was read"]),
    "the whole for a part": (image_server.whole_file, ["zlib"], None, ["whole file", "changed"]),
}


@pytest.mark.parametrize("case", LIES)
def test_a_lie_ends_it_and_leaves_nothing(cluster, pool, imprint, files, name, image, case):
    spoil, forms, status, words = LIES[case]
    for form in forms:
        with FaultServer(spoiled(files[form], spoil, every=6)) as server:
            done = imprint.run("import", server.url(), image, *QUICK)
        assert done.status == status or (status is None and done.status > command.DONE), done
        assert any(word in done.stderr for word in words), done
        assert not left(cluster, pool, name)


def test_a_file_that_is_replaced_meanwhile(cluster, pool, imprint, files, name, image):
    """By a server that does look at If-Match."""
    file = ImageFile.__new__(ImageFile)
    file.__dict__.update(files["raw"].__dict__)

    def replace(request, reply):
        if request.number == 5:
            file.data, file.etag = file.data[::-1], '"v2"'
        file.serve(request, reply)

    with FaultServer(replace) as server:
        done = imprint.run("import", server.url(), image, *QUICK)
    assert done.status == command.WRONG_STATE and "changed" in done.stderr, done
    assert not left(cluster, pool, name)


# ---- servers that stay away

GONE = {
    "drops": image_server.drop_half,
    "trickles": image_server.slow_loris,
    "503": image_server.busy(503),
}


@pytest.mark.parametrize("case", GONE)
def test_what_does_not_pass_is_given_up_and_gone_on_with_later(cluster, pool, imprint, files, disk, name,
                                                              image, case):
    """Exit status 6: trying again may help, and does, without fetching all of it again."""
    file = files["raw"]
    away = {"is": False}

    def handle(request, reply):
        status, headers, body = file.answer(request)
        if not away["is"] or request.method == "HEAD" or len(body) < 1 << 16:
            away["is"] = away["is"] or request.number > 9
            file.serve(request, reply)
        else:
            GONE[case](request, reply, status, headers, body)

    with FaultServer(handle) as server:
        done = imprint.run("import", server.url(), image, *QUICK, "--retries", "1")
        assert done.status == command.UNREACHABLE, done
        assert "given up after 2 attempts" in done.stderr or "503" in done.stderr, done
        assert name in left(cluster, pool, name)
        away["is"] = None
        server.handler = file.serve
        before = server.sent
        done = imprint.run("import", server.url(), image, *QUICK, "--json")
        again = server.sent - before
    assert done.status == command.DONE, done
    assert done.result["resumedAt"] > 0
    assert again < len(file.data) - 10 * MIB
    check_content(cluster, pool, name, disk)


# ---- kills


def kill_and_repeat(imprint, server, image, moments, number=signal.SIGKILL):
    """Ends the import after so many seconds, again and again; then lets it run. How it ended."""
    for moment in moments:
        running = imprint.start("import", server.url(), image, *QUICK)
        with contextlib.suppress(Exception):
            running.popen.wait(moment)
        if running.popen.poll() is not None:
            return running.wait()
        running.signal(number)
        ended = running.wait()
        assert ended.status in (-signal.SIGKILL, command.STOPPED), ended
    return imprint.run("import", server.url(), image, *QUICK, "--json")


RATE = 12 * MIB
# What a kill may cost: what came since the last checkpoint, two seconds old at most and written while
# the machine was busy, and the pieces under way.
A_KILL_COSTS = 4 * RATE


@pytest.mark.parametrize("form", ["raw", "plain", "raw.gz", "raw.xz", "raw.xz, sha256", "raw.xz, filter",
                                  "raw.xz, long", "raw.zst", "raw.zst, long", "plain.gz", "plain.tar", "plain.tar.gz"])
def test_killed_it_goes_on(cluster, pool, imprint, files, disk, name, image, form):
    """At random moments. The server counts what it had to give twice."""
    chance = random.Random(form)
    moments = [chance.uniform(1.0, 4.0) for _ in range(2)]
    size = len(files[form].data)
    with FaultServer(paced(files[form], RATE)) as server:
        done = kill_and_repeat(imprint, server, image, moments)
        sent = server.sent
    assert done.status == command.DONE, done
    print(f"{form}: {sent - size} of {size} bytes twice, killed after {moments}")
    assert sent - size <= len(moments) * A_KILL_COSTS
    assert done.seconds < 25  # those who cannot tell that the other is dead wait 30 for Ceph
    check_content(cluster, pool, name, disk)
    assert left(cluster, pool, name) == [name]


@pytest.mark.parametrize("form", ["raw.zst, too long"])
def test_what_cannot_be_saved_is_read_again(cluster, pool, imprint, files, disk, name, image, form):
    """From where it was saved last, if ever: nothing of the first attempt may be left."""
    with FaultServer(paced(files[form], RATE)) as server:
        done = kill_and_repeat(imprint, server, image, [2.5])
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)
    assert left(cluster, pool, name) == [name]


@pytest.mark.parametrize("form", ["raw.frames", "raw.blocks"])
def test_between_frames_it_is_gone_on_with(cluster, pool, imprint, files, disk, name, image, form):
    """And between the blocks of an xz file."""
    with FaultServer(paced(files[form], RATE)) as server:
        done = kill_and_repeat(imprint, server, image, [4])
    assert done.status == command.DONE, done
    assert done.result["resumedAt"] > 0
    check_content(cluster, pool, name, disk)
    assert left(cluster, pool, name) == [name]


def test_told_to_stop_it_keeps_what_it_has(cluster, pool, imprint, files, disk, name, image):
    file = files["raw"]
    with FaultServer(paced(file, RATE)) as server:
        done = kill_and_repeat(imprint, server, image, [2.5], number=signal.SIGTERM)
        sent = server.sent
    assert done.status == command.DONE, done
    assert done.result["resumedAt"] > 10 * MIB
    assert sent - len(file.data) <= 20 * MIB  # the pieces under way
    check_content(cluster, pool, name, disk)


def test_a_silent_server_does_not_keep_it_from_stopping(cluster, pool, imprint, files, image):

    def silent(request, reply):
        if request.number > 3:
            reply.stall(60)
            reply.close()
            return
        files["raw"].serve(request, reply)

    with FaultServer(silent) as server:
        running = imprint.start("import", server.url(), image, "--allow-local-addresses")
        while len(server.requests) < 5:
            time.sleep(0.05)
        time.sleep(0.5)
        running.signal(signal.SIGTERM)
        start = time.monotonic()
        done = running.wait()
        assert time.monotonic() - start < 5
    assert done.status == command.STOPPED, done


@pytest.mark.parametrize("flags", [(), ("--existing",)], ids=["made", "existing"])
def test_a_killed_import_of_something_else_leaves_no_trace(cluster, pool, imprint, files, disk, name,
                                                           image, flags):
    """Nothing of the first image may shine through the second."""
    if flags:
        cluster.rbd("create", "--size", "80", image)
    other = ImageFile.__new__(ImageFile)
    other.__dict__.update(files["raw"].__dict__)
    other.data, other.etag = b"\xff" * len(files["raw"].data), '"other"'
    with FaultServer(paced(other, RATE)) as server:
        running = imprint.start("import", server.url(), image, *QUICK, *flags)
        time.sleep(3)
        running.kill()
        assert name in left(cluster, pool, name)
        server.handler = files["raw"].serve
        done = imprint.run("import", server.url(), image, *QUICK, *flags, "--json")
    assert done.status == command.DONE, done
    assert done.result["resumedAt"] == 0
    check_content(cluster, pool, name, disk)


def test_what_an_existing_image_held_is_lost(cluster, pool, imprint, files, disk, name, image, tmp_path):
    """By whomever it was written, and where there is no telling whether the source is another one."""
    with open(tmp_path / "old", "wb") as old:
        old.write(b"\xff" * (80 * MIB))
    cluster.put_image(pool, name, str(tmp_path / "old"))
    with open(disk, "rb") as file:
        done = imprint.run("import", "-", image, "--existing", stdin=file)
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)


def test_two_at_once_do_not_mix(cluster, pool, imprint, files, disk, name, image):
    """The second waits for the first, and finds it done; if it looks before the first has said so, it is
    answered as if it were the first, called again."""
    with FaultServer(paced(files["zlib"], RATE)) as server:
        first = imprint.start("import", server.url(), image, *QUICK)
        time.sleep(1.5)
        second = imprint.start("import", server.url(), image, *QUICK)
        done = [first.wait(), second.wait()]
    assert done[0].status == command.DONE, done
    assert done[1].status in (command.DONE, command.EXISTS, command.WRONG_STATE), done
    assert server.sent < 1.5 * len(files["zlib"].data)
    check_content(cluster, pool, name, disk)


@pytest.mark.parametrize("signals", [1, 2], ids=["once", "twice"])
def test_an_osd_that_is_away_does_not_keep_it_from_stopping(cluster, pool, imprint, files, disk, name,
                                                           image, signals):
    """Nobody at a terminal waits for an OSD to come back; told twice, it does not wait at all."""
    with FaultServer(paced(files["raw"], RATE)) as server:
        running = imprint.start("import", server.url(), image, *QUICK)
        time.sleep(2.5)
        cluster.osd_pause()
        try:
            time.sleep(1)
            start = time.monotonic()
            for _ in range(signals):
                running.signal(signal.SIGTERM)
                time.sleep(0.3)
            done = running.wait()
            seconds = time.monotonic() - start
        finally:
            cluster.osd_resume()
            cluster.osd_settle()
        server.handler = files["raw"].serve
        again = imprint.run("import", server.url(), image, *QUICK, "--json")
    if signals == 1:
        assert done.status == command.STOPPED and "did not answer" in done.stderr, done
        assert seconds < 15
    else:
        assert done.status == 128 + signal.SIGTERM and seconds < 3, done
    assert again.status == command.DONE, again
    assert again.result["resumedAt"] > 4 * MIB
    check_content(cluster, pool, name, disk)


def test_an_osd_that_restarts_is_waited_for(cluster, pool, imprint, files, disk, name, image):
    with FaultServer(paced(files["zlib"], RATE)) as server:
        running = imprint.start("import", server.url(), image, *QUICK)
        time.sleep(2)
        cluster.osd_stop()
        time.sleep(2)
        cluster.osd_start()
        done = running.wait()
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)


@pytest.mark.parametrize("form", ["raw", "raw.gz"], ids=["pieces", "stream"])
def test_thrown_out_by_the_cluster_it_ends_and_goes_on_later(cluster, pool, imprint, files, disk, name, image,
                                                             form):
    """librbd never answers the writes of a client that was blocklisted."""
    with FaultServer(paced(files[form], RATE)) as server:
        running = imprint.start("import", server.url(), image, *QUICK)
        time.sleep(2)
        with cluster.image(pool, name, read_only=True) as opened:
            clients = [watcher["addr"] for watcher in opened.watchers_list()]
        assert clients
        for address in clients:
            cluster.blocklist(address)
        start = time.monotonic()
        done = running.wait()
        assert time.monotonic() - start < 15
        assert done.status == command.UNREACHABLE and "blocklisted" in done.stderr, done
        done = imprint.run("import", server.url(), image, *QUICK, "--json")
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)
    assert left(cluster, pool, name) == [name]


def test_a_wrong_checksum_after_a_kill_leaves_no_image(cluster, pool, imprint, files, name, image):
    """The checksum is of all bytes, those of the first process included."""
    flags = [*QUICK, "--checksum", "sha256:" + "0" * 64]
    file = files["raw"]
    with FaultServer(paced(file, RATE)) as server:
        running = imprint.start("import", server.url(), image, *flags)
        time.sleep(3)
        running.kill()
        server.handler = file.serve
        done = imprint.run("import", server.url(), image, *flags)
    assert done.status == command.DAMAGED and file.sha256 in done.stderr, done
    assert not left(cluster, pool, name)


# ---- a cluster that refuses writes


@pytest.fixture(scope="module")
def narrow_pool(cluster):
    """For data; there is room for one object, and it is there."""
    name = "narrow"
    mon_command(cluster, "osd pool create", pool=name, pg_num=8, pgp_num=8)
    with cluster.ioctx(name) as ioctx:
        rbd.RBD().pool_init(ioctx, True)
        ioctx.write_full("first", b"x")
    return name


def set_quota(cluster, pool, objects):
    mon_command(cluster, "osd pool set-quota", pool=pool, field="max_objects", val=str(objects))

    def is_full():
        return any(each["pool_name"] == pool and "full" in each["flags_names"].split(",")
                   for each in cluster.osd_map()["pools"])

    assert wait_until(lambda: is_full() == bool(objects), timeout_s=60)


@pytest.mark.parametrize("form", ["raw", "raw.gz"], ids=["pieces", "stream"])
def test_what_could_not_be_written_is_written_later(cluster, imprint, pool, narrow_pool, files, disk, name,
                                                    image, form):
    """A write that failed is over, and is not there: nobody may go on behind it."""
    with FaultServer(files[form].serve) as server:
        arguments = ("import", server.url(), image, *QUICK, "--data-pool", narrow_pool)
        set_quota(cluster, narrow_pool, 1)
        failed = imprint.run(*arguments)
        set_quota(cluster, narrow_pool, 0)
        done = imprint.run(*arguments)
    assert failed.status not in (command.DONE, command.REFUSED) and "quota" in failed.stderr, failed
    assert done.status == command.DONE, done
    check_content(cluster, pool, name, disk)
