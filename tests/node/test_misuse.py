# SPDX-License-Identifier: Apache-2.0
"""Calls that contradict what is there: mounts of others, a second use of another kind, paths that
change meanwhile."""

import concurrent.futures
import contextlib
import os
import stat
import subprocess
import threading
import time

import grpc
import pytest

import volumes
from inline import Inline
from staged import Staged
from volumes import CODES, refused


def test_unpublish_leaves_what_is_not_ours(node, client, create):
    """Files and devices of others, and mounts: of a pod's secrets, and of another volume."""
    volume_id = create("v").volume_id
    unpublish = lambda path: client.NodeUnpublishVolume(volume_id=volume_id, target_path=path)
    config = os.path.join(node.kubelet_dir, "config.yaml")
    with open(config, "w", encoding="ascii") as file:
        file.write("kind: KubeletConfiguration")
    with refused(CODES.FAILED_PRECONDITION, "was not made by this driver"):
        unpublish(config)
    device = os.path.join(node.kubelet_dir, "device")
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    with refused(CODES.FAILED_PRECONDITION, "was not made by this driver"):
        unpublish(device)
    secrets = node.target("secrets")
    os.makedirs(secrets)
    subprocess.run(["mount", "-t", "tmpfs", "secrets", secrets], check=True)
    try:
        for handle in (volume_id, "csi-" + "a" * 64):
            with refused(CODES.FAILED_PRECONDITION, "'secrets' is mounted at .* not this volume"):
                client.NodeUnpublishVolume(volume_id=handle, target_path=secrets)
        with refused(CODES.FAILED_PRECONDITION, "'secrets' is mounted at .* not this volume"):
            client.NodeUnstageVolume(volume_id=volume_id, staging_target_path=secrets)
        assert os.path.ismount(secrets)
    finally:
        subprocess.run(["umount", secrets], check=True)
    with Staged(client, node, create("w"), "ext4") as other:
        for path in (other.publish("other"), other.staging):
            with refused(CODES.FAILED_PRECONDITION, "which is not this volume"):
                unpublish(path)
            with refused(CODES.FAILED_PRECONDITION, "which is not this volume"):
                client.NodeUnstageVolume(volume_id=volume_id, staging_target_path=path)
            assert os.path.ismount(path)
    with Staged(client, node, create("x")) as disk:
        target = disk.publish("x")
        with refused(CODES.FAILED_PRECONDITION, "which is not this volume"):
            unpublish(target)
        assert stat.S_ISBLK(os.stat(target).st_mode)
    assert os.path.getsize(config) > 0 and os.path.exists(device)


def test_refused_inline_volume_leaves_what_is_not_ours(node, client, control, create):
    parameters = volumes.parameters(**{"csi.storage.k8s.io/pvc/namespace": "team-a"})
    snapshot = volumes.snapshot(control, "s", create("v", parameters=parameters).volume_id)
    inline = Inline(client, node, "pod", snapshotHandle=snapshot.snapshot_id)
    os.makedirs(inline.target)
    subprocess.run(["mount", "-t", "tmpfs", "secrets", inline.target], check=True)
    try:
        with refused(CODES.FAILED_PRECONDITION, "'secrets' is mounted at"):
            inline.publish()
        assert os.path.ismount(inline.target)
    finally:
        subprocess.run(["umount", inline.target], check=False)


def test_a_target_again_with_other_options(node, client, create):
    with Staged(client, node, create("v"), "ext4") as staged:
        hardened = Staged(client, node, staged.volume, "ext4", flags=["noexec,nosuid"])
        target = staged.publish()
        staged.publish()
        for changed, said in [({"readonly": True}, "already, writable"),
                              ({"volume_capability": hardened.capability}, "without an option")]:
            with refused(CODES.ALREADY_EXISTS, f"published at '{target}' already", said):
                staged.publish(**changed)
        hidden = staged.publish("b", readonly=True)
        with refused(CODES.ALREADY_EXISTS, "already, read-only"):
            staged.publish("b")
        for change in (lambda: open(f"{hidden}/x", "w", encoding="ascii"),
                       lambda: os.mkdir(f"{hidden}/d")):
            with pytest.raises(OSError, match="Read-only"):
                change()
        kept = staged.publish("c", volume_capability=hardened.capability)
        staged.publish("c")  # asks for less than it has
        options = next(line.split()[5] for line in open("/proc/self/mountinfo", encoding="utf-8")
                       if line.split()[4] == kept)
        assert {"noexec", "nosuid"} <= set(options.split(","))


