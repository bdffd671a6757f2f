# SPDX-License-Identifier: Apache-2.0
"""VirtualMachineImage, and volumes made from it."""

import hashlib
import json
import socket

import golden
import kubectl

VMIM = "virtualmachineimage"


def test_an_image_from_http_becomes_available(server, disk, bytes_of):
    """The example of the requirements, with names made legal."""
    kubectl.apply(kubectl.image("ubuntu18.04", {"http": server.url("/disk.qcow2")}))
    image = kubectl.await_state(VMIM, "ubuntu18.04", "Available")
    assert image["status"]["size"] == "64Mi"
    assert image["status"]["progress"] == "100.0%"
    assert image["status"]["digest"] == f"sha256:{hashlib.sha256(disk['qcow2']).hexdigest()}"
    assert image["status"]["conditions"][0]["type"] == "ReadyToUse"
    assert image["status"]["conditions"][0]["status"] == "True"
    table = kubectl.run("get", "virtualmachineimage")
    assert "ubuntu18.04" in table and "Available" in table and "64Mi" in table
    handle = kubectl.await_bound("ubuntu18.04-image-pvc")
    assert bytes_of(handle, 64 << 20) == disk["raw"]
    kubectl.run("patch", VMIM, "ubuntu18.04", "--type=merge", "-p",
                json.dumps({"spec": {"source": {"http": server.url("/other.raw")}}}))
    kubectl.until(lambda: "spec.source was changed" in kubectl.message(VMIM, "ubuntu18.04"), "told")
    assert kubectl.state(VMIM, "ubuntu18.04") == "Available"
    assert "/disk.qcow2" in kubectl.run("get", VMIM, "ubuntu18.04")


def test_a_virtual_machine_pvc_is_a_clone(server, disk, bytes_of, cluster):
    kubectl.apply(kubectl.image("ubuntu", {"http": server.url("/disk.qcow2")}), {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachinePvc",
        "metadata": {"name": "root-disk"},
        "spec": {
            "virtualMachineImageName": "ubuntu",
            "pvc": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "100Mi"}},
            },
        },
    })
    kubectl.await_state("virtualmachinepvc", "root-disk", "Available")
    handle = kubectl.await_bound("root-disk")
    assert bytes_of(handle, 64 << 20) == disk["raw"]
    with cluster.volume(handle) as volume:
        assert volume.size() == 100 << 20
        assert volume.parent_info(), "it is a copy, not a clone"
        volume.write(b"\xff" * 4096, 0)
    base = kubectl.await_bound("ubuntu-image-pvc")
    assert bytes_of(base, 64 << 20) == disk["raw"], "what was written is in the image"


def test_the_operators_form_of_a_volume(server, disk, bytes_of):
    kubectl.apply(kubectl.image("ubuntu", {"http": server.url("/disk.raw")}), {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolume",
        "metadata": {"name": "disk"},
        "spec": {"virtualMachineImage": {"name": "ubuntu"}, "capacity": {"storage": "64Mi"}},
    })
    volume = kubectl.await_state("virtualmachinevolume", "disk", "Available")
    assert (volume["status"]["size"], volume["status"]["source"]) == ("64Mi", "ubuntu")
    assert bytes_of(kubectl.await_bound("disk-vmv-pvc"), 64 << 20) == disk["raw"]


def test_a_volume_smaller_than_its_image_is_refused_with_both_sizes(server):
    kubectl.apply(kubectl.image("ubuntu", {"http": server.url("/disk.qcow2")}), {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolume",
        "metadata": {"name": "small"},
        "spec": {"virtualMachineImage": {"name": "ubuntu"}, "capacity": {"storage": "32Mi"}},
    })
    kubectl.until(lambda: kubectl.state("virtualmachinevolume", "small") == "Error", "Error")
    text = kubectl.message("virtualmachinevolume", "small")
    assert "32Mi" in text and "64Mi" in text and "spec.capacity.storage" in text


def test_a_claim_that_is_deleted_during_the_import_is_made_anew(server, disk, bytes_of):
    """So often as failures are allowed: then it is told whose fault it is."""
    server.slow_s = 0.05
    kubectl.apply(kubectl.image("patient", {"http": server.url("/disk.qcow2")}),
                  kubectl.image("strict", {"http": server.url("/disk.qcow2")}, retry={"limit": 0}))
    for name in ("patient", "strict"):
        kubectl.until(lambda name=name: (kubectl.get(VMIM, name).get("status") or {}).get("volumeHandle"),
                      f"{name} has a volume")
        kubectl.delete("pvc", f"{name}-image-pvc", wait=False)
    kubectl.until(lambda: kubectl.state(VMIM, "strict") == "Error", "given up")
    assert "strict-image-pvc' was deleted" in kubectl.message(VMIM, "strict")
    server.slow_s = 0
    status = kubectl.await_state(VMIM, "patient", "Available")["status"]
    assert bytes_of(kubectl.await_bound("patient-image-pvc"), 64 << 20) == disk["raw"]
    assert "attempts" not in status
    assert any("patient-image-pvc' was deleted" in event for event in kubectl.events("patient"))


