# SPDX-License-Identifier: Apache-2.0
"""Exports and rollbacks."""

import json
import os
import subprocess
import threading
import urllib.request

import pytest

import kubectl
import s3_store

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


def bytes_of_quantity(text):
    units = {"Ki": 10, "Mi": 20, "Gi": 30}
    return int(text[:-2]) << units[text[-2:]] if text[-2:] in units else int(text)


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
    shown = kubectl.run("get", EXPORT, "out", "--no-headers").split()
    assert shown[:3] == ["out", "Completed", "100.0%"] and shown[4] == "s3://vm-images/out.qcow2", shown
    assert bytes_of_quantity(shown[3]) == path.stat().st_size
    subprocess.run(["qemu-img", "check", "-f", "qcow2", path], check=True)
    subprocess.run(
        ["qemu-img", "compare", "-f", "qcow2", "-F", "raw", path, disk["raw_path"]], check=True)
    # and by anything that speaks HTTP
    url = s3["client"].generate_presigned_url(
        "get_object", Params={"Bucket": "vm-images", "Key": "out.qcow2"})
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == path.read_bytes()


def test_exports_by_the_urls_of_their_destinations(copy, s3, images, disk, tmp_path):
    """A bucket in the path, a bucket before the host, a registry."""
    places = {
        "path": {"s3": {"url": f"{s3['endpoint']}/vm-images/dir/path.qcow2", "secretRef": "store"}},
        "host": {"s3": {"url": s3["by_host"].replace("//", "//vm-images.") + "/host.qcow2", "secretRef": "store"}},
        "registry": {"registry": {"url": images.url("exported:v1")}},
    }
    kubectl.apply(*(task("VirtualMachineVolumeExport", name, pvcName="copy", destination=place,
                         **({"certConfigMap": "registry-ca"} if name == "registry" else {}))
                    for name, place in places.items()))
    for name in places:
        assert kubectl.await_state(EXPORT, name, "Completed")["status"]["readyToUse"]
    for key in ("dir/path.qcow2", "host.qcow2"):
        path = tmp_path / "out.qcow2"
        s3["client"].download_file("vm-images", key, str(path))
        subprocess.run(["qemu-img", "compare", "-f", "qcow2", "-F", "raw", path, disk["raw_path"]], check=True)
    kubectl.apply(kubectl.image("back", {"registry": {"url": images.url("exported:v1")}}, certConfigMap="registry-ca"))
    kubectl.await_state("virtualmachineimage", "back", "Available")


# Word for word as the project was asked for, but for the bucket's name, which S3 does not allow.
ASKED_FOR = """
apiVersion: hypercloud.tmaxanc.com/v1alpha1
kind: VirtualMachineImage
metadata:
  name: ubuntu18.04
spec:
  storageClassName: cephrbd
  source:
    objectStore:
      bucketName: vm-image
      objectName: bionic-server-cloudimg-amd64.img
---
apiVersion: hypercloud.tmaxanc.com/v1alpha1
kind: VirtualMachinePvc
metadata:
  name: mydisk
spec:
  virtualMachineImageName: ubuntu18.04
  pvc:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: 1Gi
---
apiVersion: hypercloud.tmaxanc.com/v1alpha1
kind: VirtualMachineVolumeExport
metadata:
  name: export
spec:
  pvcName: mydisk
  objectStore:
    bucketName: vm-image
    objectName: mydisk
"""


def test_the_store_of_the_installation(populator, another_populator, s3, disk, tmp_path):
    kubectl.run("create", "secret", "generic", "installed", "-n", "imprint-system",
                f"--from-literal=AWS_ACCESS_KEY_ID={s3['access_key']}",
                f"--from-literal=AWS_SECRET_ACCESS_KEY={s3['secret_key']}")
    kubectl.apply(kubectl.storage_class("cephrbd"))
    s3["client"].create_bucket(Bucket="vm-image")
    s3["client"].put_object(Bucket="vm-image", Key="bionic-server-cloudimg-amd64.img", Body=disk["qcow2"])
    populator.kill()
    with another_populator("stored", "--object-store", s3["endpoint"], "--object-store-secret", "installed"):
        kubectl.run("apply", "-f", "-", stdin=ASKED_FOR)
        kubectl.await_state(EXPORT, "export", "Completed")
        own = {"bucketName": "vm-image", "objectName": "by-own-keys", "secretRef": "store"}
        kubectl.apply(task("VirtualMachineVolumeExport", "own", pvcName="mydisk", objectStore=own))
        kubectl.await_state(EXPORT, "own", "Completed")
    assert s3["client"].head_object(Bucket="vm-image", Key="by-own-keys")["ContentLength"]
    path = tmp_path / "mydisk"
    s3["client"].download_file("vm-image", "mydisk", str(path))
    with open(disk["raw_path"], "rb") as raw:
        grown = tmp_path / "raw"
        grown.write_bytes(raw.read())
    os.truncate(grown, 1 << 30)
    subprocess.run(["qemu-img", "compare", "-f", "qcow2", "-F", "raw", path, grown], check=True)
    kubectl.delete("secret", "installed", namespace="imprint-system")
    kubectl.run("delete", "storageclass", "cephrbd", "--wait=false")


class Gate:
    """A way to the store that can be shut. Until then it keeps what is sent to it."""

    def __init__(self, store):
        self.is_open = threading.Event()
        self.is_shut = threading.Event()
        self.server = s3_store.through(store, lambda request, body: body, self.pass_by)

    def pass_by(self, request, reply):
        if self.is_open.is_set() or (request.method != "PUT" and not self.is_shut.is_set()):
            return False
        self.is_shut.wait(60)
        reply.reset()
        return True


