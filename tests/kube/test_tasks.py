# SPDX-License-Identifier: Apache-2.0
"""Exports and rollbacks."""

import subprocess
import urllib.request

import pytest

import kubectl

EXPORT = "virtualmachinevolumeexport"
ROLLBACK = "virtualmachinevolumerollback"


@pytest.fixture
def copy(server):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
               kubectl.claim("copy", "64Mi", **kubectl.from_image("base")))
    return kubectl.await_bound("copy")


def task(kind, name, **spec):
    return {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def snapshot(name, claim):
    kubectl.apply({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name},
        "spec": {"volumeSnapshotClassName": "rbd", "source": {"persistentVolumeClaimName": claim}},
    })
    kubectl.until(lambda: (kubectl.get("volumesnapshot", name).get("status") or {}).get("readyToUse"),
               "the snapshot is ready")


def test_an_export_lands_in_the_object_store(copy, s3, disk, tmp_path):
    store = {"bucketName": "vm-images", "objectName": "out.qcow2", "endpoint": s3["endpoint"],
             "secretRef": "store"}
    kubectl.apply(task("VirtualMachineVolumeExport", "out", pvcName="copy", objectStore=store))
    kubectl.await_state(EXPORT, "out", "Completed")
    path = tmp_path / "out.qcow2"
    s3["client"].download_file("vm-images", "out.qcow2", str(path))
    subprocess.run(["qemu-img", "check", "-f", "qcow2", path], check=True)
    subprocess.run(
        ["qemu-img", "compare", "-f", "qcow2", "-F", "raw", path, disk["raw_path"]], check=True)
    # and by anything that speaks HTTP
    url = s3["client"].generate_presigned_url(
        "get_object", Params={"Bucket": "vm-images", "Key": "out.qcow2"})
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == path.read_bytes()


def test_an_export_of_nothing_waits(s3):
    kubectl.apply(
        task("VirtualMachineVolumeExport", "out", pvcName="nothing",
             objectStore={"bucketName": "vm-images", "objectName": "x", "endpoint": s3["endpoint"],
                          "secretRef": "store"}))
    kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Pending", "Pending")
    assert "nothing" in kubectl.message(EXPORT, "out")


def test_an_export_into_no_bucket_fails(copy, s3):
    kubectl.apply(
        task("VirtualMachineVolumeExport", "out", pvcName="copy",
             objectStore={"bucketName": "no-such-bucket", "objectName": "x",
                          "endpoint": s3["endpoint"], "secretRef": "store"}))
    kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Error", "Error")
    assert "no-such-bucket" in kubectl.message(EXPORT, "out")


def test_a_rollback_brings_the_old_bytes_back(copy, disk, bytes_of, cluster):
    snapshot("before", "copy")
    with cluster.volume(copy) as volume:
        volume.write(b"\xff" * (1 << 20), 0)
        volume.resize(96 << 20)
    kubectl.apply(
        task("VirtualMachineVolumeRollback", "back", pvcName="copy", volumeSnapshotName="before"))
    kubectl.await_state(ROLLBACK, "back", "Completed")
    assert bytes_of(copy, 64 << 20) == disk["raw"]


def test_a_rollback_is_refused_while_the_volume_is_in_use(copy, cluster):
    snapshot("before", "copy")
    with cluster.volume(copy) as volume:
        volume.write(b"\xff" * 4096, 0)
        kubectl.apply(
            task("VirtualMachineVolumeRollback", "back", pvcName="copy",
                 volumeSnapshotName="before"))
        kubectl.until(lambda: kubectl.state(ROLLBACK, "back") == "Error", "Error")
        assert "in use" in kubectl.message(ROLLBACK, "back")
        assert volume.read(0, 4096) == b"\xff" * 4096
