# SPDX-License-Identifier: Apache-2.0
"""The whole of it for these tests: the controller, the sidecars and the populator as one pod would
run them, on a real control plane and a real Ceph. Behind each test everything it made is deleted,
and nothing may be left in Kubernetes or in Ceph."""

import json
import os

import pytest

import chart_pod
import golden_cron
import kubectl
import sample_disk
from admission import Refusals
from controller import Controller
from fault_server import FaultServer, File
from upload_client import Client

# How long what is left of a deleted export, and an image of a class that nobody asks for, are kept.
DISCARD_TIMEOUT_S = "15"
KEEP_BASE_IMAGES_S = "24"

KINDS = ("hypercloudstorages", "dataimportcrons", "datavolumes", "datasources", "virtualmachinevolumeexports",
         "virtualmachinevolumerollbacks", "virtualmachinepvcs", "virtualmachinevolumes", "virtualmachineimages", "volumesnapshots",
         "pvc")


@pytest.fixture(scope="session")
def classes():
    kubectl.apply(
        kubectl.storage_class("rbd"), kubectl.storage_class("rbd-late", volumeBindingMode="WaitForFirstConsumer"), {
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshotClass",
            "metadata": {"name": "rbd"},
            "driver": kubectl.DRIVER,
            "deletionPolicy": "Delete",
        }, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})


class SupervisedController(Controller):
    """The sidecars end when it goes away, and kubelet starts them again."""
    sidecars = ()

    def start(self, *arguments, **more):
        super().start(*arguments, **more)
        for daemon in self.sidecars:
            daemon.restart()
        return self


@pytest.fixture(scope="session")
def controller(cluster, tmp_path_factory):
    arguments = ["--worker", chart_pod.WORKER, "--allow-local-addresses", "--keep-base-images",
                 KEEP_BASE_IMAGES_S]
    with SupervisedController(cluster.dir, tmp_path_factory.mktemp("controller"), arguments=arguments) as running:
        yield running


@pytest.fixture(scope="session")
def sidecars(controller, classes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sidecars")
    controller.sidecars = chart_pod.sidecars(controller.socket, folder)
    running = [*controller.sidecars, chart_pod.snapshot_controller(folder)]
    for daemon in running:
        daemon.start()
    yield running
    for daemon in running:
        daemon.kill()


def populator_of(controller, cluster, folder, identity, *arguments):
    return chart_pod.Populator(controller.socket, os.path.join(cluster.dir, "clusters.json"), folder, identity,
                               "--discard-timeout", DISCARD_TIMEOUT_S, *arguments)


@pytest.fixture(scope="session")
def populator_on(cluster, tmp_path_factory):
    """populator_on(node): not started yet."""
    return lambda node: chart_pod.NodePopulator(
        os.path.join(cluster.dir, "clusters.json"), tmp_path_factory.mktemp("node"), node)


@pytest.fixture(scope="session")
def shared_populator(controller, cluster, sidecars, tmp_path_factory):
    with populator_of(controller, cluster, tmp_path_factory.mktemp("populator"), "first") as running:
        yield running


@pytest.fixture
def another_populator(controller, cluster, tmp_path):
    """another_populator(identity, arguments…): not started yet."""
    return lambda identity, *arguments: populator_of(controller, cluster, tmp_path, identity, *arguments)


@pytest.fixture
def second_populator(another_populator):
    with another_populator("second") as running:
        yield running


@pytest.fixture
def populator(shared_populator):
    """A test that killed it finds it running again behind itself."""
    yield shared_populator
    if shared_populator.process is None:
        shared_populator.start()


@pytest.fixture(scope="session")
def tokens(shared_populator):
    """Of one who may edit in namespace default, and of one who may only look."""
    for name, role in (("editor", "edit"), ("viewer", "view")):
        kubectl.apply({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "default"},
        }, {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        })
    return {name: kubectl.run("create", "token", name).strip() for name in ("editor", "viewer")}


@pytest.fixture
def client(populator, tokens):
    """One who uploads."""
    return Client(populator, tokens["editor"])


@pytest.fixture
def sent():
    """An image that waits for its upload."""
    kubectl.apply(kubectl.image("sent", {"upload": {}}))
    kubectl.until(lambda: "upload" in kubectl.message("virtualmachineimage", "sent"), "it waits")
    return "sent"


@pytest.fixture
def refusals():
    made = Refusals()
    yield made
    made.lift()


