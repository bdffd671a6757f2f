# SPDX-License-Identifier: Apache-2.0
"""One node, several nodes, nodes and helpers that died."""

import concurrent.futures
import configparser
import mmap
import os
import signal
import subprocess
import time

import pytest

import volumes
from node import Node
from staged import Staged
from volumes import CODES, MIB, refused


@pytest.fixture
def other(cluster):
    """A second node, on the same machine."""
    with Node(cluster.dir, name="node-b") as running:
        yield running
        assert running.leftovers() == []


@pytest.fixture
def other_client(other):
    with other.client() as connected:
        yield connected


@pytest.mark.parametrize("mode", ["SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER",
                                  "SINGLE_NODE_MULTI_WRITER", "SINGLE_NODE_READER_ONLY"])
def test_second_node_is_refused(node, client, other, other_client, create, mode):
    volume = create("v")
    with Staged(client, node, volume, "ext4"):
        started = time.monotonic()
        with refused(CODES.FAILED_PRECONDITION, "the Ceph client at .* has it open"):
            Staged(other_client, other, volume, "ext4", mode).stage()
        assert time.monotonic() - started < 10
        assert other.leftovers() == []
    with Staged(other_client, other, volume, "ext4"):  # as soon as the first lets go
        pass


@pytest.mark.parametrize("fs_type", ["ext4", None])
def test_one_pod_is_published_again(node, client, create, fs_type):
    """What kubelet mounts for the pod, once the volume is published, is of that same pod."""
    with Staged(client, node, create("v"), fs_type, "SINGLE_NODE_SINGLE_WRITER") as staged:
        target = staged.publish("pod-a")
        beside = os.path.join(node.kubelet_dir, "beside")  # a subPath, or the disk of a container
        if fs_type:
            os.mkdir(beside)
        else:
            open(beside, "wb").close()
        subprocess.run(["mount", "--bind", target, beside], check=True)
        try:
            staged.publish("pod-a")
            for readonly in (False, True):
                with refused(CODES.FAILED_PRECONDITION, "access mode allows one pod only"):
                    staged.publish("pod-b", readonly)
            assert len(node.loops()) == 1  # no view for readers is left of that
        finally:
            subprocess.run(["umount", beside], check=True)
        with refused(CODES.FAILED_PRECONDITION, "access mode allows one pod only"):
            staged.publish("pod-b")
        staged.unpublish()
        staged.publish("pod-b")


def test_two_nodes_at_the_same_moment(node, client, other, other_client, create):
    """Both find nobody there. One of them has it in the end, and never both."""
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for number in range(2):
            volume = create(f"v-{number}")
            rivals = [Staged(client, node, volume, "ext4"),
                      Staged(other_client, other, volume, "ext4")]
            refusals = [call.exception() for call in
                        [threads.submit(rival.stage) for rival in rivals]]
            assert any(refusals), "both have it"
            for refusal in filter(None, refusals):
                assert refusal.code() == CODES.FAILED_PRECONDITION, refusal
            for rival, refusal in zip(rivals, refusals):
                if refusal is None:
                    assert os.path.ismount(rival.staging)
                rival.unstage()
            assert node.leftovers() == other.leftovers() == []


def test_readers_are_refused_while_one_writes(node, client, other, other_client, create):
    volume = create("v")
    with Staged(client, node, volume, "ext4"):
        with refused(CODES.FAILED_PRECONDITION, "the Ceph client at .* writes to it"):
            Staged(other_client, other, volume, "ext4", "MULTI_NODE_READER_ONLY").stage()


def write_block(path, letter):
    page = mmap.mmap(-1, 4096)  # aligned, as direct I/O wants it
    page.write(letter * 4096)
    fd = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_SYNC)
    os.pwrite(fd, page, 0)
    os.close(fd)


def read_block(path):
    page = mmap.mmap(-1, 4096)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    os.preadv(fd, [page], 0)
    os.close(fd)
    return page[:4096]


