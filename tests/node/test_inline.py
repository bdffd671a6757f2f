# SPDX-License-Identifier: Apache-2.0
"""Ephemeral inline volumes: a clone that a pod brings along, made when it is published and gone
when it is unpublished, whatever happens in between."""

import concurrent.futures
import os
import shutil

import pytest

import volumes
from inline import Inline
from node import Node
from staged import Staged
from volumes import CODES, MIB, POOL

INLINE = "imprint.e"


def ephemeral_images(cluster):
    return [name for name in cluster.images(POOL) if name.startswith(INLINE)]


def wait_gone(cluster):
    """The images are gone, and their trash is empty."""
    left = lambda: ephemeral_images(cluster) + [
        entry for entry in cluster.trash(POOL) if INLINE in str(entry)]
    assert volumes.wait_until(lambda: not left(), 60), left()


@pytest.fixture
def source(control, node, client, create):
    """A snapshot of a volume with a file on it, of a claim in namespace team-a."""
    parameters = volumes.parameters(**{
        "csi.storage.k8s.io/pvc/name": "golden", "csi.storage.k8s.io/pvc/namespace": "team-a"})
    volume = create("golden", 64 * MIB, parameters=parameters)
    with Staged(client, node, volume, "ext4") as staged:
        with open(staged.publish() + "/file", "w", encoding="ascii") as file:
            file.write("golden")
    return volumes.snapshot(control, "golden", volume.volume_id)


def read(path, name="file"):
    with open(os.path.join(path, name), encoding="ascii") as file:
        return file.read()


def write(path, text):
    with open(os.path.join(path, "file"), "w", encoding="ascii") as file:
        file.write(text)


def test_a_clone_lives_as_long_as_its_pod(cluster, node, client, source):
    inline = Inline(client, node, "pod-a", snapshotHandle=source.snapshot_id)
    target = inline.publish()
    assert read(target) == "golden"
    write(target, "changed")
    assert inline.publish() == target  # again: nothing happens
    assert read(target) == "changed"
    assert len(ephemeral_images(cluster)) == 1
    stats = client.NodeGetVolumeStats(volume_id=inline.volume_id, volume_path=target)
    assert not stats.volume_condition.abnormal and stats.usage[0].total > 40 * MIB
    inline.unpublish()
    inline.unpublish()  # again
    assert not os.path.exists(target) and node.leftovers() == []
    assert ephemeral_images(cluster) == []
    wait_gone(cluster)
    assert read(inline.publish()) == "golden"  # a new one
    inline.unpublish()


def test_many_pods_share_an_image(cluster, node, client, source):
    pods = [Inline(client, node, f"pod-{i}", snapshotHandle=source.snapshot_id) for i in range(10)]
    with concurrent.futures.ThreadPoolExecutor(10) as threads:
        targets = list(threads.map(lambda pod: volumes.patiently(pod.publish), pods))
        assert {read(target) for target in targets} == {"golden"}
        for i, target in enumerate(targets):
            write(target, f"pod {i}")
        assert [read(target) for target in targets] == [f"pod {i}" for i in range(10)]
        list(threads.map(lambda pod: volumes.patiently(pod.unpublish), pods))
    assert node.leftovers() == []
    wait_gone(cluster)


def test_an_image_is_found_by_its_name(cluster, node, client, source):
    image, snapshot = source_names(cluster)
    inline = Inline(client, node, "pod", image=f"{POOL}/{image}@{snapshot}", size="128Mi")
    target = inline.publish()
    assert read(target) == "golden"
    assert os.statvfs(target).f_blocks * os.statvfs(target).f_frsize > 100 * MIB
    inline.unpublish()
    wait_gone(cluster)


def source_names(cluster):
    image, = [name for name in cluster.images(POOL) if name.startswith("imprint.v")]
    snapshot, = [snap["name"] for snap in cluster.snapshots(POOL, image)]
    return image, snapshot


def test_it_can_be_read_only(cluster, node, client, source):
    inline = Inline(client, node, "pod", snapshotHandle=source.snapshot_id)
    target = inline.publish(readonly=True)
    assert read(target) == "golden"
    with pytest.raises(OSError):
        write(target, "changed")
    # clients of read-only devices, but for those of fuse, do not watch: other nodes would see none
    with open(f"/sys/block/{node.loops()[0]}/ro", encoding="ascii") as is_read_only:
        assert is_read_only.read() == "0\n"
    inline.unpublish()


def test_whose_pods_may_have_an_image(cluster, node, client, source):
    image, snapshot = source_names(cluster)
    theirs = Inline(client, node, "pod", namespace="team-b", image=f"{POOL}/{image}@{snapshot}")
    with volumes.refused(CODES.PERMISSION_DENIED, "team-b", "imprint.inline.namespaces"):
        theirs.publish()
    assert ephemeral_images(cluster) == [] and node.leftovers() == []
    with cluster.image(POOL, image) as opened:
        for value in ("team", "team-bb,team-", ""):
            opened.metadata_set("imprint.inline.namespaces", value)
            with volumes.refused(CODES.PERMISSION_DENIED):
                theirs.publish()
        for value in ("*", "team-c,team-b"):
            opened.metadata_set("imprint.inline.namespaces", value)
            assert read(theirs.publish()) == "golden"
            theirs.unpublish()
    wait_gone(cluster)


