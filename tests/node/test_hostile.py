# SPDX-License-Identifier: Apache-2.0
"""Paths, contexts and options that would lead the plugin to other places of the host."""

import os
import stat

import pytest

import volumes
from staged import Staged
from volumes import CODES, capability, refused


def bad_paths(node):
    outside = os.path.dirname(node.kubelet_dir)
    return [
        "relative/path", "/", "/etc", outside, node.kubelet_dir, node.kubelet_dir + "/",
        node.kubelet_dir + "x/y", f"{node.kubelet_dir}/../escaped", f"{node.kubelet_dir}/a/../../b",
        f"{node.kubelet_dir}/./x", f"{node.kubelet_dir}//x", f"{node.kubelet_dir}/x/",
        f"{node.kubelet_dir}/pods/..", node.kubelet_dir + "/" + "x" * 300,
        node.kubelet_dir + "/x" * 3000,
    ]


def test_bad_paths(node, client, create):
    volume = create("v")
    staged = Staged(client, node, volume, "ext4")
    everything = sorted(os.listdir(os.path.dirname(node.kubelet_dir)))
    for path in bad_paths(node):
        with refused(CODES.INVALID_ARGUMENT, "staging_target_path"):
            staged.stage(staging_target_path=path)
        with refused(CODES.INVALID_ARGUMENT, "staging_target_path"):
            client.NodeUnstageVolume(volume_id=volume.volume_id, staging_target_path=path)
        with refused(CODES.INVALID_ARGUMENT, "target_path"):
            client.NodeUnpublishVolume(volume_id=volume.volume_id, target_path=path)
    with staged:
        for path in bad_paths(node):
            with refused(CODES.INVALID_ARGUMENT, "target_path"):
                staged.publish(target_path=path)
            with refused(CODES.NOT_FOUND):
                staged.stats(path)
            with refused(CODES.NOT_FOUND):
                staged.expand(path=path)
        staged.targets.clear()
    assert sorted(os.listdir(os.path.dirname(node.kubelet_dir))) == everything


