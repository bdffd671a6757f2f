# SPDX-License-Identifier: Apache-2.0
"""DataVolumes that wait for a file: what they say meanwhile, and who may send it. How files are sent
is tested with images, test_upload.py."""

import hashlib
import os
import time

import pytest

import golden
import kubectl
from upload_client import Client

MB = 1 << 20


@pytest.fixture
def client(populator, tokens):
    return Client(populator, tokens["editor"], "datavolumes")


@pytest.fixture
def sent():
    kubectl.apply(golden.volume("sent", {"upload": {}}, storage=golden.size("64Mi")))
    golden.await_phase("sent", "UploadReady")
    return "sent"


def record(name):
    return kubectl.get("datavolume", name)["status"].get("upload", {})


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_volume_is_uploaded_in_pieces(client, sent, disk, bytes_of, cluster):
    data = disk["qcow2"]
    status, _, message = golden.condition("datavolume", sent, "Ready")
    assert status == "False" and "upload" in message
    assert kubectl.get("pvc", sent)["status"]["phase"] == "Pending", "bound when it is complete"
    status, head, answer = client.piece(sent, data, 0, 5 * MB - 1, X_Checksum=sha256(data))
    assert (status, head["Upload-Offset"], answer["state"]) == (200, str(5 * MB), "UploadReady")
    assert record(sent)["offset"] == 5 * MB
    assert 0 < float(kubectl.get("datavolume", sent)["status"]["progress"][:-1]) < 100
    status, _, answer = client.piece(sent, data, 5 * MB, len(data) - 1, Prefer="wait=60")
    assert (status, answer["state"]) == (201, "Succeeded"), answer
    assert bytes_of(kubectl.await_bound(sent), 64 * MB) == disk["raw"]
    volume = kubectl.get("datavolume", sent)
    assert volume["status"]["progress"] == "100.0%"
    assert "handle" not in record(sent) and not volume["metadata"].get("finalizers")
    assert len(cluster.images(os.environ["POOL"])) == 1, "what was sent is removed"
    status, _, answer = client.put(sent, data[:MB])
    assert status == 409 and "Succeeded" in answer["message"]


def test_killed_in_the_middle_and_behind_the_last_byte(client, sent, disk, bytes_of, populator):
    """What was acknowledged is there, and what is complete is imported by whoever comes next."""
    data = disk["qcow2"]
    assert client.piece(sent, data, 0, 6 * MB - 1)[0] == 200
    populator.kill()
    populator.start()
    client.go_on(sent, data)
    populator.kill()
    populator.start()
    golden.await_phase(sent, "Succeeded", timeout_s=120)
    assert bytes_of(kubectl.await_bound(sent), 64 * MB) == disk["raw"]


def test_what_is_wrong_with_it_is_told_and_nothing_of_it_is_kept(client, sent, disk, cluster):
    kubectl.apply(golden.volume("broken", {"upload": {}}, storage=golden.size("64Mi")),
                  golden.volume("small", {"upload": {}}, storage=golden.size("32Mi")))
    for name in ("broken", "small"):
        golden.await_phase(name, "UploadReady")
    status, _, answer = client.put(sent, disk["qcow2"], X_Checksum="sha256:" + "0" * 64,
                                   Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Failed") and "sha256" in answer["message"]
    status, _, answer = client.put("broken", b"QFI\xfb\0\0\0\3" + b"\xff" * 4096, Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Failed") and answer["message"]
    status, _, answer = client.put("small", disk["qcow2"], Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Failed") and "67108864" in answer["message"], answer
    for name in (sent, "broken", "small"):
        assert not kubectl.get("datavolume", name)["metadata"].get("finalizers")
        assert "handle" not in record(name)
    kubectl.until(lambda: not kubectl.get_all("pvc") and not cluster.images(os.environ["POOL"]),
                  "nothing is left")


def test_deleted_during_its_upload(client, sent, disk, cluster):
    connection = client.begin(sent, disk["qcow2"], 0, 2 * MB)
    kubectl.until(lambda: client.offset(sent) > 0, "it runs")
    kubectl.delete("datavolume", sent, wait=False)
    for at in range(2 * MB, len(disk["qcow2"]), MB):
        connection.send(disk["qcow2"][at:at + MB])
        time.sleep(0.05)
    answer = connection.getresponse()
    assert answer.status in (404, 409) and b"deleted" in answer.read()
    kubectl.until(lambda: kubectl.get("datavolume", sent) is None, "it is gone")
    kubectl.until(lambda: not cluster.images(os.environ["POOL"]), "nothing is left")


def test_who_may_send_and_what_takes_a_file(client, sent, tokens, populator, server):
    viewer = Client(populator, tokens["viewer"], "datavolumes")
    status, _, answer = viewer.put(sent, b"x")
    assert status == 403 and "datavolumes/upload" in answer["message"]
    assert Client(populator, None, "datavolumes").put(sent, b"x")[0] == 401
    for name in (sent, "nothing"):  # whether there is such a one in a namespace of others, neither
        assert client.ask("PUT", name, b"x", namespace="kube-system")[0] == 403
    assert client.put("nothing", b"x")[0] == 404
    assert Client(populator, tokens["editor"]).put(sent, b"x")[0] == 404, "it is no image"
    status, _, answer = client.put(sent, b"x", Content_Length=str(1 << 30))
    assert status == 413 and "spec.storage.resources.requests.storage" in answer["message"]
    kubectl.apply(
        golden.volume("fetched", {"http": {"url": server.url("/disk.raw")}}),
        golden.volume("later", {"upload": {}},
                      storage={"storageClassName": "rbd-late", **golden.size("64Mi")}),
        golden.volume("unsized", {"upload": {}}))
    status, _, answer = client.put("fetched", b"x")
    assert status == 409 and "upload{}" in answer["message"]
    golden.await_phase("unsized", "Failed")
    assert "requests.storage" in golden.condition("datavolume", "unsized", "Ready")[2]
    # a class that waits for a pod, as CDI has it: not before there is one, or it is asked for
    golden.await_phase("later", "PendingPopulation")
    status, head, answer = client.put("later", b"x")
    assert status == 409 and head["Retry-After"] and "PendingPopulation" in answer["message"]
    kubectl.run("annotate", "pvc", "later", "cdi.kubevirt.io/storage.bind.immediate.requested=true")
    golden.await_phase("later", "UploadReady")
    assert "upload" not in kubectl.get("datavolume", sent)["status"]
