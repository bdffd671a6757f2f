# SPDX-License-Identifier: Apache-2.0
"""Volumes reach pods: staged, published, written to, taken away, brought back."""

import os
import re
import stat
import subprocess

import pytest

import volumes
from staged import Staged
from volumes import CODES, GIB, MIB, capability, refused

FILESYSTEMS = ["ext4", "xfs"]
SIZE = 320 * MIB  # xfs wants 300


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def mount_of(path):
    """Type, options of the mount and of the filesystem."""
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        fields = [line.split() for line in table if line.split()[4] == path][-1]
    dash = fields.index("-")
    return fields[dash + 1], set(fields[5].split(",")), set(fields[dash + 3].split(","))


def write_device(path, data, offset=0):
    with open(path, "r+b", buffering=0) as device:
        device.seek(offset)
        device.write(data)
        os.fsync(device.fileno())


def read_device(path, length, offset=0):
    with open(path, "rb", buffering=0) as device:
        device.seek(offset)
        return device.read(length)


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_filesystem_comes_back(node, client, create, fs_type):
    volume = create("v", SIZE)
    with Staged(client, node, volume, fs_type) as staged:
        target = staged.publish()
        assert mount_of(target)[0] == fs_type
        with open(f"{target}/file", "w", encoding="ascii") as file:
            file.write("kept")
        second = staged.publish("pod-b")  # two pods of one node
        with open(f"{second}/file", encoding="ascii") as file:
            assert file.read() == "kept"
    assert node.leftovers() == [] and not os.path.exists(target)
    with Staged(client, node, volume, fs_type) as staged:
        with open(f"{staged.publish()}/file", encoding="ascii") as file:
            assert file.read() == "kept"


def test_default_filesystem_is_what_is_there(node, client, create):
    volume = create("v", SIZE)
    with Staged(client, node, volume, "xfs"):
        pass
    with Staged(client, node, volume, "") as staged:
        assert mount_of(staged.staging)[0] == "xfs"
    blank = create("blank")
    with Staged(client, node, blank, "") as staged:
        assert mount_of(staged.staging)[0] == "ext4"


def test_block_comes_back(cluster, node, client, create):
    volume = create("v")
    with Staged(client, node, volume) as staged:
        target = staged.publish()
        assert stat.S_ISBLK(os.stat(target).st_mode)
        write_device(target, b"kept".ljust(4096, b"."), MIB)
    assert volumes.contents(cluster, volume.volume_id)[MIB:MIB + 4] == b"kept"
    with Staged(client, node, volume) as staged:
        assert read_device(staged.publish(), 4, MIB) == b"kept"


@pytest.mark.parametrize("fs_type", [None, *FILESYSTEMS])
def test_every_call_may_be_repeated(node, client, create, fs_type):
    staged = Staged(client, node, create("v", SIZE), fs_type)
    for _ in range(2):
        staged.stage()
    for _ in range(2):
        target = staged.publish()
    for _ in range(2):
        client.NodeUnpublishVolume(volume_id=staged.volume_id, target_path=target)
    for _ in range(2):
        staged.unstage()


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_read_only_publish(node, client, create, fs_type):
    with Staged(client, node, create("v", SIZE), fs_type) as staged:
        writable = staged.publish("pod-a")
        read_only = staged.publish("pod-b", readonly=True)
        with open(f"{writable}/file", "w", encoding="ascii") as file:
            file.write("seen")
        with open(f"{read_only}/file", encoding="ascii") as file:
            assert file.read() == "seen"
        with pytest.raises(OSError, match="Read-only"):
            open(f"{read_only}/other", "w", encoding="ascii")
        with refused(CODES.ALREADY_EXISTS, "published at .* already, read-only"):
            staged.publish("pod-b")