def test_a_staged_volume_again_with_other_options(node, client, create):
    """Refused, and those who have it do not notice."""
    volume = create("v")
    staged = lambda *more, **fields: Staged(client, node, volume, *more, **fields)
    with staged("ext4") as there:
        target = there.publish()
        staged("ext4", flags=["commit=17"]).stage()  # takes no right away
        for other, said in [(staged("ext4", flags=["noexec"]), "without an option"),
                            (staged("ext4", flags=["noatime,ro"]), "without an option"),
                            (staged("ext4", "MULTI_NODE_READER_ONLY"), "is there writable"),
                            (staged(), "it cannot be a disk as well")]:
            began = time.monotonic()
            with refused(CODES.ALREADY_EXISTS, said):
                other.stage()
            assert time.monotonic() - began < 5
        with open(f"{target}/file", "w", encoding="ascii") as file:
            file.write("works")
            file.flush()
            os.fsync(file.fileno())


def test_read_only_by_a_mount_option(node, client, create):
    """"ro" among the options of a publish is as good as the field."""
    with Staged(client, node, create("v"), "ext4") as staged:
        asks = Staged(client, node, staged.volume, "ext4", flags=["ro"])
        target = staged.publish(volume_capability=asks.capability)
        with pytest.raises(OSError, match="Read-only"):
            open(f"{target}/x", "w", encoding="ascii")


def test_a_volume_as_a_disk_and_as_files(node, client, create):
    """Not at the same time, whoever asks: writing below a mounted filesystem destroys it."""
    volume = create("v")
    disk = Staged(client, node, volume)
    with Staged(client, node, volume, "ext4") as staged:
        staged.publish()
        with refused(CODES.FAILED_PRECONDITION, "its filesystem is mounted at"):
            disk.publish("disk")
    with disk:
        disk.publish("disk")
        with refused(CODES.FAILED_PRECONDITION, "published as a disk at"):
            staged.stage()
        with refused(CODES.FAILED_PRECONDITION, "not staged"):
            staged.publish("files")
    assert not os.path.exists(node.target("disk"))


def test_another_filesystem_than_is_there(node, client, create):
    volume = create("v", 320 * volumes.MIB)
    with Staged(client, node, volume, "ext4") as staged:
        other = Staged(client, node, volume, "xfs")
        with refused(CODES.ALREADY_EXISTS, "staged at .* already, as ext4"):
            other.stage()
        with refused(CODES.FAILED_PRECONDITION, "staged as ext4, and xfs is asked for"):
            staged.publish(volume_capability=other.capability)
    with refused(CODES.FAILED_PRECONDITION, "holds ext4, and xfs is asked for"):
        other.stage()
    assert node.leftovers() == []


def test_a_path_that_changes_under_our_hands(node, client, create, tmp_path):
    """Somebody swaps a folder on the way for a link, again and again: the mount comes to the folder
    or to nowhere."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mount").mkdir(parents=True)
    pod = os.path.join(node.kubelet_dir, "pods", "swapped")  # nobody else makes it
    os.makedirs(pod)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(pod, pod + ".away")
            os.symlink(elsewhere, pod)
            os.unlink(pod)
            os.rename(pod + ".away", pod)

    with Staged(client, node, create("v"), "ext4") as staged:
        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for _ in range(200):
                with contextlib.suppress(grpc.RpcError):
                    staged.publish(target_path=f"{pod}/mount")
                    client.NodeUnpublishVolume(volume_id=staged.volume_id,
                                               target_path=f"{pod}/mount")
                assert not os.path.ismount(elsewhere / "mount")
        finally:
            stop.set()
            swapper.join()
        assert (elsewhere / "mount").exists()
        while os.path.ismount(f"{pod}/mount"):
            subprocess.run(["umount", f"{pod}/mount"], check=True)
        staged.targets.clear()


def test_two_volumes_at_one_target(node, client, create):
    """At the same moment: one of them is there, and not both on top of each other."""
    target = node.target("pod")
    at_target = lambda: [line for line in open("/proc/self/mountinfo", encoding="utf-8")
                         if line.split()[4] == target]
    rivals = [Staged(client, node, create(name), "ext4") for name in "ab"]
    with rivals[0], rivals[1]:
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            for _ in range(30):
                failures = [call.exception() for call in
                            [threads.submit(staged.publish) for staged in rivals]]
                assert len(at_target()) == 1, failures
                for staged, failure in zip(rivals, failures):
                    if failure is None:
                        staged.unpublish()
                    else:
                        assert failure.code() in (CODES.ABORTED, CODES.ALREADY_EXISTS), failure


def test_a_volume_that_pretends_to_be_inline(node, client, create):
    """A PersistentVolume's attributes can say anything."""
    with Staged(client, node, create("v"), "ext4") as staged:
        for context in ({"csi.storage.k8s.io/ephemeral": "true"},
                        {"csi.storage.k8s.io/ephemeral": "true", "image": "imprint/x@y",
                         "csi.storage.k8s.io/pod.namespace": "default",
                         "csi.storage.k8s.io/pod.name": "x"}):
            with pytest.raises(grpc.RpcError) as failure:
                staged.publish(volume_context=context)
            assert failure.value.code() in (CODES.INVALID_ARGUMENT, CODES.NOT_FOUND,
                                            CODES.PERMISSION_DENIED, CODES.FAILED_PRECONDITION)
        staged.targets.clear()