def test_many_writers_of_a_block_volume(node, client, other, other_client, create):
    """Live migration: both have it, and each sees what the other wrote."""
    volume = create("v")
    mode = "MULTI_NODE_MULTI_WRITER"
    with Staged(client, node, volume, mode=mode) as here:
        with Staged(other_client, other, volume, mode=mode) as there:
            paths = [here.publish(), there.publish()]
            for writer, letter in ((0, b"a"), (1, b"b"), (0, b"c")):
                write_block(paths[writer], letter)
                for path in paths:
                    assert read_block(path) == letter * 4096


def test_one_writer_of_what_many_have(node, client, other, other_client, create):
    """Its device is there, and in no use: who else has the volume is asked all the same, as it is
    when the first call was killed before it came to that."""
    volume = create("v")
    with Staged(client, node, volume, mode="MULTI_NODE_MULTI_WRITER"):
        Staged(other_client, other, volume, mode="MULTI_NODE_MULTI_WRITER").stage()
        with refused(CODES.FAILED_PRECONDITION, "another Ceph client has opened it"):
            Staged(other_client, other, volume).stage()
        assert other.leftovers() == []


def test_many_readers(node, client, other, other_client, create):
    volume = create("v")
    with Staged(client, node, volume, "ext4") as staged:
        with open(f"{staged.publish()}/file", "w", encoding="ascii") as file:
            file.write("kept")
    mode = "MULTI_NODE_READER_ONLY"
    with Staged(client, node, volume, "ext4", mode) as here:
        with Staged(other_client, other, volume, "ext4", mode) as there:
            for staged in (here, there):
                with open(f"{staged.publish()}/file", encoding="ascii") as file:
                    assert file.read() == "kept"


def test_volumes_outlive_the_plugin(node, client, create):
    volume = create("v")
    staged = Staged(client, node, volume, "ext4").stage()
    target = staged.publish()
    with open(f"{target}/before", "w", encoding="ascii") as file:
        file.write("x")
    node.restart()
    with open(f"{target}/after", "w", encoding="ascii") as file:
        file.write("x")
        file.flush()
        os.fsync(file.fileno())
    assert not volumes.patiently(staged.stats).volume_condition.abnormal
    staged.stage()
    staged.leave()


def test_unstage_needs_neither_record_nor_ceph(cluster, node, client, create):
    volume = create("v")
    staged = Staged(client, node, volume, "ext4").stage()
    staged.publish()
    node.kill()
    os.unlink(os.path.join(node.run_dir, f"{volumes.CLUSTER_ID}.conf"))
    node.start()
    with node.client() as fresh:
        staged.client = fresh
        cluster.osd_pause()
        try:
            staged.unpublish()
        finally:
            cluster.osd_resume()
        staged.unstage()


def write_unsynced(path, data):
    """Into librbd's cache, which writes behind from the first flush on."""
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, data, MIB)
    os.close(fd)


def test_unstage_while_the_cluster_is_away(cluster, node, client, control, create):
    """What was not yet written keeps a volume, unless it is given up by force."""
    kept = Staged(client, node, create("kept")).stage()
    forced = Staged(client, node, create("forced", parameters=volumes.parameters(
        unmapOptions="force"))).stage()
    for staged in (kept, forced):
        write_block(staged.publish(volumes.image_id_of(staged.volume_id)), b"a")
    cluster.osd_pause()
    try:
        for staged in (kept, forced):
            write_unsynced(staged.targets[0], b"late" * 1024)
            staged.unpublish()
        forced.unstage()
        assert len(node.helpers()) == 1
        with refused(CODES.UNAVAILABLE, "has not let go of the image: .* call again"):
            kept.unstage()
    finally:
        cluster.osd_resume()
        cluster.osd_settle()
    volumes.patiently(kept.unstage)
    assert volumes.contents(cluster, kept.volume_id)[MIB:MIB + 4096] == b"late" * 1024
    # the Ceph client of the other one is believed to be alive for 30 s
    volumes.patiently(lambda: volumes.delete(control, forced.volume_id),
                      passing=volumes.PASSING | {CODES.FAILED_PRECONDITION})


@pytest.mark.parametrize("lost", ["lock", "qmp"])
def test_unstage_without_the_files_of_its_helper(node, client, create, lost):
    """Whatever of the run folder is lost: the helper ends, or it would hold the image for ever."""
    staged = Staged(client, node, create("v"), "ext4").stage()
    fuse = os.path.join(node.run_dir, "fuse")
    os.unlink(os.path.join(fuse, os.listdir(fuse)[0], lost))
    staged.unstage()
    assert node.leftovers() == []