def present(cluster):
    """What may be left in Ceph and in Kubernetes, (kind, name) each."""
    pool = os.environ["POOL"]
    leases = (item["metadata"]["name"] for item in kubectl.get_all("leases"))
    return {
        *(("image", name) for name in cluster.images(pool)),
        *(("trash", entry["name"]) for entry in cluster.trash(pool)),
        *(("volume", item["metadata"]["name"]) for item in kubectl.get_all("pv")),
        *(("content", item["metadata"]["name"]) for item in kubectl.get_all("volumesnapshotcontents")),
        *(("lease", name) for name in leases
          if name.startswith(("image-", "export-", "rollback-", "upload-", "volume-"))),
    }


@pytest.fixture(scope="session")
def known_leftovers():
    """Of tests that failed for it: those behind them are not to blame."""
    return set()


@pytest.fixture(autouse=True)
def emptied(cluster, populator, known_leftovers):
    """What a test made goes, and nothing of it is left."""
    yield
    if populator.process is None:
        populator.start()
    kubectl.run("delete", ",".join(KINDS), "--all", "-A", "--wait=false")
    for kind in KINDS:
        kubectl.until(lambda: not kubectl.get_all(kind), f"no {kind} left")
    left = set()

    def is_empty():
        left.clear()
        left.update(present(cluster) - known_leftovers)
        return not left

    try:
        kubectl.until(is_empty, "nothing is left", 90)
    except AssertionError:
        known_leftovers.update(left)
        raise AssertionError(f"left: {sorted(left)}") from None


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    """The sample disk as {"raw": bytes, "qcow2": bytes, "raw_path": path}."""
    raw, qcow2 = sample_disk.make(tmp_path_factory.mktemp("disk"))
    return {"raw": raw.read_bytes(), "qcow2": qcow2.read_bytes(), "raw_path": raw}


@pytest.fixture
def server(disk):
    """Serves the disk: /disk.qcow2 and /disk.raw; server.files maps paths to File-like answers."""
    files = {}
    for name in ("qcow2", "raw"):
        files[f"/disk.{name}"] = File(size=0, etag=f'"{name}"')
        files[f"/disk.{name}"].data = disk[name]
    files["/other.raw"] = File(size=4 << 20, seed=9, etag='"other"')

    def handle(request, reply):
        file = running.files.get(request.path)
        if file is None:
            reply.answer(404, {}, b"there is no such file")
            return
        running.pace(reply, *file.answer(request), request.method == "HEAD")

    with FaultServer(handle) as running:
        running.files = files
        running.slow_s = 0

        def pace(reply, status, headers, body, is_head):
            reply.head(status, headers)
            for at in range(0, 0 if is_head else len(body), 64 << 10):
                reply.send(body[at:at + (64 << 10)])
                if running.slow_s:
                    reply.stall(running.slow_s)

        running.pace = pace
        yield running


@pytest.fixture(scope="session")
def pushed(tmp_path_factory):
    made = golden_cron.Images(tmp_path_factory.mktemp("images"))
    yield made
    made.registry.close()


@pytest.fixture
def images(pushed):
    """A registry to push images to; the ConfigMap registry-ca has its certificate."""
    with open(pushed.registry.ca, encoding="ascii") as file:
        kubectl.apply({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "registry-ca", "namespace": "default"},
            "data": {"ca.pem": file.read()},
        })
    return pushed


def read_all(cluster, handle, size):
    with cluster.volume(handle, read_only=True) as image:
        return image.read(0, size)


@pytest.fixture
def bytes_of(cluster):
    """bytes_of(handle, size): what is in a volume."""
    return lambda handle, size: read_all(cluster, handle, size)


@pytest.fixture(scope="session")
def s3(cluster):
    """The object store: {endpoint, access_key, secret_key …} and a boto3 client with a bucket."""
    import boto3
    with open(os.path.join(cluster.dir, "s3.json"), encoding="ascii") as file:
        store = json.load(file)
    client = boto3.client("s3",
                          endpoint_url=store["plain"],
                          aws_access_key_id=store["access_key"],
                          aws_secret_access_key=store["secret_key"],
                          region_name="us-east-1")
    client.create_bucket(Bucket="vm-images")
    kubectl.apply({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "store", "namespace": "default"},
        "stringData": {
            "AWS_ACCESS_KEY_ID": store["access_key"],
            "AWS_SECRET_ACCESS_KEY": store["secret_key"]
        },
    })
    return {**store, "endpoint": store["plain"], "client": client}