def test_read_only_block_cannot_be_written(node, client, control, create):
    """A device node on a read-only mount can be written to: it takes a read-only device."""
    with Staged(client, node, create("v")) as staged:
        writable = staged.publish("pod-a")
        read_only = [staged.publish(f"pod-{n}", readonly=True) for n in range(2)]
        write_device(writable, b"x" * 4096)
        for path in read_only:
            assert staged.stats(path).usage[0].total == 64 * MIB
            with pytest.raises(OSError):
                write_device(path, b"y" * 4096)
        staged.unpublish(read_only[0])
        assert read_device(read_only[1], 4096) == b"x" * 4096
        staged.publish("pod-0", readonly=True)
        control.ControllerExpandVolume(volume_id=staged.volume_id,
                                       capacity_range={"required_bytes": 128 * MIB})
        staged.expand(path=writable)
        with open(read_only[1], "rb") as device:
            assert device.seek(0, os.SEEK_END) == 128 * MIB
        staged.unpublish(writable)
        with refused(CODES.FAILED_PRECONDITION, f"in use at '{node.kubelet_dir}/pods/"):
            staged.unstage()  # the readers are left
        with refused(CODES.FAILED_PRECONDITION, "published as a disk at"):
            Staged(client, node, staged.volume, "ext4").stage()
        assert read_device(read_only[1], 4096) == b"x" * 4096


@pytest.mark.parametrize("fs_type, flags, mount, filesystem", [
    ("ext4", ["noatime", "data=journal,commit=17"], {"noatime"}, {"data=journal", "commit=17"}),
    ("ext4", ["nosuid", "nodev", "noexec", "discard"], {"nosuid", "nodev", "noexec"}, {"discard"}),
    ("xfs", ["nodiratime", "logbsize=256k", "largeio"], {"nodiratime"}, {"logbsize=256k",
                                                                       "largeio"}),
])
def test_mount_options(node, client, create, fs_type, flags, mount, filesystem):
    with Staged(client, node, create("v", SIZE), fs_type, flags=flags) as staged:
        for path in (staged.staging, staged.publish()):
            assert mount <= mount_of(path)[1] and filesystem <= mount_of(path)[2], path


@pytest.mark.parametrize("fs_type, options, shown", [
    ("ext4", "-m 0 -I 512 -O ^has_journal", lambda device: "has_journal" not in
     run("dumpe2fs", "-h", device) and re.search("Inode size:\\s+512", run("dumpe2fs", "-h", device))),
    ("xfs", "-i size=1024 -m reflink=0", lambda device: "isize=1024" in run("xfs_info", device)),
])
def test_mkfs_options(node, client, create, fs_type, options, shown):
    volume = create("v", SIZE, parameters=volumes.parameters(mkfsOptions=options))
    with Staged(client, node, volume, fs_type):
        assert shown(f"/dev/{node.loops()[0]}")


def test_stats(node, client, create):
    with Staged(client, node, create("v", SIZE), "ext4") as staged:
        target = staged.publish()
        empty = staged.stats()
        with open(f"{target}/file", "wb") as file:
            file.write(b"x" * 20 * MIB)
            os.fsync(file.fileno())
        full = staged.stats()
        assert not full.volume_condition.abnormal and full.volume_condition.message
        bytes_before, inodes_before = empty.usage
        bytes_after, inodes_after = full.usage
        assert bytes_after.used - bytes_before.used >= 20 * MIB
        assert bytes_before.available - bytes_after.available >= 20 * MIB
        assert inodes_after.used == inodes_before.used + 1
        assert bytes_after.total > 250 * MIB and inodes_after.total > 1000
        assert staged.stats(staged.staging).usage == full.usage


def test_stats_of_what_is_not_there(node, client, create):
    staged = Staged(client, node, create("v"))
    with refused(CODES.NOT_FOUND, "no device on this node"):
        staged.stats(node.target("pod"))
    with staged:
        with refused(CODES.NOT_FOUND, "it is not at"):
            staged.stats(node.target("pod"))


@pytest.mark.parametrize("fs_type", ["xfs", None])
def test_grow_online(node, client, control, create, fs_type):
    """ext4 wants a privilege for it that machines of tests lack: it grows in the virtual machine."""
    volume = create("v", SIZE)
    with Staged(client, node, volume, fs_type) as staged:
        target = staged.publish()
        control.ControllerExpandVolume(volume_id=volume.volume_id,
                                       capacity_range={"required_bytes": GIB})
        for _ in range(2):
            assert staged.expand(GIB).capacity_bytes == GIB
        total = staged.stats(target).usage[0].total
        assert total == GIB if fs_type is None else total > 900 * MIB
        with refused(CODES.OUT_OF_RANGE, "it has 1 GiB, .*required_bytes asks for 2 GiB"):
            staged.expand(2 * GIB)  # the controller grows images
        for code, limit in [(CODES.OUT_OF_RANGE, GIB - 1), (CODES.INVALID_ARGUMENT, -1)]:
            with refused(code, "limit_bytes"):
                client.NodeExpandVolume(volume_id=volume.volume_id, volume_path=target,
                                        capacity_range={"limit_bytes": limit})


