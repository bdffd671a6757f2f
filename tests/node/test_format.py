# SPDX-License-Identifier: Apache-2.0
"""A blank volume gets a filesystem once; what holds anything is never formatted."""

import concurrent.futures
import struct
import subprocess
import time
import zlib

import pytest

import volumes
from imprint import Imprint
from staged import Staged
from volumes import CODES, MIB, refused

SIZE = 320 * MIB


def make(path, *command):
    subprocess.run([*command, path], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


@pytest.fixture
def image_file(tmp_path):
    path = tmp_path / "image"
    with open(path, "wb") as file:
        file.truncate(SIZE)
    return path


def put(cluster, volume, path):
    """Copies the parts of a file that are not zeros into a volume."""
    with cluster.volume(volume.volume_id) as image, open(path, "rb") as file:
        for offset in range(0, SIZE, MIB):
            block = file.read(MIB)
            if block.strip(b"\0"):
                image.write(block, offset)


def digest(cluster, volume):
    return hash(volumes.contents(cluster, volume.volume_id))


@pytest.mark.parametrize("command, said", [
    (["mkfs.btrfs", "-q"], None),
    (["mkfs.ext3", "-q"], "holds ext3, and ext4 is asked for|holds ext3: it is neither"),
    (["mkfs.xfs", "-q"], "holds xfs, and ext4 is asked for"),
    (["mkswap"], "holds swap: it is neither mounted nor formatted"),
    (["parted", "-s"], None),
    (["pvcreate"], None),
])
def test_known_signatures(cluster, node, client, create, image_file, command, said):
    if said is None:  # tools that are not here: their first bytes
        signatures = {"mkfs.btrfs": (0x10040, b"_BHRfS_M"), "parted": (0x1fe, b"\x55\xaa"),
                      "pvcreate": (512, b"LABELONE")}
        offset, magic = signatures[command[0]]
        with open(image_file, "r+b") as file:
            file.seek(offset)
            file.write(magic)
        said = "holds .*: it is neither mounted nor formatted"
    else:
        make(image_file, *command)
    volume = create("v", SIZE)
    put(cluster, volume, image_file)
    before = digest(cluster, volume)
    for _ in range(2):
        with refused(CODES.FAILED_PRECONDITION, said):
            Staged(client, node, volume, "ext4").stage()
    assert node.leftovers() == [] and digest(cluster, volume) == before


def test_any_byte_of_the_first_mebibyte(cluster, node, client, create):
    for offset in (0, 1, 4096, MIB - 1):
        volume = create(f"v-{offset}")
        volumes.write(cluster, volume.volume_id, "x", 1, offset)
        before = digest(cluster, volume)
        with refused(CODES.FAILED_PRECONDITION, "holds unknown data: it is neither mounted"):
            Staged(client, node, volume, "ext4").stage()
        assert digest(cluster, volume) == before


def table_at_the_end(size):
    """The second copy of a GPT, whose first one is gone."""
    lba, entries = size // 512 - 1, bytes(128 * 128)
    fields = lambda crc: struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, lba, 1,
                                     34, lba - 33, b"imprint-disk-gid", lba - 32, 128, 128,
                                     zlib.crc32(entries))
    return lba * 512, fields(zlib.crc32(fields(0)))


