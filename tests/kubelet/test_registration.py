# SPDX-License-Identifier: Apache-2.0
"""How kubelet comes to know the plugin, in other ways than the usual one: through a sidecar, and with
the place that the node's labels tell. Another driver's name lets such a plugin run beside the one
that the other tests use."""

import os
import re

import pytest

import kubectl
import pods
import volumes
from kubelet_node import KubeletNode
from registration import sidecar
from volumes import CODES, MIB, refused

OTHER = "other.imprint.test"
LABELS = {"topology.kubernetes.io/region": "r-1", "topology.kubernetes.io/zone": "z-1",
          "example.com/rack": "7", "example.com/secret": "x"}


def drivers(node):
    """What kubelet has told the API server of the node's drivers."""
    listed = kubectl.get("csinode", node.name)["spec"]["drivers"] or []
    return {driver["name"]: driver for driver in listed}


@pytest.fixture
def a_volume(controller):
    """A PersistentVolume of the other driver, with its claim."""
    with controller.client() as client:
        made = volumes.create(client, "registrar", 64 * MIB)
        claim = kubectl.claim("registrar", "64Mi", volumeMode="Filesystem")
        claim["spec"].update(storageClassName="", volumeName="registrar")
        kubectl.apply({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": OTHER},
            "spec": {"attachRequired": False},
        }, {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "registrar"},
            "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "64Mi"},
                     "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
                     "csi": {"driver": OTHER, "volumeHandle": made.volume_id, "fsType": "ext4"}},
        }, claim)
        yield "registrar"
        kubectl.delete("pvc", "registrar")
        kubectl.delete("pv", "registrar")
        kubectl.delete("csidriver", OTHER)
        volumes.patiently(lambda: client.DeleteVolume(volume_id=made.volume_id),
                          passing=volumes.PASSING | {CODES.FAILED_PRECONDITION})


def test_registered_by_a_sidecar(node, cluster, a_volume):
    """Pods have volumes of a plugin that does not register itself; without the sidecar it is gone."""
    arguments = ["--driver-name", OTHER, "--registration-dir", ""]
    with KubeletNode(cluster.dir, arguments) as other:
        assert not os.path.exists(os.path.join(other.registry, f"{OTHER}-reg.sock"))
        with other.client() as client, sidecar(client, other.socket, other.registry) as registrar:
            kubectl.until(lambda: OTHER in drivers(other), "it is registered")
            assert registrar.registered()
            assert drivers(other)[OTHER]["nodeID"] == f"imprint:{other.name}"
            pods.start(pods.pod("uses", pods.claimed(a_volume)))
            pods.sh("uses", "echo works >/data/file")
            other.restart()  # the registrar stays, and kubelet's next call reaches the new one
            assert pods.sh("uses", "cat /data/file") == "works\n"
            pods.delete("uses")
            kubectl.until(lambda: other.leftovers() == [], "unstaged")
        kubectl.until(lambda: OTHER not in drivers(other), "it is gone with its socket")


@pytest.fixture
def labelled(node):
    words = [f"{key}={value}" for key, value in LABELS.items()]
    kubectl.run("label", "node", node.name, "--overwrite", *words)
    yield node.name
    kubectl.run("label", "node", node.name, *(f"{key}-" for key in LABELS))


def test_where_a_node_is_by_its_labels(node, cluster, labelled):
    """With the rights that the chart gives, and no more: asked of the API server."""
    arguments = ["--driver-name", OTHER, "--topology-from-node", "--topology-label",
                 "example.com/rack"]
    environment = {"KUBECONFIG": os.environ["IMPRINT_NODE_KUBECONFIG"]}
    told = {key: LABELS[key] for key in LABELS if key != "example.com/secret"}
    with KubeletNode(cluster.dir, arguments, environment) as other, other.client() as client:
        kubectl.until(lambda: OTHER in drivers(other), "it is registered")
        assert set(drivers(other)[OTHER]["topologyKeys"]) == set(told)
        assert dict(client.NodeGetInfo().accessible_topology.segments) == told
        kubectl.run("label", "node", labelled, "--overwrite", "topology.kubernetes.io/zone=z-2")
        told["topology.kubernetes.io/zone"] = "z-2"  # as it is now
        assert dict(client.NodeGetInfo().accessible_topology.segments) == told
    by_flag = {"topology.kubernetes.io/zone": "by-flag", "example.com/row": "9"}
    arguments += ["--registration-dir", "",
                  *(f"--topology={key}={value}" for key, value in by_flag.items())]
    with KubeletNode(cluster.dir, arguments, environment) as other, other.client() as client:
        assert dict(client.NodeGetInfo().accessible_topology.segments) == {**told, **by_flag}


def test_an_api_server_that_is_away(node, cluster, labelled):
    """Where the node is cannot be told, and nothing else waits for it."""
    arguments = ["--driver-name", OTHER, "--registration-dir", "", "--topology-from-node"]
    nowhere = os.path.join(node.workdir, "nowhere.kubeconfig")
    with open(os.environ["IMPRINT_NODE_KUBECONFIG"], encoding="utf-8") as file:
        text = re.sub(r"https://[^\s\"]+", "https://127.0.0.1:1", file.read())
    with open(nowhere, "w", encoding="utf-8") as file:
        file.write(text)
    with KubeletNode(cluster.dir, arguments, {"KUBECONFIG": nowhere}) as other:
        with other.client() as client:
            with refused(CODES.UNAVAILABLE, f"labels of node '{other.name}'"):
                client.NodeGetInfo()
            assert client.Probe().ready.value and client.NodeGetCapabilities().capabilities
