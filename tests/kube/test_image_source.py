# SPDX-License-Identifier: Apache-2.0
"""StorageClasses whose volumes begin as an image: parameter imageSource, through the provisioner."""

import base64
import time

import grpc
import pytest

import csi
import kubectl
from fault_server import FaultServer


@pytest.fixture
def golden(server, controller):
    """golden(path): a class of what the server has there. What was imported goes behind the test."""
    names = []

    def make(path):
        names.append(f"golden-{len(names)}")
        parameters = {**kubectl.storage_class("x")["parameters"], "imageSource": server.url(path)}
        kubectl.apply(kubectl.storage_class(names[-1], parameters=parameters))
        return names[-1]

    yield make
    for name in names:
        kubectl.delete("storageclass", name)
    kubectl.delete("pvc", "--all")
    with controller.client() as client:
        for entry in client.ListVolumes().entries:
            snapshots = client.ListSnapshots(source_volume_id=entry.volume.volume_id).entries
            for snapshot in snapshots:
                csi.retry(client.DeleteSnapshot, snapshot_id=snapshot.snapshot.snapshot_id)
            if snapshots:
                csi.retry(client.DeleteVolume, volume_id=entry.volume.volume_id)


def test_volumes_of_the_class_are_clones_of_its_image(golden, server, disk, bytes_of, cluster):
    name = golden("/disk.qcow2")
    server.slow_s = 0.02
    kubectl.apply(kubectl.claim("first", "96Mi", storage_class=name))
    kubectl.until(lambda: any("imageSource" in event and "% done" in event
                              for event in kubectl.events("first")), "the progress is told")
    server.slow_s = 0
    kubectl.apply(*(kubectl.claim(f"more-{i}", "64Mi", storage_class=name) for i in range(3)))
    handle = kubectl.await_bound("first")
    assert bytes_of(handle, 64 << 20) == disk["raw"]
    with cluster.volume(handle) as volume:
        assert volume.size() == 96 << 20 and volume.parent_info()
    sent = server.sent
    for i in range(3):
        assert bytes_of(kubectl.await_bound(f"more-{i}"), 64 << 20) == disk["raw"]
    kubectl.apply(kubectl.claim("later", "64Mi", storage_class=name))
    assert bytes_of(kubectl.await_bound("later"), 64 << 20) == disk["raw"]
    assert sent < 2 * len(disk["qcow2"]) and server.sent - sent < 1 << 20, "imported once"
    assert len(cluster.images("imprint")) == 6


def test_an_image_that_nobody_asks_for_any_more_is_removed(golden, server, disk, bytes_of, cluster):
    name = golden("/disk.qcow2")
    kubectl.apply(kubectl.claim("first", "64Mi", storage_class=name))
    kubectl.await_bound("first")
    [base] = [image for image in cluster.images("imprint") if image.startswith("imprint.v.base-")]
    with cluster.image("imprint", base) as image:
        image.metadata_set("imprint.base", f"{image.id()} 1")  # long ago
    time.sleep(8)  # a quarter of the time that it is kept, and some
    assert len(cluster.images("imprint")) == 2, "while a volume is a clone of it, it stays"
    kubectl.delete("pvc", "first")
    kubectl.until(lambda: not cluster.images("imprint"), "both are gone")
    sent = server.sent
    kubectl.apply(kubectl.claim("again", "64Mi", storage_class=name))
    assert bytes_of(kubectl.await_bound("again"), 64 << 20) == disk["raw"]
    assert server.sent - sent > 1 << 20, "imported once more"


def test_a_killed_controller_goes_on(golden, server, disk, bytes_of, controller):
    server.slow_s = 0.05
    kubectl.apply(kubectl.claim("first", "64Mi", storage_class=golden("/disk.qcow2")))
    kubectl.until(lambda: server.sent > 6 << 20, "the import runs")
    controller.kill()
    controller.start()
    server.slow_s = 0
    assert bytes_of(kubectl.await_bound("first", timeout_s=120), 64 << 20) == disk["raw"]
    assert server.sent < 2 * len(disk["qcow2"]), "it began anew"


def test_what_is_wrong_is_told(golden):
    kubectl.apply(kubectl.claim("missing", "64Mi", storage_class=golden("/nothing")))
    kubectl.until(lambda: any("imageSource" in event and "404" in event
                              for event in kubectl.events("missing")), "the cause is told")


def test_what_others_may_read_is_not_for_everyone(golden, server, controller):
    """Right behind one whose password is right comes one whose is not."""
    name = golden("/disk.qcow2")  # cleans up
    right = "Basic " + base64.b64encode(b"user:right").decode()

    def ask_password(request, reply):
        if request.headers.get("authorization") == right:
            server.handler(request, reply)
        else:
            reply.answer(401, {"WWW-Authenticate": "Basic"}, b"who are you?")

    with FaultServer(ask_password) as locked, controller.client() as client:
        parameters = {**kubectl.get("storageclass", name)["parameters"], "imageSource": locked.url("/disk.qcow2")}
        request = {"volume_capabilities": [csi.single_node_block()], "parameters": parameters}
        made = csi.retry(client.CreateVolume, name="first", secrets={"username": "user", "password": "right"}, **request)
        with pytest.raises(grpc.RpcError, match="401"):
            csi.retry(client.CreateVolume, name="second", secrets={"username": "user", "password": "wrong"}, **request)
        csi.retry(client.DeleteVolume, volume_id=made.volume.volume_id)


def test_a_claim_for_less_gets_all_of_the_image(golden, disk, bytes_of):
    """CSI asks for a size at least."""
    kubectl.apply(kubectl.claim("small", "32Mi", storage_class=golden("/disk.qcow2")))
    assert bytes_of(kubectl.await_bound("small"), 64 << 20) == disk["raw"]
    assert kubectl.get("pvc", "small")["status"]["capacity"]["storage"] == "64Mi"
