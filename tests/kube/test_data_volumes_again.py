# SPDX-License-Identifier: Apache-2.0
"""DataVolumes that have come to their end: what brings them back to work, and what not."""

import hashlib
import json
import os
import time

import golden
import kubectl
from upload_client import Client

DV = "datavolume"
RETRY = f"imprint.{kubectl.GROUP}/retry"


def uid(name):
    return (kubectl.get("pvc", name) or {"metadata": {"uid": None}})["metadata"]["uid"]


def test_a_claim_that_is_deleted_is_made_and_filled_again(server, disk, bytes_of, populator, tokens):
    """As KubeVirt's machines expect: they wait for the DataVolume to be Succeeded and start."""
    client = Client(populator, tokens["editor"], "datavolumes")
    names = ["import", "clone", "sent", "there"]
    kubectl.apply(golden.volume("import", {"http": {"url": server.url("/disk.qcow2")}}),
                  golden.volume("clone", {"pvc": {"namespace": "default", "name": "import"}}),
                  golden.volume("sent", {"upload": {}}, storage=golden.size("64Mi")),
                  kubectl.claim("there", "8Mi"),
                  golden.volume("there", {"blank": {}}, storage=golden.size("8Mi"), metadata={
                      "annotations": {"cdi.kubevirt.io/storage.prePopulated": "there"}
                  }))
    golden.await_phase("sent", "UploadReady")
    assert client.put("sent", disk["qcow2"], Prefer="wait=60")[0] == 201
    for name in names:
        golden.await_phase(name, "Succeeded")
    before = {name: uid(name) for name in names}
    for name in ("clone", "import"):
        kubectl.delete("pvc", name)
        kubectl.until(lambda: uid(name) not in (None, before[name]), f"another claim {name}")
        golden.await_phase(name, "Succeeded")
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]
        assert any(event.startswith("ClaimDeleted") for event in kubectl.events(name))
    kubectl.delete("pvc", "sent", "there")
    # its bytes are with whoever sent them
    kubectl.until(lambda: golden.phase("sent") == "UploadReady", "it takes a file again")
    assert client.put("sent", disk["qcow2"], Prefer="wait=60")[0] == 201
    assert bytes_of(kubectl.await_bound("sent"), 64 << 20) == disk["raw"]
    # and who fills this one is not us
    kubectl.until(lambda: golden.phase("there") == "Pending", "it waits")
    assert "not there yet" in golden.condition(DV, "there", "Ready")[2] and uid("there") is None


def test_what_failed_holds_nothing_and_begins_anew(server, disk, bytes_of, cluster):
    """When it is changed, or when that is asked for; not by itself."""
    digest = hashlib.sha256(disk["qcow2"]).hexdigest()
    kubectl.apply(golden.volume("wrong", {"http": {"url": server.url("/disk.qcow2"),
                                                   "checksum": "sha256:" + "0" * 64}}),
                  golden.volume("gone", {"http": {"url": server.url("/later")}}))
    for name in ("wrong", "gone"):
        kubectl.until(lambda: golden.phase(name) == "Failed", f"{name} Failed")
    kubectl.until(lambda: not kubectl.get_all("pvc") and not cluster.images(os.environ["POOL"]),
                  "nothing is left")
    asked = len(server.requests)
    server.files["/later"] = server.files["/disk.raw"]
    time.sleep(2)
    assert len(server.requests) == asked and golden.phase("gone") == "Failed"
    kubectl.run("annotate", DV, "gone", f"{RETRY}=now")
    kubectl.run("patch", DV, "wrong", "--type=merge", "-p", json.dumps(
        {"spec": {"source": {"http": {"checksum": f"sha256:{digest}"}}}}))
    for name in ("wrong", "gone"):
        kubectl.until(lambda: golden.phase(name) == "Succeeded", f"{name} Succeeded")
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]


def test_a_change_of_what_is_complete_changes_nothing(server):
    kubectl.apply(golden.volume("done", {"http": {"url": server.url("/disk.raw")}}))
    golden.await_phase("done", "Succeeded")
    before = uid("done")
    kubectl.run("patch", DV, "done", "--type=merge", "-p", json.dumps(
        {"spec": {"source": {"http": {"url": server.url("/other.raw")}}}}))
    kubectl.run("annotate", DV, "done", f"{RETRY}=now")
    time.sleep(1)
    assert golden.phase("done") == "Succeeded" and uid("done") == before