def test_an_image_from_an_object_store(s3, disk, bytes_of):
    s3["client"].put_object(Bucket="vm-images", Key="disk.qcow2", Body=disk["qcow2"])
    store = {"bucketName": "vm-images", "objectName": "disk.qcow2", "endpoint": s3["endpoint"]}
    kubectl.apply(kubectl.image("stored", {"objectStore": {**store, "secretRef": "store"}}))
    kubectl.await_state(VMIM, "stored", "Available")
    assert bytes_of(kubectl.await_bound("stored-image-pvc"), 64 << 20) == disk["raw"]


def test_a_checksum_is_verified(server, disk):
    good = hashlib.sha256(disk["qcow2"]).hexdigest()
    kubectl.apply(
        kubectl.image("good", {"http": server.url("/disk.qcow2")}, checksum=f"sha256:{good}"),
        kubectl.image("bad", {"http": server.url("/disk.qcow2")}, checksum="sha256:" + "0" * 64))
    kubectl.await_state(VMIM, "good", "Available")
    kubectl.await_error("bad", "sha256")


def test_what_is_wrong_is_told(server, disk):
    url = server.url("/disk.qcow2")
    kubectl.apply(
        kubectl.image("missing", {"http": server.url("/nothing")}),
        kubectl.image("small", {"http": url},
                   pvc={"resources": {"requests": {"storage": "16Mi"}}}),
        kubectl.image("classless", {"http": url}, storageClassName="no-such-class"))
    kubectl.await_error("missing", "404")
    kubectl.await_error("small", "16Mi", "64Mi", "spec.pvc.resources.requests.storage")
    kubectl.await_error("classless", "no-such-class")


def test_what_servers_refuse_is_told(s3, populator):
    """A certificate that nobody trusts, a bucket and a Secret that are not there."""
    store = {"objectName": "x", "endpoint": s3["endpoint"], "secretRef": "store"}
    kubectl.apply(
        kubectl.image("untrusted", {"http": f"https://{populator.upload}/x"}, retry={"limit": 0}),
        kubectl.image("bucketless", {"objectStore": {"bucketName": "no-such-bucket", **store}}),
        kubectl.image("keyless", {"objectStore": {"bucketName": "vm-images", **store,
                                                  "secretRef": "not-there"}}))
    kubectl.await_error("untrusted", "certificate")
    kubectl.await_error("bucketless", "no-such-bucket")
    kubectl.until(lambda: "not-there" in kubectl.message(VMIM, "keyless"), "told what is missing")