@pytest.mark.parametrize("fs_type", ["xfs", None])
def test_staged_again_before_it_grows(node, client, control, create, fs_type):
    """As by a kubelet that was restarted: the volume grows, under the pod that has it."""
    volume = create("v", SIZE)
    with Staged(client, node, volume, fs_type) as staged:
        target = staged.publish(readonly=bool(fs_type))
        control.ControllerExpandVolume(volume_id=volume.volume_id,
                                       capacity_range={"required_bytes": GIB})
        staged.stage()
        assert staged.stats(target).usage[0].total > 900 * MIB
        if fs_type is None:
            write_device(target, b"x" * 4096, GIB - 4096)
        control.ControllerExpandVolume(volume_id=volume.volume_id,
                                       capacity_range={"required_bytes": 2 * GIB})
        assert staged.expand(path=target).capacity_bytes == 2 * GIB  # by way of the staging path
        assert staged.stats(target).usage[0].total > 1900 * MIB


def test_staged_again_where_ext4_may_not_grow(node, client, control, create):
    """As above, without the privilege: it stays as it is, and is not checked below the pod."""
    volume = create("v", SIZE)
    mounted = lambda: [line for line in open("/proc/self/mountinfo", encoding="utf-8")
                       if line.split()[4] == staged.staging]
    with Staged(client, node, volume, "ext4") as staged:
        target, before = staged.publish(), mounted()
        control.ControllerExpandVolume(volume_id=volume.volume_id,
                                       capacity_range={"required_bytes": GIB})
        staged.stage()
        assert mounted() == before
        with open(f"{target}/file", "w", encoding="ascii") as file:
            file.write("works")
            file.flush()
            os.fsync(file.fileno())
    with staged:
        staged.publish()
        assert staged.stats().usage[0].total > 900 * MIB


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_grown_offline_and_mounted_read_only(node, client, control, create, fs_type):
    volume = create("v", SIZE)
    with Staged(client, node, volume, fs_type):
        pass
    control.ControllerExpandVolume(volume_id=volume.volume_id,
                                   capacity_range={"required_bytes": GIB})
    with Staged(client, node, volume, fs_type, flags=["ro"]) as staged:
        assert "ro" in mount_of(staged.publish())[2]
        staged.stage()
    with Staged(client, node, volume, fs_type) as staged:
        staged.publish()
        assert staged.stats().usage[0].total > 900 * MIB


def test_grow_a_staged_block_volume(node, client, control, create):
    volume = create("v")
    with Staged(client, node, volume) as staged:
        control.ControllerExpandVolume(volume_id=volume.volume_id,
                                       capacity_range={"required_bytes": 128 * MIB})
        assert staged.expand(path=staged.staging).capacity_bytes == 128 * MIB


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_grown_offline_is_grown_by_staging(node, client, control, create, fs_type):
    volume = create("v", SIZE)
    with Staged(client, node, volume, fs_type) as staged:
        with open(f"{staged.publish()}/file", "w", encoding="ascii") as file:
            file.write("kept")
    control.ControllerExpandVolume(volume_id=volume.volume_id,
                                   capacity_range={"required_bytes": GIB})
    with Staged(client, node, volume, fs_type) as staged:
        target = staged.publish()
        assert staged.stats().usage[0].total > 900 * MIB
        with open(f"{target}/file", encoding="ascii") as file:
            assert file.read() == "kept"


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_clone_beside_its_source(node, client, control, create, fs_type):
    """Same UUID, larger, taken while the source was mounted: its journal has to be replayed."""
    source = create("source", SIZE)
    with Staged(client, node, source, fs_type) as staged:
        target = staged.publish("pod-a")
        with open(f"{target}/file", "w", encoding="ascii") as file:
            file.write("kept")
            file.flush()
            os.fsync(file.fileno())
        snapshot = volumes.snapshot(control, "s", source.volume_id)
        copy = create("copy", GIB, source=snapshot.snapshot_id)
        with Staged(client, node, copy, fs_type) as restored:
            path = restored.publish("pod-b")
            with open(f"{path}/file", encoding="ascii") as file:
                assert file.read() == "kept"
            assert restored.stats().usage[0].total > 900 * MIB


