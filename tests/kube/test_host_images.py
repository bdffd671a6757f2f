# SPDX-License-Identifier: Apache-2.0
"""spec.source.hostPath: files of nodes, read by a populator that runs there with the rights of the
chart's DaemonSet. There are no kubelets: the nodes are objects, and their populators processes."""

import contextlib
import os
import subprocess

import pytest

import kubectl
from daemon import Daemon
from made_up_node import Node

VMIM = "virtualmachineimage"
NODE = "worker-1"
MB = 1 << 20
LARGE = 160 * MB


@pytest.fixture(scope="module")
def node():
    with Node(NODE) as made:
        yield made


@pytest.fixture(scope="module")
def images():
    return os.environ["HOST_IMAGES"]


@pytest.fixture(scope="module")
def files(images, disk):
    """What lies on the node."""
    for name in ("qcow2", "raw"):
        with open(os.path.join(images, f"disk.{name}"), "wb") as file:
            file.write(disk[name])
    os.makedirs(os.path.join(images, "old"), exist_ok=True)
    with open(os.path.join(images, "old", "disk.img"), "wb") as file:
        file.write(disk["qcow2"])
    os.symlink("/etc/passwd", os.path.join(images, "link"))
    os.symlink(".", os.path.join(images, "here"))
    os.mkfifo(os.path.join(images, "pipe"))
    yield images
    for name in os.listdir(images):
        subprocess.run(["rm", "-r", os.path.join(images, name)], check=True)


@pytest.fixture(scope="module")
def shared_node(populator_on, node, files, shared_populator):
    with populator_on(NODE) as running:
        yield running


@pytest.fixture
def node_populator(shared_node):
    yield shared_node
    if shared_node.process is None:
        shared_node.start()


def from_node(name, path, node_name=NODE, **spec):
    return kubectl.image(name, {"hostPath": {"path": path, "nodeName": node_name}}, **spec)


def test_a_file_of_a_node_becomes_an_image(node_populator, files, disk, bytes_of):
    kubectl.apply(from_node("image", f"{files}/disk.qcow2"))
    image = kubectl.await_state(VMIM, "image", "Available")
    assert image["status"]["format"] == "qcow2"
    assert image["status"]["source"] == f"{NODE}:{files}/disk.qcow2"
    assert "hostTransfer" not in image["status"]
    assert bytes_of(kubectl.await_bound("image-image-pvc"), 64 * MB) == disk["raw"]


def test_the_operators_form_names_a_folder(node_populator, files, disk, bytes_of):
    """As its example has it: the folder has a disk.img, and the claim is spelled out."""
    kubectl.apply({
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineImage",
        "metadata": {"name": "localvmim"},
        "spec": {
            "source": {"hostPath": {"path": f"{files}/old", "nodeName": NODE}},
            "snapshotClassName": "rbd",
            "pvc": {
                "volumeMode": "Block",
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "96Mi"}},
                "storageClassName": "rbd",
            },
        },
    })
    image = kubectl.await_state(VMIM, "localvmim", "Available")
    assert image["status"]["size"] == "96Mi"
    assert bytes_of(kubectl.await_bound("localvmim-image-pvc"), 64 * MB) == disk["raw"]


def test_nothing_but_files_below_the_folder_is_read(node_populator, files):
    """By a user who may make images, and tries."""
    kubectl.apply(from_node("outside", "/etc/passwd"), from_node("beside", f"{files}2/disk.raw"),
                  from_node("dots", f"{files}/../../../../../../etc/passwd"),
                  from_node("linked", f"{files}/link"),
                  from_node("through", f"{files}/here/disk.raw"),
                  from_node("piped", f"{files}/pipe"), from_node("missing", f"{files}/nothing"),
                  from_node("folder", files),
                  from_node("wrong", f"{files}/disk.raw", checksum="sha256:" + "0" * 64))
    kubectl.await_error("outside", "spec.source.hostPath.path", "/etc/passwd", files)
    kubectl.await_error("beside", "spec.source.hostPath.path", files)
    kubectl.await_error("dots", "leads out of", files)
    kubectl.await_error("linked", "symbolic link")
    kubectl.await_error("through", "symbolic link")
    kubectl.await_error("piped", "not a regular file")
    kubectl.await_error("missing", f"there is no file '{files}/nothing'")
    kubectl.await_error("folder", "disk.img")
    kubectl.await_error("wrong", "sha256")