def test_what_is_refused(cluster, node, client, source):
    handle = source.snapshot_id
    for attributes, code, pattern in (
        ({}, CODES.INVALID_ARGUMENT, "'image' or 'snapshotHandle'"),
        ({"image": "a/b"}, CODES.INVALID_ARGUMENT, "pool/image@snapshot"),
        ({"image": f"{POOL}/none@snap"}, CODES.NOT_FOUND, "none"),
        ({"image": "no-pool/none@snap"}, CODES.NOT_FOUND, "no-pool"),
        ({"snapshotHandle": "x"}, CODES.INVALID_ARGUMENT, "snapshotHandle"),
        ({"snapshotHandle": handle, "image": "a/b@c"}, CODES.INVALID_ARGUMENT, "either"),
        ({"snapshotHandle": handle, "clusterID": "other"}, CODES.INVALID_ARGUMENT, "clusterID"),
        ({"snapshotHandle": handle, "mapper": "floppy"}, CODES.INVALID_ARGUMENT, "floppy"),
        ({"snapshotHandle": handle, "size": "1Mi"}, CODES.INVALID_ARGUMENT, "size"),
        ({"snapshotHandle": handle, "mapOptions": "x"}, CODES.INVALID_ARGUMENT, "mapOptions"),
    ):
        with volumes.refused(code, pattern):
            Inline(client, node, "pod", **attributes).publish()
    inline = Inline(client, node, "pod", snapshotHandle=handle)
    for target in ("/etc/inline", f"{node.kubelet_dir}/pods/../../x"):
        with volumes.refused(CODES.INVALID_ARGUMENT, "target_path"):
            inline.publish(target_path=target)
    with volumes.refused(CODES.INVALID_ARGUMENT, "filesystem"):
        inline.publish(volume_capability=volumes.capability())
    assert ephemeral_images(cluster) == [] and node.leftovers() == []
    target = inline.publish()
    with volumes.refused(CODES.ALREADY_EXISTS, "size"):
        inline.publish(volume_context={**inline.context, "size": "1Gi"})
    assert read(target) == "golden"  # and the pod goes on
    inline.unpublish()


def test_what_cannot_be_mounted_leaves_nothing(cluster, control, node, client, create):
    parameters = volumes.parameters(**{"csi.storage.k8s.io/pvc/namespace": "team-a"})
    volume = create("disk", 32 * MIB, parameters=parameters)
    with cluster.volume(volume.volume_id) as image:
        image.write(b"\x55" * 4096, 0)
    snapshot = volumes.snapshot(control, "disk", volume.volume_id)
    with volumes.refused(CODES.FAILED_PRECONDITION, "unknown data"):
        Inline(client, node, "pod", snapshotHandle=snapshot.snapshot_id).publish()
    assert node.leftovers() == []
    wait_gone(cluster)


def test_the_source_may_go_first(cluster, control, node, client, source):
    inline = Inline(client, node, "pod", snapshotHandle=source.snapshot_id)
    target = inline.publish()
    volumes.delete_all(control)
    assert read(target) == "golden"
    inline.unpublish()
    wait_gone(cluster)


def test_unpublish_needs_no_note(cluster, node, client, source):
    inline = Inline(client, node, "pod", snapshotHandle=source.snapshot_id)
    inline.publish()
    notes = [name for name in os.listdir(node.run_dir) if name.startswith("inline.")]
    assert len(notes) == 1
    os.unlink(os.path.join(node.run_dir, notes[0]))
    inline.unpublish()
    assert node.leftovers() == []
    wait_gone(cluster)


def test_a_pod_that_went_while_the_plugin_was_down(cluster, node, client, source):
    stays = Inline(client, node, "stays", snapshotHandle=source.snapshot_id)
    goes = Inline(client, node, "goes", snapshotHandle=source.snapshot_id)
    kept, target = stays.publish(), goes.publish()
    node.kill()
    os.system(f"umount {target}")
    shutil.rmtree(os.path.dirname(target))
    node.start()
    assert volumes.wait_until(lambda: len(ephemeral_images(cluster)) == 1, 30)
    assert read(kept) == "golden"
    with node.client() as client:
        stays.client = client
        stays.unpublish()
    wait_gone(cluster)


def test_a_node_of_the_same_name(cluster, source):
    """In another Kubernetes on the same pool: volumes in use there are left alone; what is left of
    a pod when that one was switched off goes."""
    arguments = ["--inline-expiry-seconds", "48"]  # a round takes two seconds
    with Node(cluster.dir, name="twin", arguments=arguments) as there, there.client() as client, \
            Node(cluster.dir, name="twin", arguments=arguments):
        inline = Inline(client, there, "pod", snapshotHandle=source.snapshot_id)
        target = inline.publish()
        assert not volumes.wait_until(lambda: not ephemeral_images(cluster), 10)
        assert read(target) == "golden"
        there.kill()
        there.scrub()
        assert volumes.wait_until(lambda: not ephemeral_images(cluster), 30)
        wait_gone(cluster)
        there.start()


def test_a_node_that_went(cluster, client, node, source, tmp_path):
    """Its images are removed by another one, but not while they are in use, nor too early."""
    seconds = 12
    with Node(cluster.dir, name="node-b",
              arguments=["--inline-expiry-seconds", str(seconds)]) as gone, \
            gone.client() as its_client:
        Inline(its_client, gone, "pod", snapshotHandle=source.snapshot_id).publish()
        used = Inline(client, node, "used", snapshotHandle=source.snapshot_id)
        target = used.publish()
        gone.kill()
        gone.scrub()
        arguments = ["--inline-expiry-seconds", str(seconds)]
        with Node(cluster.dir, name="node-c", arguments=arguments):
            assert not volumes.wait_until(lambda: len(ephemeral_images(cluster)) < 2, seconds / 3)
            assert volumes.wait_until(lambda: len(ephemeral_images(cluster)) == 1, 60)
            # node-a does not look so often, but has its volume open
            assert not volumes.wait_until(lambda: not ephemeral_images(cluster), 5)
        assert read(target) == "golden"
        used.unpublish()
        wait_gone(cluster)
        gone.start()