@pytest.mark.parametrize("fs_type", FILESYSTEMS)
def test_read_only_many(cluster, node, client, control, create, fs_type):
    """A snapshot of a live filesystem, its journal not yet replayed, mapped and mounted read-only."""
    source = create("source", SIZE)
    with Staged(client, node, source, fs_type) as staged:
        with open(f"{staged.publish('pod-a')}/file", "w", encoding="ascii") as file:
            file.write("kept")
            file.flush()
            os.fsync(file.fileno())
        snapshot = volumes.snapshot(control, "s", source.volume_id)
    copy = create("copy", SIZE, source=snapshot.snapshot_id)
    with Staged(client, node, copy, fs_type, "MULTI_NODE_READER_ONLY") as many:
        path = many.publish("pod-b")
        with open(f"{path}/file", encoding="ascii") as file:
            assert file.read() == "kept"
        with pytest.raises(OSError, match="Read-only"):
            open(f"{path}/other", "w", encoding="ascii")
        with cluster.volume(copy.volume_id, read_only=True) as image:
            assert list(image.list_lockers()) == []


def test_read_only_many_block(node, client, create):
    with Staged(client, node, create("v"), mode="MULTI_NODE_READER_ONLY") as staged:
        target = staged.publish()
        with pytest.raises(OSError):
            write_device(target, b"y" * 4096)
        with refused(CODES.FAILED_PRECONDITION, "staged read-only"):
            staged.publish("pod-b", volume_capability=capability())


def test_blank_volume_for_readers_only(node, client, create):
    with refused(CODES.FAILED_PRECONDITION, "blank and is to be read only"):
        Staged(client, node, create("v"), "ext4", "MULTI_NODE_READER_ONLY").stage()


def test_namespace_and_data_pool(node, client, create):
    parameters = volumes.parameters(namespace=volumes.NAMESPACE, dataPool=volumes.DATA_POOL)
    with Staged(client, node, create("v", parameters=parameters), "ext4") as staged:
        with open(f"{staged.publish()}/file", "w", encoding="ascii") as file:
            file.write("kept")


def test_order_of_calls(node, client, create):
    staged = Staged(client, node, create("v"), "ext4")
    with refused(CODES.FAILED_PRECONDITION, "not staged"):
        staged.publish()
    with refused(CODES.FAILED_PRECONDITION, "staging_target_path is needed"):
        staged.publish(staging_target_path="")
    with staged:
        target = staged.publish()
        with refused(CODES.FAILED_PRECONDITION, "still in use at"):
            staged.unstage()
        staged.stage()
        assert os.path.ismount(target)


def test_volumes_that_are_not_there(node, client, create):
    volume = create("v")
    for bad in ("x", "1:local:1::ffffffffffff", "1:local:77::abc", volume.volume_id + "0"):
        with refused(CODES.NOT_FOUND):
            Staged(client, node, volume, name="x").stage(volume_id=bad)
        client.NodeUnstageVolume(volume_id=bad, staging_target_path=node.staging("x"))
        client.NodeUnpublishVolume(volume_id=bad, target_path=node.target("x"))
    with refused(CODES.FAILED_PRECONDITION, "no cluster 'elsewhere'"):
        Staged(client, node, volume, name="x").stage(volume_id="1:elsewhere:1::abc")
    client.NodeUnstageVolume(volume_id=volume.volume_id,
                             staging_target_path=f"{node.kubelet_dir}/never/was/there")


def test_mapper_that_is_not_here(node, client, create):
    for mapper in ("krbd", "nbd"):
        volume = create(f"v-{mapper}", parameters=volumes.parameters(mapper=mapper))
        with refused(CODES.FAILED_PRECONDITION, f"mapper '{mapper}' was asked for: no {mapper}: "):
            Staged(client, node, volume).stage()


def test_auto_says_why(node, client, create):
    with Staged(client, node, create("v", parameters=volumes.parameters(mapper="auto"))):
        assert "is mapped by fuse: " in node.log_text()