@pytest.mark.parametrize("where", ["last", "middle"])
def test_symbolic_links(node, client, create, tmp_path, where):
    """A pod that can write to a folder on the way must not lead the mount elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "x").mkdir(parents=True)
    os.symlink(elsewhere, os.path.join(node.kubelet_dir, "link"))
    path = f"{node.kubelet_dir}/link" + ("/x" if where == "middle" else "")
    staged = Staged(client, node, create("v"), "ext4")
    with refused(CODES.INVALID_ARGUMENT, "symbolic link"):
        staged.stage(staging_target_path=path)
    with staged:
        with refused(CODES.INVALID_ARGUMENT, "symbolic link"):
            staged.publish(target_path=path)
        staged.targets.clear()
        with refused(CODES.INVALID_ARGUMENT, "symbolic link"):
            client.NodeUnpublishVolume(volume_id=staged.volume_id, target_path=path)
    assert os.path.isdir(elsewhere / "x") and not os.path.ismount(elsewhere)


def test_unpublish_leaves_files_alone(node, client, create):
    """A folder with something in it was not made by us, or is not empty for a reason."""
    target = node.target("pod")
    os.makedirs(target)
    with open(f"{target}/precious", "w", encoding="ascii") as file:
        file.write("x")
    with refused(CODES.FAILED_PRECONDITION, "holds files of its own"):
        client.NodeUnpublishVolume(volume_id=create("v").volume_id, target_path=target)
    assert os.path.exists(f"{target}/precious")
    os.unlink(f"{target}/precious")


def test_staging_path_of_another_volume(node, client, create):
    first, second = create("a"), create("b")
    with Staged(client, node, first, "ext4") as staged:
        thief = Staged(client, node, second, "ext4")
        with refused(CODES.FAILED_PRECONDITION, "is mounted at .* already"):
            thief.stage(staging_target_path=staged.staging)
        with thief:
            with refused(CODES.FAILED_PRECONDITION, "not staged"):
                thief.publish("pod-b", staging_target_path=staged.staging)
            with refused(CODES.FAILED_PRECONDITION, "which is not this volume"):
                client.NodeUnstageVolume(volume_id=second.volume_id,
                                         staging_target_path=staged.staging)
            thief.targets.clear()
        target = staged.publish()
        with Staged(client, node, second, "ext4") as thief:
            with refused(CODES.ALREADY_EXISTS, "is mounted at .* already"):
                thief.publish("pod", target_path=target)
            thief.targets.clear()
            with refused(CODES.NOT_FOUND, "it is not at"):
                thief.stats(target)


def test_context_that_disagrees_with_the_image(node, client, create):
    staged = Staged(client, node, create("v"), "ext4")
    for key, value in {"pool": "other", "clusterID": "other", "namespace": "other",
                       "mapper": "krbd", "mapOptions": "queue_depth=1", "unmapOptions": "force",
                       "mkfsOptions": "-d /etc"}.items():
        with refused(CODES.INVALID_ARGUMENT, f"volume_context says '{key}' is '{value}'"):
            staged.stage(volume_context={**staged.volume.volume_context, key: value})
    # what the sidecars add is nobody's business
    staged.stage(volume_context={**staged.volume.volume_context,
                                 "storage.kubernetes.io/csiProvisionerIdentity": "x"})
    staged.leave()


REFUSED_OPTIONS = {
    "ext4": ["errors=panic", "remount", "bind", "move", "loop=/dev/loop0", "journal_path=/dev/sda",
             "journal_dev=8", "x-systemd.automount", "context=system_u:object_r:x", "suid", "dev",
             "usrjquota=/etc/passwd", "commit=1 remount", "commit=/etc", "noatime=1", "commit",
             "source=/dev/sda", "logbsize=256k", "shared", "subset=pid", "exec", "user", "owner",
             "fscontext=x", "defcontext=x", "rootcontext=x", "seclabel", "loop", "nofail", "uid=0",
             "noatime,suid", "noatime,,dev", "noatime,context=\"a,b\"", "'noatime'", "commit=\"5\"",
             "noatime\nsuid", "commit=5\n", "commit=5\\,suid", "commit=", "=5", "commit=5=6",
             "noatime ", "NOATIME", "noatime\tsuid", "commit=" + "5" * 300,
             ",".join(["discard"] * 3 + ["x" * 5000])],
    "xfs": ["logdev=/dev/sda", "rtdev=/dev/sda", "data=journal", "noatime,logdev=/dev/sda"],
}


@pytest.mark.parametrize("fs_type", REFUSED_OPTIONS)
def test_mount_options_that_are_refused(node, client, create, fs_type):
    volume = create("v", 320 * volumes.MIB)
    bad = [Staged(client, node, volume, fs_type, flags=[flag])
           for flag in REFUSED_OPTIONS[fs_type]]
    for staged in bad:
        with refused(CODES.INVALID_ARGUMENT, "mount option '"):
            staged.stage()
    assert node.leftovers() == []
    with Staged(client, node, volume, fs_type) as fine:
        for staged in bad:
            with refused(CODES.INVALID_ARGUMENT, "mount option '"):
                fine.publish(volume_capability=staged.capability)
        fine.targets.clear()


def test_map_options_that_are_refused(node, client, create):
    for number, options in enumerate([
            "anything", "secret=AQB", "fuse:x", "krbd:name=admin", "krbd:ip=1.2.3.4", "krbd:key=x",
            "krbd:_pool_ns=x", "nbd:quiesce-hook=x", "krbd:ms_mode=a b", "nbd:device=x"]):
        volume = create(f"v-{number}", parameters=volumes.parameters(mapOptions=options))
        with refused(CODES.INVALID_ARGUMENT, "mapOptions of mapper"):
            Staged(client, node, volume).stage()
    assert node.leftovers() == []


def test_map_options_of_other_mappers(node, client, create):
    volume = create("v", parameters=volumes.parameters(
        mapOptions="krbd:queue_depth=64,lock_on_read;nbd:exclusive", unmapOptions="krbd:force"))
    with Staged(client, node, volume):
        pass


def test_bad_requests(node, client, create):
    staged = Staged(client, node, create("v"), "ext4")
    for fields, said in [
        ({"volume_id": ""}, "volume_id is needed"),
        ({"staging_target_path": ""}, "staging_target_path is needed"),
        ({"volume_capability": None}, "volume_capability is needed"),
        ({"volume_capability": capability("MULTI_NODE_MULTI_WRITER", "ext4")}, "ReadWriteMany"),
        ({"volume_capability": capability(fs_type="btrfs")}, "fs_type 'btrfs' is not served"),
        ({"volume_capability": capability(fs_type="ext3")}, "fs_type 'ext3' is not served"),
        ({"volume_capability": capability(fs_type="ext4 ")}, "is not served"),
        ({"volume_capability": capability(fs_type="EXT4")}, "is not served"),
        ({"volume_capability": capability(fs_type="../../bin/sh")}, "is not served"),
        ({"volume_capability": capability(fs_type="ext4\nxfs")}, "is not served"),
        ({"volume_capability": {"access_mode": {"mode": "SINGLE_NODE_WRITER"}}}, "volume_capability"),
        ({"volume_capability": {"mount": {}}}, "volume_capability"),
    ]:
        with refused(CODES.INVALID_ARGUMENT, said):
            staged.stage(**fields)
    assert node.leftovers() == []


def test_what_is_not_a_folder(node, client, create):
    """Where a folder, or a disk's file, is to be, something else is."""
    staged = Staged(client, node, create("v"), "ext4")
    os.rmdir(staged.staging)
    for make in (lambda path: open(path, "w", encoding="ascii").close(), os.mkfifo,
                 lambda path: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 200))):
        make(staged.staging)
        with refused(CODES.INVALID_ARGUMENT, "is there and is no folder"):
            staged.stage()
        assert node.leftovers() == []
        os.unlink(staged.staging)
    with staged:
        open(node.target("pod"), "w", encoding="ascii").close()
        with refused(CODES.INVALID_ARGUMENT, "is there and is no folder"):
            staged.publish()
    with Staged(client, node, create("disk")) as disk:
        os.makedirs(node.target("disk"))
        with refused(CODES.INVALID_ARGUMENT, "is there and is no file"):
            disk.publish("disk")
    os.rmdir(node.target("disk"))
    os.unlink(node.target("pod"))
