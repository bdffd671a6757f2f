# SPDX-License-Identifier: Apache-2.0
"""The controller, the sidecars and the node plugin, beside a kubelet that runs pods. Behind each
test everything it made is deleted, and nothing may be left of it in Kubernetes, on the machine or
in Ceph."""

import os

import pytest

import kubectl
from controller import Controller
from daemon import Daemon
from kubelet_node import KubeletNode

DRIVER = "imprint.csi.hypercloud.tmaxanc.com"
KINDS = ("pods", "volumesnapshots", "pvc")
NAMESPACES = ("default", "other")


@pytest.fixture(scope="session")
def classes():
    parameters = {"clusterID": os.environ["CLUSTER_ID"], "pool": os.environ["POOL"]}
    storage_class = lambda name, fs_type: {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "parameters": {**parameters, "csi.storage.k8s.io/fstype": fs_type},
        "allowVolumeExpansion": True,
    }
    kubectl.apply(storage_class("rbd", "ext4"), storage_class("rbd-xfs", "xfs"), {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": "rbd"},
        "driver": DRIVER,
        "deletionPolicy": "Delete",
    }, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})


@pytest.fixture(scope="session")
def controller(cluster, tmp_path_factory):
    with Controller(cluster.dir, tmp_path_factory.mktemp("controller")) as running:
        yield running


@pytest.fixture(scope="session")
def sidecars(controller, classes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sidecars")
    ours = ["--kubeconfig", os.environ["IMPRINT_KUBECONFIG"], "--csi-address", controller.socket]
    commands = {
        "csi-provisioner": [*ours, "--extra-create-metadata"],
        "csi-snapshotter": ours,
        "csi-resizer": [*ours, "--handle-volume-inuse-error=false",
                        "--feature-gates=VolumeAttributesClass=false"],
        "snapshot-controller": ["--kubeconfig", os.environ["KUBECONFIG"]],
    }
    running = [Daemon(name, [name, *arguments], folder / f"{name}.log").start()
               for name, arguments in commands.items()]
    yield running
    for daemon in running:
        daemon.kill()


@pytest.fixture(scope="session")
def shared_node(cluster, sidecars):
    with KubeletNode(cluster.dir) as running:
        kubectl.until(lambda: kubectl.get("csinode", running.name)["spec"]["drivers"],
                      "the plugin is registered")
        yield running


def objects_left():
    return [f"{kind} {item['metadata']['name']}" for kind in KINDS for item in kubectl.get_all(kind)
            if item["metadata"]["namespace"] in NAMESPACES]


def leftovers(cluster, node):
    return {
        "node": node.leftovers(),
        "images": cluster.images(os.environ["POOL"]),
        "trash": cluster.trash(os.environ["POOL"]),
        "volumes": [item["metadata"]["name"] for item in kubectl.get_all("pv")],
        "contents": [item["metadata"]["name"] for item in kubectl.get_all("volumesnapshotcontents")],
    }


@pytest.fixture
def node(cluster, shared_node):
    yield shared_node
    if not shared_node.is_running():
        shared_node.kill()
        shared_node.start()
    for namespace in NAMESPACES:
        kubectl.run("delete", ",".join(KINDS), "--all", "-n", namespace, "--wait=false")
    kubectl.until(lambda: not objects_left(), f"nothing is left, or {objects_left()}")
    kubectl.until(lambda: not any(leftovers(cluster, shared_node).values()),
                  f"nothing is left, or {leftovers(cluster, shared_node)}", 90)


@pytest.fixture
def nothing_left(cluster, node):
    """nothing_left(): until nothing is left, while nobody but Kubernetes has deleted anything."""
    return lambda: kubectl.until(lambda: not any(leftovers(cluster, node).values()),
                                 f"nothing is left, or {leftovers(cluster, node)}", 90)