@pytest.fixture
def gates(s3):
    made = {name: Gate(s3) for name in ("back", "lost")}
    with made["back"].server, made["lost"].server:
        yield made
        for gate in made.values():
            gate.is_shut.set()
    s3_store.empty(s3["client"], "vm-images")


def test_what_a_deleted_export_has_left_goes_when_its_store_is_back(copy, s3, gates, cluster):
    """Of one whose store does not come back, it is told what is left there."""
    uploads = {}
    for name, gate in gates.items():
        store = {"bucketName": "vm-images", "objectName": f"{name}.raw", "endpoint": gate.server.url(""),
                 "secretRef": "store"}
        kubectl.apply(task("VirtualMachineVolumeExport", name, pvcName="copy", format="raw", objectStore=store))
    for name in gates:
        uploads[name] = kubectl.until(lambda name=name: s3_store.uploads(s3["client"], "vm-images", f"{name}.raw"),
                                      "the upload has begun")[0]["UploadId"]
    for name, gate in gates.items():
        gate.is_shut.set()
        kubectl.delete(EXPORT, name, wait=False)
    kubectl.until(lambda: any("CleanUpRetried" in event and uploads["back"] in event
                              for event in kubectl.events("back")), "it is told")
    assert kubectl.get(EXPORT, "back") and s3_store.uploads(s3["client"], "vm-images", "back.raw")
    gates["back"].is_open.set()
    kubectl.until(lambda: kubectl.get(EXPORT, "back") is None, "it is gone")
    assert not s3_store.uploads(s3["client"], "vm-images", "back.raw")
    kubectl.until(lambda: kubectl.get(EXPORT, "lost") is None, "the other one is gone too")
    assert any("NotCleanedUp" in event and uploads["lost"] in event and "lost.raw" in event
               for event in kubectl.events("lost")), kubectl.events("lost")
    with cluster.ioctx(os.environ["POOL"]) as ioctx:
        assert not [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.export.")]
    with cluster.volume(copy, read_only=True) as volume:
        assert not list(volume.list_snaps())


def test_an_export_of_nothing_waits(s3):
    kubectl.apply(
        task("VirtualMachineVolumeExport", "out", pvcName="nothing",
             objectStore={"bucketName": "vm-images", "objectName": "x", "endpoint": s3["endpoint"],
                          "secretRef": "store"}))
    kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Pending", "Pending")
    assert "nothing" in kubectl.message(EXPORT, "out")
    kubectl.apply(task("VirtualMachineVolumeRollback", "back", pvcName="nothing", volumeSnapshotName="none"),
                  task("VirtualMachineVolumeExport", "kept", virtualMachineVolume={"name": "nothing"},
                       destination={"local": {}}))
    kubectl.until(lambda: any("spec.virtualMachineVolume.name: " in event for event in kubectl.events("kept")), "told")
    for name in ("out", "back"):
        kubectl.until(lambda name=name: any("'default/nothing'" in event for event in kubectl.events(name)), "told")


def test_an_export_into_no_bucket_fails(copy, s3):
    kubectl.apply(
        task("VirtualMachineVolumeExport", "out", pvcName="copy",
             objectStore={"bucketName": "no-such-bucket", "objectName": "x",
                          "endpoint": s3["endpoint"], "secretRef": "store"}))
    kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Error", "Error")
    assert "no-such-bucket" in kubectl.message(EXPORT, "out")
    status = kubectl.get(EXPORT, "out")["status"]
    assert not status["readyToUse"] and "no-such-bucket" in status["errorMessage"]


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


def leave_rollback(populator, progress):
    """As a populator leaves it that is killed while its worker runs."""
    populator.kill()
    back = task("VirtualMachineVolumeRollback", "back", pvcName="copy", volumeSnapshotName="before")
    back["metadata"]["finalizers"] = [f"imprint.{kubectl.GROUP}/cleanup"]
    kubectl.apply(back)
    kubectl.run("patch", ROLLBACK, "back", "--subresource=status", "--type=merge", "-p",
                json.dumps({"status": {"state": "Creating", "progress": progress}}))


@pytest.mark.parametrize("gone", ["pvc", "volumesnapshot"])
def test_a_rollback_that_can_never_end_can_be_deleted(populator, gone):
    kubectl.apply(kubectl.claim("copy", "8Mi"))
    kubectl.await_bound("copy")
    snapshot("before", "copy")
    leave_rollback(populator, "50.0%")
    kubectl.delete(ROLLBACK, "back", wait=False)
    kubectl.delete(gone, {"pvc": "copy", "volumesnapshot": "before"}[gone])
    populator.start()
    kubectl.until(lambda: kubectl.get(ROLLBACK, "back") is None, "it is gone")
    kubectl.until(lambda: any("NotEnded" in event and "there is no" in event for event in kubectl.events("back")),
                  "told")


def test_a_rollback_that_died_within_its_first_percent_comes_to_its_end(copy, populator, disk, bytes_of, cluster):
    """What Ceph still knows of the worker that died is not taken for somebody who uses the volume."""
    snapshot("before", "copy")
    with cluster.volume(copy) as volume:
        volume.write(b"\xff" * (1 << 20), 0)
        leave_rollback(populator, "0.0%")
        populator.start()
        kubectl.until(lambda: any("Retried" in event and "in use" in event for event in kubectl.events("back")), "told")
        assert kubectl.state(ROLLBACK, "back") == "Creating"
    kubectl.await_state(ROLLBACK, "back", "Completed", timeout_s=90)
    assert bytes_of(copy, 64 << 20) == disk["raw"]