def test_dead_helper_is_told(node, client, create):
    volume = create("v")
    staged = Staged(client, node, volume, "ext4").stage()
    target = staged.publish()
    assert len(node.helpers()) == 1
    os.kill(node.helpers()[0], signal.SIGKILL)
    assert volumes.wait_until(lambda: staged.stats(target).volume_condition.abnormal)
    assert "has died" in staged.stats(target).volume_condition.message
    with refused(CODES.FAILED_PRECONDITION, "has died"):
        staged.publish("pod-b")
    with refused(CODES.FAILED_PRECONDITION, "has died"):
        staged.stage()
    staged.leave()
    # its Ceph client is believed to be alive for 30 s; the caller is told, not kept
    volumes.patiently(staged.stage, passing=volumes.PASSING | {CODES.FAILED_PRECONDITION})
    staged.publish()
    staged.leave()


def test_a_helper_that_was_let_go_of(cluster, node, client, create):
    """The cluster turns it away while its process lives: staging says so while the device is in use,
    and makes a new one when it is not."""
    staged = Staged(client, node, create("v")).stage()
    staged.publish()
    with cluster.volume(staged.volume_id, read_only=True) as image:
        for watcher in image.watchers_list():
            subprocess.run(["ceph", "-c", cluster.conf, "osd", "blocklist", "add", watcher["addr"]],
                           check=True)
    with refused(CODES.FAILED_PRECONDITION, "the cluster turns away", "still in use at"):
        staged.stage()
    staged.unpublish()
    before = node.helpers()
    staged.stage()
    assert len(node.helpers()) == 1 and node.helpers() != before
    write_block(staged.publish(), b"x")
    staged.leave()


def test_cluster_that_does_not_answer(cluster, node, client, create):
    """The caller gets an answer within its deadline, and the next call finds its way."""
    volume = create("v")
    staged = Staged(client, node, volume, "ext4")
    cluster.osd_pause()
    try:
        started = time.monotonic()
        with refused(CODES.DEADLINE_EXCEEDED):
            client.NodeStageVolume(volume_id=volume.volume_id, staging_target_path=staged.staging,
                                   volume_capability=staged.capability, timeout=3)
        assert time.monotonic() - started < 4
        with refused(CODES.ABORTED, "busy with NodeStageVolume"):
            staged.stage()
    finally:
        cluster.osd_resume()
    volumes.patiently(staged.stage)
    staged.leave()


def test_monitors_out_of_reach(cluster, create, tmp_path):
    """As after a move of the monitors: told, not hung on."""
    volume = create("v")
    (tmp_path / "clusters.json").write_text(
        '{"clusters": [{"clusterID": "local", "monitors": ["127.0.0.99:6789"],'
        f' "user": "imprint", "keyring": "{cluster.dir}/imprint.keyring"}}]}}')
    with Node(tmp_path, name="node-c") as node, node.client() as client:
        staged = Staged(client, node, volume, "ext4")
        started = time.monotonic()
        with refused(CODES.UNAVAILABLE, "cluster 'local'"):
            client.NodeStageVolume(volume_id=volume.volume_id, staging_target_path=staged.staging,
                                   volume_capability=staged.capability, timeout=60)
        assert time.monotonic() - started < 50
        staged.unstage()


def test_keys_are_on_no_command_line(cluster, node, client, create):
    keyring = configparser.ConfigParser()
    with open(f"{cluster.dir}/imprint.keyring", encoding="ascii") as file:
        keyring.read_string(file.read().replace("\t", ""))
    key = keyring["client.imprint"]["key"]
    with Staged(client, node, create("v", 64 * MIB)):
        for pid in node.helpers() + [node.pid]:
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
                    assert key not in file.read()
        for folder, _, files in os.walk(node.run_dir):
            for name in files:
                path = os.path.join(folder, name)
                if os.path.ismount(path) or not os.path.isfile(path):
                    continue
                assert os.stat(path).st_mode & 0o077 == 0, path
                with open(path, encoding="utf-8", errors="replace") as file:
                    assert key not in file.read()
