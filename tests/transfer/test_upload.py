# SPDX-License-Identifier: Apache-2.0
"""Imports of a file while it is sent: in pieces of any size, by processes that come and go, straight
into an image that is there."""

import gzip
import hashlib
import random
import signal
import subprocess
import time

import pytest

import imprint as command
from images import MIB, qemu_img

DISK = 80 * MIB + 512 * 5


@pytest.fixture
def target(cluster, image):
    """An image that holds something else already."""
    cluster.rbd("create", "--size", "96M", image)
    with cluster.image(*image.split("/")) as opened:
        opened.write(b"x" * MIB, 90 * MIB)
    return image


@pytest.fixture(scope="module")
def files(disk, tmp_path_factory):
    """The disk as people send it."""
    folder = tmp_path_factory.mktemp("sent")
    raw = disk.read_bytes()
    made = {"raw": raw, "raw.gz": gzip.compress(raw, 1)}
    for name, options in (("qcow2", []), ("compressed.qcow2", ["-c"])):
        path = folder / name
        qemu_img("convert", "-f", "raw", "-O", "qcow2", *options, disk, path)
        made[name] = path.read_bytes()
    made["qcow2.gz"] = gzip.compress(made["qcow2"], 1)
    return made


class Sender:
    """Sends a file to `imprint import`, from where that wants it."""

    def __init__(self, imprint, target, data, name="one", *flags):
        self.imprint, self.data = imprint, data
        self.arguments = [f"upload:0:{len(data)}:{name}", target, "--existing", "--token", "t", "--json", *flags]
        self.safe = 0

    def piece(self, end, *flags):
        """All up to there, by one process: how that ended."""
        done = self.imprint.run("import", *self.arguments, *flags, input=self.data[self.safe:end])
        if done.status == command.DONE:
            assert {"event": "ready", "verb": "import", "offset": self.safe} in done.events, done
            self.safe = done.events[-1].get("safe", len(self.data))
        return done

    def begin(self, end):
        """A process that has all up to there, has said that it is safe, and waits for more."""
        running = self.imprint.start("import", *self.arguments, stdin=subprocess.PIPE)
        while (ready := command.json.loads(running.popen.stdout.readline()))["event"] != "ready":
            pass  # Ceph is slow
        assert ready["offset"] >= self.safe, ready
        running.popen.stdin.write(self.data[ready["offset"]:end])
        running.popen.stdin.flush()
        self.safe = ready["offset"]
        while self.safe < end:
            line = running.popen.stdout.readline()
            assert line, running.wait()
            self.safe = max(self.safe, command.json.loads(line).get("safe", 0))
        return running


def content(cluster, image):
    with cluster.image(*image.split("/"), read_only=True) as opened:
        return opened.read(0, opened.size())


def check(cluster, target, disk):
    found = content(cluster, target)
    assert found[:DISK] == disk.read_bytes()
    assert not any(found[DISK:]), "what was there before shows through"


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("form", ["raw", "raw.gz", "qcow2", "compressed.qcow2", "qcow2.gz"])
def test_any_pieces_make_the_whole(cluster, imprint, target, disk, files, form):
    """Of a byte, of a little, of more than is decoded at once; each by another process."""
    data = files[form]
    sender = Sender(imprint, target, data)
    chance = random.Random(form)
    for end in (1, 5, 100, 70000, MIB + 1, *sorted(chance.randrange(MIB + 2, len(data) - 1) for _ in range(4)),
                len(data) - 1):
        done = sender.piece(end)
        assert done.events[-1]["event"] == "paused" and sender.safe == end, done
    done = sender.piece(len(data))
    assert done.result["format"] == ("raw" if form.startswith("raw") else "qcow2")
    assert done.result["virtualSize"] == DISK and done.result["digest"] == sha256(data)
    check(cluster, target, disk)
    # whoever did not hear of it
    assert imprint.run("import", *sender.arguments, input=b"").result["digest"] == sha256(data)


def test_it_is_written_once_and_nothing_stands_beside_it(cluster, pool, imprint, target, disk, files):
    sender = Sender(imprint, target, files["qcow2"])
    before = set(cluster.images(pool))
    running = sender.begin(len(files["qcow2"]) - 1)
    assert set(cluster.images(pool)) == before, "something is staged"
    done = running.wait(stdin=files["qcow2"][-1:])
    assert done.status == command.DONE, done
    assert done.result["written"] <= len(files["qcow2"])
    check(cluster, target, disk)
    assert not [name for name in cluster.leftovers(pool) if "checkpoint" in name or "spool" in name]


@pytest.mark.parametrize("form", ["raw.gz", "qcow2"])
def test_killed_at_any_byte_it_goes_on_from_what_it_said(cluster, imprint, target, disk, files, form):
    data = files[form]
    sender = Sender(imprint, target, data)
    for end in (300000, len(data) // 3, len(data) // 3 + 10, len(data) - 5):
        sender.begin(end).kill()
        assert sender.safe == end
    running = sender.begin(len(data) - 3)
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert done.events[-1] == {"event": "paused", "verb": "import", "safe": len(data) - 3}, done
    assert sender.piece(len(data)).result["event"] == "done"
    check(cluster, target, disk)


def test_one_at_a_time_and_another_file_begins_anew(cluster, imprint, target, disk, files):
    data = files["qcow2"]
    running = Sender(imprint, target, data).begin(2 * MIB)
    began = time.monotonic()
    done = Sender(imprint, target, data).piece(len(data))
    assert done.status == command.UNREACHABLE and "is open for the Ceph client" in done.stderr, done
    assert time.monotonic() - began < 10
    running.kill()
    other = Sender(imprint, target, files["compressed.qcow2"], "two")
    assert other.piece(len(other.data)).result["event"] == "done"
    check(cluster, target, disk)


def test_a_checksum_may_come_late(cluster, imprint, target, disk, files):
    data = files["qcow2"]
    sender = Sender(imprint, target, data)
    assert sender.piece(MIB).events[-1]["safe"] == MIB
    done = sender.piece(len(data), "--checksum", "sha256:" + "0" * 64)
    assert done.status == command.DAMAGED and "sha256" in done.stderr, done
    assert not any(content(cluster, target)), "it must not be used"
    sender.safe = 0
    assert sender.piece(MIB).events[-1]["safe"] == MIB
    assert sender.piece(len(data), "--checksum", sha256(data)).result["digest"] == sha256(data)
    check(cluster, target, disk)


def test_what_is_no_image_is_told_at_once(cluster, imprint, target, files):
    """And not at the end of a file that is of no use."""
    broken, large = bytearray(files["qcow2"]), bytearray(files["qcow2"])
    broken[40:48] = b"\xff" * 8  # its first table is nowhere
    large[24:32] = (97 * MIB).to_bytes(8, "big")  # there is no room for it
    for data, status in ((broken, command.DAMAGED), (large, command.TOO_LARGE)):
        running = imprint.start("import", *Sender(imprint, target, data).arguments, stdin=subprocess.PIPE)
        running.popen.stdin.write(data[:65536])
        running.popen.stdin.flush()
        assert running.popen.wait(20) == status, "it waits for more"
        running.wait()
    bomb = gzip.compress(bytes(200 * MIB), 1)
    done = Sender(imprint, target, bomb).piece(len(bomb))
    assert done.status == command.TOO_LARGE, done
    assert not any(content(cluster, target))
