# SPDX-License-Identifier: Apache-2.0
"""What is between the populator and an API server that is busy, broken or forgetful."""

import datetime
import json
import os
import subprocess

import pytest
import yaml

import chart_pod

import kubectl
from api_front import ApiFront
from control_plane import restart_api_server
from upload_client import Client

STATUSES = (429, 500, 503, 504)
SPACE = "imprint-system"
EXPORT = "virtualmachinevolumeexport"
WRITES = ("PATCH", "POST", "PUT", "DELETE")


@pytest.fixture
def front(tmp_path):
    with ApiFront(tmp_path) as running:
        yield running


@pytest.fixture
def behind(front, populator, another_populator):
    """The only populator, which reaches the API server by the front."""
    populator.kill()
    with another_populator("behind", "--kubeconfig", front.kubeconfig) as running:
        yield running.wait_ready()


def have_image(server, name="base", timeout_s=60):
    kubectl.apply(kubectl.image(name, {"http": server.url("/disk.qcow2")}))
    kubectl.await_state("virtualmachineimage", name, "Available", timeout_s=timeout_s)


def claims(names, image="base"):
    return [kubectl.claim(name, "64Mi", **kubectl.from_image(image)) for name in names]


def test_connections_are_used_again(front, behind, server):
    """For writes too: a handshake with the API server takes longer than what is written."""
    have_image(server)
    connections, requests = front.connections, len(front.requests)
    for name in (f"copy-{i}" for i in range(8)):
        kubectl.apply(*claims([name]))
        kubectl.await_bound(name)
    writes = [request for request in front.requests[requests:] if request.method in WRITES]
    assert len(writes) >= 16
    assert front.connections - connections <= 4


def test_refusals_are_got_over(front, behind, server, disk, bytes_of, cluster):
    """Of lists, watches and writes: every fourth request is refused, by turns in each way."""

    def refuse(request):
        return STATUSES[request.number // 4 % len(STATUSES)] if request.number % 4 == 0 else None

    front.refuse = refuse
    have_image(server, timeout_s=180)
    names = [f"copy-{i}" for i in range(4)]
    kubectl.apply(*claims(names))
    handles = {kubectl.await_bound(name, timeout_s=120) for name in names}
    assert len(handles) == len(names) and len(cluster.images("imprint")) == len(names) + 1
    assert bytes_of(handles.pop(), 64 << 20) == disk["raw"]
    assert set(front.refused) == set(STATUSES)
    front.refuse = lambda request: None


def test_a_forgotten_version(front, behind, server, disk, bytes_of):
    """The populator is cut off. Objects come and go meanwhile, and the API server is started anew: it knows no version
    from before that, so everything must be listed again."""
    have_image(server)
    have_image(server, "dropped")
    kubectl.apply(*claims(["waiting"], "later"))
    front.cut_off()
    kubectl.run("delete", "virtualmachineimage", "dropped", "--wait=false")
    kubectl.run("delete", "pvc", "waiting")
    kubectl.apply(*claims(["copy"]))
    restart_api_server()
    assert not front.expired
    front.restore()
    assert bytes_of(kubectl.await_bound("copy"), 64 << 20) == disk["raw"]
    kubectl.until(lambda: kubectl.get("virtualmachineimage", "dropped") is None, "it is gone")
    assert front.expired


def test_an_export_tells_of_a_secret_that_may_not_be_read(front, behind, server, s3):
    have_image(server)
    kubectl.apply(*claims(["copy"]))
    kubectl.await_bound("copy")
    front.refuse = lambda request: 403 if "/secrets/" in request.path else None
    store = {"bucketName": "vm-images", "objectName": "out", "endpoint": s3["endpoint"], "secretRef": "store"}
    kubectl.apply({"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": "VirtualMachineVolumeExport",
                   "metadata": {"name": "out"}, "spec": {"pvcName": "copy", "objectStore": store}})
    kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Pending", "it waits")
    message = kubectl.message(EXPORT, "out")
    assert message.startswith("spec.objectStore.secretRef: ") and "a made up refusal" in message
    kubectl.until(lambda: any("a made up refusal" in event for event in kubectl.events("out")), "told")
    front.refuse = lambda request: None
    kubectl.await_state(EXPORT, "out", "Completed")


def test_an_upload_to_an_image_that_goes_meanwhile_leaves_nothing(front, behind, tokens, sent, cluster):
    """It is on record, and cleaned up after by that, before its volume is made."""
    gone = []

    def answered(request):
        if request.path.endswith(f"/{sent}/status") and b'"size"' in request.body and not gone:
            gone.append(sent)
            kubectl.delete("virtualmachineimage", sent)

    front.answered = answered
    file = b"\xfd7zXZ\0" + bytes(1 << 20)  # which is kept first
    status, _, answer = Client(behind, tokens["editor"]).piece(sent, file, 0, 999)
    assert gone and status == 404, (status, answer)
    assert not cluster.images(os.environ["POOL"])


class Applier:
    """kube_apply, with a kubeconfig file."""

    def __init__(self, kubeconfig):
        self.process = subprocess.Popen([os.path.join(chart_pod.BUILD, "tests", "kube", "kube_apply"), kubeconfig],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def apply(self, **data):
        item = {"metadata": {"name": "applied", "namespace": "default"}, "data": data}
        self.process.stdin.write(json.dumps(item) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=30)


def test_applying_leaves_the_fields_of_others_alone():
    """And takes over what both want, by a client's certificate."""
    with Applier(os.environ["KUBECONFIG"]) as ours:
        assert ours.apply(mine="1", shared="1") == "ok"
        kubectl.run("patch", "configmap", "applied", "--type=merge", "-p", '{"data":{"theirs":"2","shared":"2"}}')
        assert ours.apply(mine="3", shared="3") == "ok"
        assert kubectl.get("configmap", "applied")["data"] == {"mine": "3", "shared": "3", "theirs": "2"}
        assert ours.apply(shared="3") == "ok"
        assert kubectl.get("configmap", "applied")["data"] == {"shared": "3", "theirs": "2"}
    kubectl.delete("configmap", "applied")


def test_a_token_is_read_again_when_it_is_refused(tokens, tmp_path):
    with open(os.environ["IMPRINT_KUBECONFIG"], encoding="utf-8") as file:
        config = yaml.safe_load(file)
    config["users"][0]["user"] = {"tokenFile": str(tmp_path / "token")}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    (tmp_path / "token").write_text("expired")
    with Applier(tmp_path / "kubeconfig") as ours:
        assert "nauthorized" in ours.apply(mine="1")
        (tmp_path / "token").write_text(tokens["editor"])
        assert ours.apply(mine="1") == "ok"
    kubectl.delete("configmap", "applied")


def lease(name, **labels):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": SPACE, "labels": labels},
            "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 5}}


def renew(name):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    kubectl.run("patch", "lease", name, "-n", SPACE, "--type=merge", "-p",
                json.dumps({"spec": {"renewTime": now}}))


def test_leases_that_were_left_behind_go(populator):
    """By one that was killed between the end of the work and that of its lease. One that is renewed is
    kept, and others' are not touched."""
    ours = {"app.kubernetes.io/managed-by": "imprint-populator"}
    kubectl.apply(lease("image-dead", **ours), lease("alive", **ours), lease("foreign"))

    def is_gone():
        renew("alive")
        return kubectl.get("lease", "image-dead", SPACE) is None

    kubectl.until(is_gone, "it is gone", 90)
    assert kubectl.get("lease", "alive", SPACE) and kubectl.get("lease", "foreign", SPACE)
    kubectl.delete("lease", "alive", "foreign", namespace=SPACE)
