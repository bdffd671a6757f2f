# SPDX-License-Identifier: Apache-2.0
"""HyperCloudStorage: how all of it fares. The workloads are the chart's own, scheduled to a node
that has no kubelet; what one would say of the pods is said by the tests."""

import json
import time

import pytest

import kubectl
from made_up_node import Node, now, patch_status

HCS = "hypercloudstorage"
NODE = "storage-node"
NAMESPACE = "imprint-system"
PARTS = ("StorageReady", "ControllerReady", "NodesReady", "PopulatorReady", "ClassesReady")


@pytest.fixture(scope="module")
def node(shared_populator):
    """With room for the chart's pods."""
    with Node(NODE, has_room=True) as made:
        yield made
    kubectl.run("delete", "csinode", NODE, "--ignore-not-found")


def pods():
    return json.loads(kubectl.run("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]


def say_ready(is_ready=True):
    """What kubelet would say of each pod that is scheduled."""
    for pod in pods():
        if pod["spec"].get("nodeName") != NODE or pod["metadata"].get("deletionTimestamp"):
            continue
        patch_status("pod", pod["metadata"]["name"], {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(is_ready), "lastTransitionTime": now()}],
        }, NAMESPACE)


def register(driver=kubectl.DRIVER):
    kubectl.apply({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": NODE},
        "spec": {"drivers": [{"name": driver, "nodeID": NODE}]},
    })


def storage(**spec):
    return {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "HyperCloudStorage",
        "metadata": {"name": "hcs"},
        "spec": spec,
    }


def conditions():
    found = (kubectl.get(HCS, "hcs") or {}).get("status", {}).get("conditions", [])
    return {item["type"]: item for item in found}


def await_state(wanted, timeout_s=60):
    def reached():
        say_ready()
        return kubectl.state(HCS, "hcs") == wanted

    kubectl.until(reached, f"{wanted}: {conditions()}", timeout_s)
    return conditions()


@pytest.fixture
def whole(node):
    """All is there, and the object says so."""
    register()
    kubectl.apply(storage(storage={"replicas": 1, "nodes": {"hostname": NODE, "devices": []}}))
    return await_state("OK")


def test_a_deployment_under_way_and_its_end(node):
    kubectl.run("delete", "csinode", NODE, "--ignore-not-found")
    register()
    kubectl.apply(storage())
    kubectl.until(lambda: kubectl.state(HCS, "hcs") in ("Deploying", "ERROR"), "it says something")
    found = await_state("OK")
    assert set(found) == {"ReadyToUse", *PARTS}
    assert all(found[part]["status"] == "True" for part in PARTS)
    assert "1 of 1 OSDs up" in found["StorageReady"]["message"]
    assert "2 of 2 pods" in found["ControllerReady"]["message"]
    table = kubectl.run("get", "hypercloudstorage")
    assert "OK" in table and "STORAGE" in table
    before = kubectl.get(HCS, "hcs")["metadata"]["resourceVersion"]
    time.sleep(20)  # Ceph has been asked again
    assert kubectl.get(HCS, "hcs")["metadata"]["resourceVersion"] == before, "written in vain"


def test_a_daemon_that_goes_is_an_error_with_its_cause(whole, cluster):
    cluster.osd_stop()
    try:
        found = await_state("ERROR")
        assert found["StorageReady"]["status"] == "False"
        assert "0 of 1 OSDs up" in found["StorageReady"]["message"], found
        assert "OSD_DOWN" in found["ReadyToUse"]["message"], found
        assert found["ControllerReady"]["status"] == "True"
        since = found["StorageReady"]["lastTransitionTime"]
        assert since > whole["StorageReady"]["lastTransitionTime"]
        kubectl.until(lambda: any("OSD" in event for event in kubectl.events("hcs")), "an event")
    finally:
        cluster.osd_start()
    assert await_state("OK")["StorageReady"]["status"] == "True"
    cluster.mon_pause()
    try:
        found = await_state("ERROR", 90)
        assert found["StorageReady"]["reason"] in ("UNREACHABLE", "CannotBeAsked"), found
    finally:
        cluster.mon_resume()
    await_state("OK", 90)


def test_nodes_and_copies_that_the_spec_asks_for(whole):
    kubectl.apply(storage(storage={"replicas": 3, "nodes": [{"hostname": NODE}]}))
    found = await_state("ERROR")
    assert found["ReplicasMet"]["status"] == "False"
    assert "1 of the 3 copies" in found["ReplicasMet"]["message"]
    kubectl.apply(storage(storage={"nodes": [{"hostname": NODE}, {"hostname": "elsewhere"}]}))
    kubectl.until(lambda: "elsewhere" in conditions()["NodesReady"]["message"], "it is told")
    assert kubectl.state(HCS, "hcs") == "ERROR"
    register("another.driver")
    kubectl.apply(storage(storage={"nodes": [{"hostname": NODE}]}))
    kubectl.until(lambda: "does not have the driver" in conditions()["NodesReady"]["message"], "told")
    # the example of the requirements, word for word but for the node: what is not done is said
    register()
    kubectl.apply(storage(storage={"replicas": 1, "nodes": {"hostname": NODE, "devices": ["/dev/sda"]}},
                          cdi={"anything": "goes"}))
    kubectl.until(lambda: "DevicesManaged" in conditions(), "it is told")
    found = await_state("OK")
    assert found["DevicesManaged"]["status"] == "False"
    assert "Rook" in found["DevicesManaged"]["message"]
    assert "cephadm" in found["DevicesManaged"]["message"]
