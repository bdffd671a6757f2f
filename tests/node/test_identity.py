# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself, and how kubelet comes to know it."""

import os
import subprocess

import pytest

import registration
from node import DRIVER, Node


def test_info(node, client):
    info = client.NodeGetInfo()
    assert info.node_id == "imprint:node-a"
    assert info.max_volumes_per_node == 0 and not info.HasField("accessible_topology")
    assert client.GetPluginInfo().name == DRIVER
    assert client.Probe().ready.value


def test_capabilities(client):
    served = {capability.rpc.type for capability in client.NodeGetCapabilities().capabilities}
    kind = client.NodeGetCapabilities().capabilities[0].rpc
    names = {kind.DESCRIPTOR.enum_types_by_name["Type"].values_by_number[n].name for n in served}
    assert names == {"STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "EXPAND_VOLUME",
                     "VOLUME_CONDITION", "SINGLE_NODE_MULTI_WRITER"}


def test_topology_and_limit(cluster, tmp_path):
    labels = tmp_path / "labels"
    labels.write_text('app="x"\ntopology.kubernetes.io/zone="z-1"\n'
                      'topology.kubernetes.io/region="r"\n')
    arguments = ["--topology", "example.com/rack=7", "--topology-file", str(labels),
                 "--max-volumes", "42"]
    with Node(cluster.dir, arguments=arguments) as node, node.client() as client:
        info = client.NodeGetInfo()
        assert info.max_volumes_per_node == 42
        assert dict(info.accessible_topology.segments) == {
            "example.com/rack": "7", "topology.kubernetes.io/zone": "z-1",
            "topology.kubernetes.io/region": "r"}


@pytest.mark.parametrize("arguments, said", [
    (["--topology", "no-equals"], "--topology: 'no-equals' is not KEY=VALUE"),
    (["--mapper", "magic"], "--mapper: auto, krbd, nbd or fuse, not 'magic'"),
    (["--max-volumes", "x"], "--max-volumes: a number"),
    (["stray"], "unexpected argument 'stray'"),
])
def test_bad_command_line(cluster, arguments, said):
    command = Node(cluster.dir, arguments=arguments).command
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           timeout=30, check=False)
    assert ended.returncode == 2 and said in ended.stderr


@pytest.mark.parametrize("arguments, said", [
    (["--kubelet-dir", "/nowhere/at/all"], "--kubelet-dir '/nowhere/at/all'"),
    (["--node-name", "a b"], "--node-name: 'a b' is not the name of a node"),
    (["--run-dir", "/run/" + "x" * 90], "--run-dir: an absolute path of at most"),
    (["--config", "/nowhere"], "/nowhere"),
])
def test_cannot_start(cluster, arguments, said):
    command = Node(cluster.dir, arguments=arguments).command
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           timeout=30, check=False)
    assert ended.returncode == 1 and said in ended.stderr


def test_registration(node):
    with registration.Client(node.registration_socket) as kubelet:
        info = kubelet.GetInfo()
        assert (info.type, info.name) == ("CSIPlugin", DRIVER)
        assert info.endpoint == node.socket and list(info.supported_versions) == ["1.0.0"]
        kubelet.NotifyRegistrationStatus(plugin_registered=True)
    assert "kubelet has registered" in node.log_text()
    node.restart()  # a killed one leaves its socket: the next one takes its place
    with registration.Client(node.registration_socket) as kubelet:
        assert kubelet.GetInfo().name == DRIVER


def test_refused_registration_ends_it(cluster):
    with Node(cluster.dir) as node:
        with registration.Client(node.registration_socket) as kubelet:
            kubelet.NotifyRegistrationStatus(plugin_registered=False, error="no such luck")
        assert node.wait(30) == 1
        assert "kubelet refuses" in node.log_text() and "no such luck" in node.log_text()


def test_registration_by_another(cluster):
    with Node(cluster.dir, arguments=["--registration-dir", ""]) as node:
        assert not os.path.exists(node.registration_socket)


def test_run_folder_is_closed_to_others(node):
    assert os.stat(node.run_dir).st_mode & 0o777 == 0o700
