# SPDX-License-Identifier: Apache-2.0
"""Foreign formats through qemu-nbd in its jail: read right, and nothing else read."""

import os
import re
import signal
import struct
import subprocess
import time

import pytest

import nbd
from foreign import KINDS, descriptor
from disk import PROGRAMS, copy, finish, probe, same_content, start
from sandbox import NOBODY, is_running, processes_of

MIB = 1 << 20


def run(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arguments", [[], ["--only-data", "--threads", 8], ["--stream"]],
                         ids=["all", "data", "stream"])
def test_disk_is_read(images, disk, output, kind, arguments):
    image_format = KINDS[kind][0]
    outcome = copy(images[kind], output, "--format", image_format, *arguments)
    assert outcome.error is None
    assert outcome.identity.startswith(f"{image_format}:file:")
    size = re.search(r"\((\d+) bytes\)", run("qemu-img", "info", "-f", image_format, images[kind]))[1]
    assert outcome.size == int(size)
    assert same_content(disk, output)


def test_holes_are_told(images):
    outcome = probe("--map", "--format", "vmdk", images["vmdk"])
    assert outcome.data == [[0, 2 * MIB], [10 * MIB, 12 * MIB], [20 * MIB, 22 * MIB],
                            [33 * MIB, 33 * MIB + 131072], [62 * MIB, 64 * MIB]]


def test_file_behind_a_server(images, disk, tmp_path, output):
    """The file itself may be anything that can be read anywhere."""
    with nbd.QemuNbd(images["vmdk-stream"], tmp_path, ["--read-only"]) as server:
        outcome = copy(f"nbd+unix:///?socket={server.socket}", output, "--allow-local",
                       "--format", "vmdk")
        assert outcome.error is None
        assert outcome.identity is None
    assert same_content(disk, output)


def test_server_that_goes_away_is_told_as_such(images, tmp_path, output):
    """Not as a fault of the format."""
    with nbd.QemuNbd(images["vmdk"], tmp_path, ["--read-only"]) as server:
        running = start("--retries", 2, "--retry-first-ms", 20, "--stall", 1, "--allow-local",
                        "--format", "vmdk", "--chunk", 512, "--threads", 1, "--output", output,
                        f"nbd+unix:///?socket={server.socket}")
        time.sleep(0.3)
        assert running.poll() is None
        server.kill()
        outcome = finish(running)
    assert outcome.error is None or "given up after 3 attempts" in outcome.error


def test_as_another_user(images, disk, output):
    assert copy(images["qed"], output, "--format", "qed", "--uid", NOBODY).error is None
    assert same_content(disk, output)


# Files that are not what they should be.