def test_a_server_out_of_reach_is_told_while_it_is_tried(server, disk, bytes_of):
    """Nobody listens there: the reason is shown long before it is given up, and is gone with it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = "127.0.0.1:%d" % listener.getsockname()[1]
    kubectl.apply(kubectl.image("unreached", {"http": f"http://{address}/disk.qcow2"}))
    kubectl.until(lambda: "tried again" in kubectl.message(VMIM, "unreached")
                  and address in kubectl.message(VMIM, "unreached"), "told why", 30)
    assert kubectl.state(VMIM, "unreached") == "Creating"
    kubectl.run("patch", VMIM, "unreached", "--type=merge", "-p",
                json.dumps({"spec": {"source": {"http": server.url("/disk.qcow2")}}}))
    image = kubectl.await_state(VMIM, "unreached", "Available")
    assert "tried again" not in json.dumps(image["status"])


def test_a_missing_secret_is_waited_for(server, disk, bytes_of):
    kubectl.apply(kubectl.image("guarded", {"http": server.url("/disk.qcow2")}, secretRef="later"))
    kubectl.until(lambda: "later" in kubectl.message(VMIM, "guarded"), "told what is missing")
    assert kubectl.state(VMIM, "guarded") == "Creating"
    kubectl.apply({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "later"},
        "stringData": {"username": "me", "password": "secret"},
    })
    kubectl.await_state(VMIM, "guarded", "Available")
    kubectl.delete("secret", "later")


def test_an_image_deleted_while_it_is_imported_stops(server, cluster):
    server.slow_s = 0.2
    kubectl.apply(kubectl.image("slow", {"http": server.url("/disk.qcow2")}))
    kubectl.until(lambda: server.sent > 1 << 20, "the import runs")
    kubectl.delete(VMIM, "slow")
    kubectl.until(lambda: not cluster.images("imprint"), "the space is free", 20)


def test_a_changed_source_starts_over(server, disk, bytes_of):
    server.slow_s = 0.2
    kubectl.apply(kubectl.image("image", {"http": server.url("/disk.qcow2")}))
    kubectl.until(lambda: server.sent > 1 << 20, "the import runs")
    kubectl.apply(kubectl.image("image", {"http": server.url("/disk.raw")}))
    kubectl.until(lambda: "anew" in kubectl.message(VMIM, "image") or server.requests[-1].path ==
                  "/disk.raw", "begun anew")
    server.slow_s = 0
    image = kubectl.await_state(VMIM, "image", "Available")
    assert image["status"]["format"] == "raw"
    assert bytes_of(kubectl.await_bound("image-image-pvc"), 64 << 20) == disk["raw"]


def test_an_image_goes_before_its_volumes(server, disk, bytes_of):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
               kubectl.claim("copy", "64Mi", **kubectl.from_image("base")))
    handle = kubectl.await_bound("copy")
    kubectl.delete(VMIM, "base")
    kubectl.until(lambda: kubectl.get("pvc", "base-image-pvc") is None, "its claim is gone")
    assert bytes_of(handle, 64 << 20) == disk["raw"]


def test_an_image_of_a_volume(server, disk, bytes_of, cluster):
    """spec.source.pvc: a clone of the volume as it is, without a transfer."""
    kubectl.apply(kubectl.image("copied", {"pvc": {"name": "later"}}))
    kubectl.until(lambda: "later" in kubectl.message(VMIM, "copied"), "told what is missing")
    assert "spec.source.pvc.name" in kubectl.message(VMIM, "copied")
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
                  kubectl.claim("later", "96Mi", **kubectl.from_image("base")))
    handle = kubectl.await_bound("later")
    with cluster.volume(handle) as volume:
        volume.write(b"\xee" * 4096, 80 << 20)
    image = kubectl.await_state(VMIM, "copied", "Available")
    assert (image["status"]["size"], image["status"]["source"]) == ("96Mi", "pvc/later")
    kubectl.delete("pvc", "later")
    kubectl.apply(kubectl.claim("copy", "96Mi", **kubectl.from_image("copied")))
    data = bytes_of(kubectl.await_bound("copy"), 96 << 20)
    assert data[:64 << 20] == disk["raw"] and data[80 << 20:][:4096] == b"\xee" * 4096


def test_credentials_in_a_url_are_not_shown(server):
    url = server.url("/disk.qcow2").replace("://", "://me:hunter2@") + "?signature=hunter3"
    server.files["/disk.qcow2?signature=hunter3"] = server.files["/disk.qcow2"]
    kubectl.apply(kubectl.image("signed", {"http": url}))
    kubectl.await_state(VMIM, "signed", "Available")
    image = kubectl.get(VMIM, "signed")
    assert "hunter" not in str(image["status"]) + str(kubectl.events("signed"))
    assert image["status"]["source"] == server.url("/disk.qcow2")


def test_what_is_to_be_retained_is_when_the_claim_goes_first(server, cluster):
    kubectl.apply(kubectl.storage_class("retained", reclaimPolicy="Retain"),
                  kubectl.image("base", {"http": server.url("/other.raw")}, storageClassName="retained"))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    handle = kubectl.await_bound("base-image-pvc")
    volume = kubectl.get("pvc", "base-image-pvc")["spec"]["volumeName"]
    kubectl.delete("pvc", "base-image-pvc")
    kubectl.delete("virtualmachineimage", "base")
    with cluster.volume(handle, read_only=True) as image:
        assert image.size() == 4 << 20
    kubectl.run("patch", "pv", volume, "-p", '{"spec": {"persistentVolumeReclaimPolicy": "Delete"}}')
    kubectl.until(lambda: kubectl.get("pv", volume) is None, "the volume is gone")
    kubectl.run("delete", "storageclass", "retained", "--wait=false")


def test_an_empty_class_is_the_default_one(server):
    """Of images, of volumes and of DataVolumes."""
    mark = "storageclass.kubernetes.io/is-default-class"
    kubectl.run("annotate", "storageclass", "rbd", f"{mark}=true")
    kubectl.apply(
        kubectl.image("base", {"http": server.url("/other.raw")}, storageClassName="",
                      pvc={"storageClassName": ""}),
        {"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": "VirtualMachineVolume", "metadata": {"name": "copy"},
         "spec": {"virtualMachineImage": {"name": "base"}, "pvc": {"storageClassName": ""}}},
        *(golden.item("DataVolume", name, {"source": {"http": {"url": server.url("/other.raw")}},
                                           name: {"storageClassName": "",
                                                  "resources": {"requests": {"storage": "8Mi"}}}})
          for name in ("storage", "pvc")))
    for claim in ("base-image-pvc", "copy-vmv-pvc", "storage", "pvc"):
        kubectl.await_bound(claim)
        assert kubectl.get("pvc", claim)["spec"]["storageClassName"] == "rbd"
    kubectl.run("annotate", "storageclass", "rbd", f"{mark}-")