def test_signatures_behind_the_first_mebibyte(cluster, node, client, create):
    end = 64 * MIB
    raid = struct.pack("<III20xI", 0xa92b4efc, 0, 90, end // 1024 - 64)
    pool = struct.pack("<QQQQQ", 0xbab10c, 5000, 7, 1, 1).ljust(1024, b"\0") * 16
    volume = create("v", end)
    for said, offset, data in [
            ("linux_raid_member", end - 0x10000, raid),
            ("zfs_member", end - 0x40000 + 0x21000, pool),
            ("isw_raid_member", end - 1024, b"Intel Raid ISM Cfg Sig. 1.3.00"),
            ("VMFS", 2 * MIB, struct.pack("<I", 0x2fabf15e)),
            ("gpt partition table", *table_at_the_end(end))]:
        with cluster.volume(volume.volume_id) as image:
            image.write(data, offset)
        with refused(CODES.FAILED_PRECONDITION, f"holds {said}: it is neither mounted nor"):
            Staged(client, node, volume, "ext4").stage()
        with cluster.volume(volume.volume_id) as image:
            assert image.read(offset, len(data)) == data
            image.write(bytes(len(data)), offset)
    assert node.leftovers() == []


def test_damaged_ext4_is_not_formatted(cluster, node, client, create):
    volume = create("v")
    with Staged(client, node, volume, "ext4"):
        pass
    with cluster.volume(volume.volume_id) as image:
        # the root inode, all group descriptors and bitmaps, behind an intact superblock
        image.write(b"\xa5" * (1 << 16), 2048)
        image.write(b"\xa5" * (4 * MIB), MIB // 4)
        state = bytearray(image.read(1024, 1024))
        state[58] = 2  # s_state: errors were found, so fsck looks
        image.write(bytes(state), 1024)
    before = digest(cluster, volume)
    with refused(CODES.DATA_LOSS, "damaged"):
        Staged(client, node, volume, "ext4").stage()
    assert node.leftovers() == [] and digest(cluster, volume) == before


def test_damaged_xfs_is_not_formatted(cluster, node, client, create):
    volume = create("v", SIZE)
    with Staged(client, node, volume, "xfs"):
        pass
    with cluster.volume(volume.volume_id) as image:
        image.write(b"\xa5" * 512, 512)  # the head of the first allocation group
        image.write(b"\xa5" * 60000, 4096)
    with refused(CODES.DATA_LOSS, "xfs filesystem is damaged"):
        Staged(client, node, volume, "xfs").stage()
    with cluster.volume(volume.volume_id) as image:
        assert image.read(512, 512) == b"\xa5" * 512


def test_interrupted_format_is_done_again(cluster, node, client, create):
    """With the mark on the image, what is there is half a filesystem of ours."""
    volume = create("v")
    image_id = volumes.image_id_of(volume.volume_id)
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.formatting", image_id)
        image.write(b"half a filesystem", 5000)
    with Staged(client, node, volume, "ext4") as staged:
        staged.publish()
    with cluster.volume(volume.volume_id, read_only=True) as image:
        assert "imprint.formatting" not in dict(image.metadata_list())


def test_mark_that_is_gone_when_the_device_is_there(cluster, node, client, create):
    """Another node has finished its filesystem while this one waited for it."""
    volume = create("v")
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        with cluster.volume(volume.volume_id) as image:
            image.metadata_set("imprint.formatting", volumes.image_id_of(volume.volume_id))
            waiting = threads.submit(Staged(client, node, volume, "ext4").stage)
            time.sleep(1)  # of three, for which it waits until nobody has the image
            image.metadata_remove("imprint.formatting")
            image.write(b"data", 5000)
        with refused(CODES.FAILED_PRECONDITION, "unknown data"):
            waiting.result()
    with cluster.volume(volume.volume_id, read_only=True) as image:
        assert image.read(5000, 4) == b"data"


def test_mark_of_a_disk_does_not_count(cluster, node, client, create):
    """Half a filesystem that was handed out as a disk since is somebody's data."""
    volume = create("v")
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.formatting", volumes.image_id_of(volume.volume_id))
        image.write(b"data", 5000)
    with Staged(client, node, volume) as staged:
        staged.publish()
    with refused(CODES.FAILED_PRECONDITION, "unknown data"):
        Staged(client, node, volume, "ext4").stage()


@pytest.mark.parametrize("way", ["import", "receive", "rollback"])
def test_mark_of_what_was_filled_does_not_count(cluster, node, client, control, create, tmp_path,
                                                way):
    """Half a filesystem that something else was put in place of is somebody's data."""
    volume, disk = create("v"), tmp_path / "disk"
    data = volumes.write(cluster, volume.volume_id, "data")
    disk.write_bytes(data)
    snapshot = volumes.snapshot(control, "s", volume.volume_id).snapshot_id
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.formatting", volumes.image_id_of(volume.volume_id))
        image.write(b"half a filesystem", 5000)
        target = f"{volumes.POOL}/{image.get_name()}"
    imprint = Imprint(cluster)
    done = (imprint.run("import", disk, target, "--existing") if way == "import"
            else imprint.run("rollback", target, snapshot) if way == "rollback"
            else imprint.run("receive", target, "--size", 64 * MIB, input=data))
    assert done.status == 0, done
    with refused(CODES.FAILED_PRECONDITION, "unknown data"):
        Staged(client, node, volume, "ext4").stage()
    assert volumes.contents(cluster, volume.volume_id)[:MIB] == data


def test_mark_of_another_image_does_not_count(cluster, node, client, control, create):
    """A clone carries the metadata of its source."""
    volume = create("v")
    with cluster.volume(volume.volume_id) as image:
        image.metadata_set("imprint.formatting", "somebody-else")
        image.write(b"data", 5000)
    with refused(CODES.FAILED_PRECONDITION, "unknown data"):
        Staged(client, node, volume, "ext4").stage()


def test_mkfs_options_that_are_refused(node, client, create):
    for number, (options, said) in enumerate([
        ("-d /etc", "'-d' is not allowed for ext4"),
        ("-E root_owner=0:0,nodiscard /dev/sda", "'/dev/sda' is not allowed"),
        ("-m 0 --help", "'--help' is not allowed"),
        ("-J device=/dev/sda", "'-J' is not allowed"),
        ("-O journal_dev=x", "the value 'journal_dev=x' of '-O' is not allowed"),
        ("-O $(reboot)", "is not allowed"),
    ]):
        volume = create(f"v-{number}", parameters=volumes.parameters(mkfsOptions=options))
        with refused(CODES.INVALID_ARGUMENT, "mkfsOptions", said):
            Staged(client, node, volume, "ext4").stage()