@pytest.mark.parametrize("kind", KINDS)
def test_truncated_file(images, disk, tmp_path, output, kind):
    """Cut anywhere: an error, or all the same the whole disk, but never zeros in place of what is missing."""
    content = images[kind].read_bytes()
    for length in (0, 1, 511, 512, 1024, 4096, 65536, len(content) // 2, len(content) - 512):
        (tmp_path / "cut").write_bytes(content[:length])
        outcome = copy(tmp_path / "cut", output, "--format", KINDS[kind][0])
        assert outcome.code in (None, "INVALID_ARGUMENT", "DATA_LOSS"), length
        assert outcome.error or same_content(disk, output), length


@pytest.mark.parametrize("image_format", ["vmdk", "vdi", "vpc", "vhdx", "qed"])
def test_file_of_another_format(disk, image_format):
    outcome = probe("--format", image_format, disk)
    assert outcome.code == "INVALID_ARGUMENT"
    assert outcome.error.startswith(f"'{disk}': qemu-nbd: ")


def test_format_that_qemu_is_not_asked_for(disk):
    for image_format in ("raw", "qcow2", "luks", "vvfat", "vmdk,file.driver=file"):
        outcome = probe("--format", image_format, disk)
        assert outcome.code == "UNIMPLEMENTED"


# Files that name others.

SECRET = "/etc/passwd"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libc.so.6"
EXTENTS = {
    "absolute": (f'RW 4 FLAT "{SECRET}" 0', SECRET),
    "library": (f'RW 2048 FLAT "{LIBRARY}" 0', LIBRARY),
    "relative": ('RW 4 FLAT "passwd" 0', None),
    "up": ('RW 4 FLAT "../../../etc/passwd" 0', None),
    "descriptor": ('RW 2048 FLAT "/dev/fd/3" 0', "/dev/fd/3"),
    "process": ('RW 2048 FLAT "/proc/self/fd/4" 0', "/proc/self/fd/4"),
    "memory": ('RW 2048 FLAT "/proc/self/mem" 0', "/proc/self/mem"),
    "device": ('RW 2048 FLAT "/dev/vda" 0', "/dev/vda"),
    "vmfs": (f'RW 4 VMFS "{SECRET}"', SECRET),
    "network": ('RW 2048 FLAT "nbd:127.0.0.1:10809" 0', None),
    "web": ('RW 2048 FLAT "http://169.254.169.254/" 0', None),
    "folder": ('RW 2048 FLAT "fat:/etc" 0', None),
}


@pytest.mark.parametrize("name", EXTENTS)
def test_vmdk_that_names_another_file(tmp_path, output, name):
    extent, wanted = EXTENTS[name]
    (tmp_path / "hostile").write_bytes(descriptor(extent))
    outcome = copy(tmp_path / "hostile", output, "--format", "vmdk")
    assert outcome.code == "INVALID_ARGUMENT"
    assert "refers to another file" in outcome.error
    if wanted:
        assert f"refers to another file, '{wanted}'" in outcome.error
    assert not output.exists()


@pytest.mark.parametrize("name", ["sparse", "json"])
def test_vmdk_with_other_tricks(tmp_path, name):
    content = {
        "sparse": descriptor(f'RW 2048 SPARSE "{SECRET}"', kind="twoGbMaxExtentSparse"),
        "json": descriptor('RW 4 FLAT "json:{"driver":"file","filename":"/etc/passwd"}" 0'),
    }[name]
    (tmp_path / "hostile").write_bytes(content)
    assert probe("--format", "vmdk", tmp_path / "hostile").code == "INVALID_ARGUMENT"


def test_vmdk_with_a_parent(images, tmp_path):
    """In a descriptor of its own, and in one that is inside the file."""
    more = f'parentFileNameHint="{SECRET}"'
    (tmp_path / "hostile").write_bytes(descriptor("RW 4 ZERO", parent="12345678", more=more))
    assert f"another file, '{SECRET}'" in probe("--format", "vmdk", tmp_path / "hostile").error
    content = images["vmdk"].read_bytes()
    content = content.replace(b"parentCID=ffffffff\n", b"parentCID=12345678\n" + more.encode() + b"\n",
                              1)
    (tmp_path / "inside").write_bytes(content)
    assert "refers to another file" in probe("--format", "vmdk", tmp_path / "inside").error


VMDK_HEADER = "<4sIIQQQQIQQQ"
VMDK_FIELDS = ("magic", "version", "flags", "capacity", "granularity", "desc_offset", "desc_size",
               "num_gtes", "rgd_offset", "gd_offset", "grain_offset")


def change_vmdk(content, **changes):
    size = struct.calcsize(VMDK_HEADER)
    fields = dict(zip(VMDK_FIELDS, struct.unpack(VMDK_HEADER, content[:size])))
    fields.update(changes)
    return struct.pack(VMDK_HEADER, *fields.values()) + content[size:]


def test_vmdk_whose_descriptor_is_inside(images, tmp_path):
    """A sparse file that says it has no room is read as a descriptor."""
    content = bytearray(change_vmdk(images["vmdk"].read_bytes(), capacity=0))
    begin = content.index(b"# Disk DescriptorFile")
    hostile = descriptor(f'RW 4 FLAT "{SECRET}" 0') + b"\0"
    content[begin:begin + len(hostile)] = hostile
    (tmp_path / "hostile").write_bytes(content)
    assert f"another file, '{SECRET}'" in probe("--format", "vmdk", tmp_path / "hostile").error


@pytest.mark.parametrize("changes", [
    {"capacity": 1 << 62}, {"capacity": (1 << 63) - 1}, {"capacity": 1 << 45}, {"capacity": 1 << 34},
    {"granularity": 0}, {"granularity": 1}, {"granularity": 1 << 60}, {"num_gtes": 0},
    {"num_gtes": 0xffffffff}, {"gd_offset": 1 << 62}, {"gd_offset": 0}, {"rgd_offset": 1 << 50},
    {"desc_offset": 1 << 54}, {"desc_size": 1 << 54}, {"grain_offset": 1 << 62}, {"version": 99},
    {"flags": 0xffffffff}], ids=str)
def test_vmdk_with_absurd_numbers(images, tmp_path, output, changes):
    (tmp_path / "absurd").write_bytes(change_vmdk(images["vmdk"].read_bytes(), **changes))
    outcome = probe("--format", "vmdk", "--output", output, "--len", 64 * MIB, tmp_path / "absurd")
    assert outcome.code in (None, "INVALID_ARGUMENT", "DATA_LOSS")


def test_qed_with_a_backing_file(disk, tmp_path):
    image = tmp_path / "overlay"
    run("qemu-img", "create", "-f", "qed", "-b", disk, "-F", "raw", image)
    outcome = probe("--format", "qed", image)
    assert f"refers to another file, '{disk}'" in outcome.error
    run("qemu-img", "rebase", "-u", "-f", "qed", "-b", "relative", "-F", "raw", image)
    assert "refers to another file" in probe("--format", "qed", image).error


def test_vhd_with_a_parent(images, tmp_path):
    """A differencing disk, which qemu does not read at all."""
    content = bytearray(images["vhd"].read_bytes())
    for footer in (0, len(content) - 512):
        content[footer + 60:footer + 64] = struct.pack(">I", 4)
        content[footer + 64:footer + 68] = bytes(4)
        checksum = ~sum(content[footer:footer + 512]) & 0xffffffff
        content[footer + 64:footer + 68] = struct.pack(">I", checksum)
    (tmp_path / "child").write_bytes(content)
    outcome = probe("--format", "vpc", tmp_path / "child")
    assert outcome.error is None or outcome.code == "INVALID_ARGUMENT"


# The jail itself.

def test_taken_over_decoder_can_do_nothing(images):
    """A program in place of qemu-nbd tries 24 things; all it can is to read a library before it has seen
    the image, as it must to start."""
    hostile = os.path.join(PROGRAMS, "jail_probe")
    for arguments in ([], ["--uid", NOBODY]):
        outcome = probe(*arguments, "--format", "vmdk", "--program", hostile, images["vmdk"])
        assert re.search(r"tried 24 things and could do: before: library$", outcome.error)


def test_decoder_that_is_missing(images):
    outcome = probe("--format", "vmdk", "--program", "/nonexistent/qemu-nbd", images["vmdk"])
    assert outcome.code == "NOT_FOUND"
    assert "run '/nonexistent/qemu-nbd'" in outcome.error


def slow_probe(image, output):
    """Long enough under way to be looked at."""
    running = start("--format", "vmdk", "--chunk", 512, "--threads", 1, "--output", output, image)
    deadline = time.monotonic() + 20
    while not output.exists():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.01)
    (helper, helper_status), = processes_of(running.pid)
    (decoder, decoder_status), = processes_of(helper)
    return running, (helper, helper_status), (decoder, decoder_status)