def test_a_node_that_is_not_there(node_populator, files, disk, bytes_of):
    """Is an error; and when the spec is put right, it begins anew."""
    kubectl.apply(from_node("image", f"{files}/disk.raw", "no-such-node"))
    kubectl.await_error("image", "spec.source.hostPath.nodeName", "no-such-node")
    kubectl.apply(from_node("image", f"{files}/disk.raw"))
    kubectl.await_state(VMIM, "image", "Available")
    assert bytes_of(kubectl.await_bound("image-image-pvc"), 64 * MB) == disk["raw"]


def test_a_node_where_nothing_runs_is_waited_for(node, node_populator, files, disk, bytes_of):
    node_populator.kill()
    kubectl.apply(from_node("image", f"{files}/disk.raw"))
    kubectl.until(lambda: f"waits for node '{NODE}'" in kubectl.message(VMIM, "image"), "it waits")
    node.set_ready(False)
    kubectl.until(lambda: "not ready" in kubectl.message(VMIM, "image"), "told that it is not ready")
    assert kubectl.state(VMIM, "image") == "Creating"
    node.set_ready(True)
    node_populator.start()
    kubectl.await_state(VMIM, "image", "Available")
    assert bytes_of(kubectl.await_bound("image-image-pvc"), 64 * MB) == disk["raw"]


def test_an_installation_without_it_says_so(controller, cluster, files, populator, tmp_path):
    """The populators beside the controller know whether nodes read files at all."""
    without = [word for word in populator.command]
    at = without.index("--host-images")
    del without[at:at + 2]
    populator.kill()
    with Daemon("populator-without", without, tmp_path / "populator.log"):
        kubectl.apply(from_node("image", f"{files}/disk.raw"))
        kubectl.await_error("image", "spec.source.hostPath", "hostPathImages.enabled")


@pytest.fixture
def large(files):
    """A raw file of noise on the node."""
    path = os.path.join(files, "large.raw")
    with open(path, "wb") as file:
        file.write(os.urandom(LARGE))
    yield path
    os.unlink(path)


@pytest.fixture
def slow(cluster):
    """Ceph lets so little in that an import of the file takes 20 s, until slow.close()."""
    setting = os.environ["POOL"], "rbd_qos_write_bps_limit"
    cluster.rbd("config", "pool", "set", *setting, LARGE // 20)
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.rbd, "config", "pool", "remove", *setting)
        yield stack


def is_under_way(name):
    image = kubectl.get(VMIM, name) or {}
    transfer = image.get("status", {}).get("hostTransfer", {})
    return "/import/" in transfer.get("step", "") and transfer.get("percent", 0) > 1


def test_killed_amid_an_import_it_goes_on(node_populator, large, slow, cluster):
    kubectl.apply(from_node("image", large))
    kubectl.until(lambda: is_under_way("image"), "the import runs")
    node_populator.kill()
    assert kubectl.state(VMIM, "image") == "Creating"
    slow.close()
    node_populator.start()
    kubectl.await_state(VMIM, "image", "Available", timeout_s=90)
    with cluster.volume(kubectl.await_bound("image-image-pvc"), read_only=True) as image, \
            open(large, "rb") as file:
        assert image.read(0, LARGE) == file.read()


def test_deleted_amid_an_import_it_stops(node_populator, large, slow, cluster):
    kubectl.apply(from_node("image", large))
    kubectl.until(lambda: is_under_way("image"), "the import runs")
    kubectl.delete(VMIM, "image")
    kubectl.until(lambda: not cluster.images("imprint"), "the space is free", 30)