def test_jail_from_outside(images, output):
    running, (_, helper), (pid, decoder) = slow_probe(images["vmdk"], output)
    try:
        assert helper["Name"] == "imprint-foreign"
        assert decoder["Name"] == "qemu-nbd"
        for status in (helper, decoder):
            assert status["CapEff"] == "0000000000000000"
            assert status["NoNewPrivs"] == "1"
        assert decoder["Seccomp"] == "2"
        with open(f"/proc/{pid}/limits", encoding="ascii") as limits:
            text = limits.read()
        assert re.search(r"Max address space\s+2147483648\s", text)
        assert re.search(r"Max core file size\s+0\s+0\s", text)
        opened = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        assert all(target == "/dev/null" or target.startswith(("socket:", "pipe:", "anon_inode:"))
                   for target in opened), opened
    finally:
        running.kill()
        running.wait()


def wait_gone(*pids):
    deadline = time.monotonic() + 10
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_all_die_with_the_worker(images, output):
    running, (helper, _), (decoder, _) = slow_probe(images["vmdk"], output)
    running.send_signal(signal.SIGKILL)
    running.wait()
    wait_gone(helper, decoder)


def test_decoder_dies_with_its_helper(images, output):
    running, (helper, _), (decoder, _) = slow_probe(images["vmdk"], output)
    os.kill(helper, signal.SIGKILL)
    wait_gone(decoder)
    outcome = finish(running)
    assert outcome.error is not None


def test_decoder_that_crashes(images, output):
    running, _, (decoder, _) = slow_probe(images["vmdk"], output)
    os.kill(decoder, signal.SIGSEGV)
    outcome = finish(running)
    assert outcome.code == "INVALID_ARGUMENT"
    assert "qemu-nbd ended: killed by signal 11" in outcome.error


def test_nothing_is_left(images, tmp_path):
    """Neither processes nor files: the sockets' folder is gone before anything starts."""
    environment = {"TMPDIR": str(tmp_path)}
    assert probe("--format", "vmdk", images["vmdk"], environment=environment).error is None
    assert os.listdir(tmp_path) == []
