# SPDX-License-Identifier: Apache-2.0
"""KubeVirt's own virt-controller, on DataVolumes that we serve: from a VirtualMachine to the pod that
would run it. The rest of KubeVirt (its webhooks, its agent on nodes) is not there, so what the
webhooks would fill in stands in the manifests, and the pod waits for a node."""

import json
import os
import subprocess

import pytest

import golden
import kubectl
from certificates import Authority
from daemon import Daemon
from nginx import free_ports

GOLDEN = "golden-images"

# As CDI's documentation has it, with its machine running.
FROM_HTTP = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  creationTimestamp: null
  labels:
    kubevirt.io/vm: vm-fedora-datavolume
  name: vm-fedora-datavolume
spec:
  dataVolumeTemplates:
  - metadata:
      creationTimestamp: null
      name: fedora-dv
    spec:
      pvc:
        accessModes:
        - ReadWriteOnce
        resources:
          requests:
            storage: 100M
        storageClassName: rbd
      source:
        http:
          url: URL
  runStrategy: Always
  template:
    metadata:
      labels:
        kubevirt.io/vm: vm-datavolume
    spec:
      architecture: amd64
      domain:
        devices:
          autoattachPodInterface: false
          disks:
          - disk:
              bus: virtio
            name: datavolumevolume
        machine:
          type: q35
        resources:
          requests:
            memory: 64M
      terminationGracePeriodSeconds: 0
      volumes:
      - dataVolume:
          name: fedora-dv
        name: datavolumevolume
"""

# As templates have it since there are DataSources.
FROM_SOURCE = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: from-golden
spec:
  dataVolumeTemplates:
  - metadata:
      name: root-disk
    spec:
      sourceRef:
        kind: DataSource
        name: fedora
        namespace: golden-images
      storage:
        resources:
          requests:
            storage: 128Mi
        storageClassName: CLASS
  runStrategy: Always
  template:
    spec:
      architecture: amd64
      domain:
        devices:
          autoattachPodInterface: false
          disks:
          - disk:
              bus: virtio
            name: root
        machine:
          type: q35
        resources:
          requests:
            memory: 64M
      volumes:
      - dataVolume:
          name: root-disk
        name: root
"""


@pytest.fixture(scope="module")
def kubevirt(shared_populator, tmp_path_factory):
    """virt-controller, with what its operator would have installed."""
    folder = tmp_path_factory.mktemp("kubevirt")
    kinds = subprocess.run([os.environ["KUBEVIRT_CRDS"]], check=True, capture_output=True, text=True)
    kubectl.run("create", "-f", "-", stdin=kinds.stdout)
    names = [item["metadata"]["name"] for item in json.loads(kinds.stdout)["items"]]
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}" for name in names))
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    kubectl.apply({
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {},
    })
    # a folder of their own: it is watched, and a log in it would never come to rest
    certificate, key = Authority(tmp_path_factory.mktemp("certificates")).issue("server", "IP:127.0.0.1")
    command = [
        os.environ["VIRT_CONTROLLER"], "--kubeconfig", os.environ["KUBECONFIG"], "--listen", "127.0.0.1",
        "--port", *free_ports(1), "--prom-cert-file", certificate, "--prom-key-file", key,
        "--launcher-image", "virt-launcher:test"
    ]
    with Daemon("virt-controller", command, folder / "virt-controller.log") as running:
        yield running
        kubectl.run("delete", "virtualmachines,virtualmachineinstances", "--all", "-A", "--wait=false")
    kubectl.run("delete", "crd", *names, "--wait=false")


@pytest.fixture
def machines(kubevirt):
    """Behind a test they go; their pods by force, for there is no kubelet to end them."""
    yield
    kubectl.run("delete", "virtualmachines", "--all", "--wait=false")

    def gone():
        kubectl.run("delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        return not kubectl.get_all("virtualmachines") and not kubectl.get_all("virtualmachineinstances")

    kubectl.until(gone, "no machines left")


@pytest.fixture
def golden_source(server, machines):
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GOLDEN}})
    kubectl.apply(golden.volume("fedora", {"http": {"url": server.url("/disk.qcow2")}}, GOLDEN),
                  golden.data_source("fedora", {"pvc": {"namespace": GOLDEN, "name": "fedora"}}, GOLDEN))
    golden.await_phase("fedora", "Succeeded", GOLDEN)
    yield "fedora"
    kubectl.delete("rolebinding", "clone", namespace=GOLDEN)
    kubectl.delete("role", "clone", namespace=GOLDEN)


def launcher_of(machine, kubevirt):
    """The pod that would run it, and its disk as a device."""

    def found():
        for pod in kubectl.get_all("pods"):
            owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
            if (owner.get("kind"), owner.get("name")) == ("VirtualMachineInstance", machine):
                return pod
        return None

    try:
        return kubectl.until(found, f"virt-launcher of {machine}", 90)
    except AssertionError:
        print(json.dumps(kubectl.get("virtualmachine", machine).get("status")), kubectl.events(machine))
        print(kubevirt.log_text()[-5000:])
        raise


def devices_of(pod):
    claims = {volume["name"]: volume["persistentVolumeClaim"]["claimName"]
              for volume in pod["spec"]["volumes"] if "persistentVolumeClaim" in volume}
    return [claims[device["name"]] for container in pod["spec"]["containers"]
            for device in container.get("volumeDevices", [])]


def test_a_machine_with_a_disk_from_a_server(kubevirt, machines, server, disk, bytes_of):
    kubectl.run("apply", "-f", "-", stdin=FROM_HTTP.replace("URL", server.url("/disk.qcow2")))
    pod = launcher_of("vm-fedora-datavolume", kubevirt)
    assert golden.phase("fedora-dv") == "Succeeded", "not before its disk is complete"
    owner, = kubectl.get("datavolume", "fedora-dv")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("VirtualMachine", "vm-fedora-datavolume")
    assert devices_of(pod) == ["fedora-dv"]
    assert bytes_of(kubectl.await_bound("fedora-dv"), 64 << 20) == disk["raw"]


def allow_to_clone():
    kubectl.run("create", "role", "clone", "-n", GOLDEN, "--verb=create",
                "--resource=datavolumes.cdi.kubevirt.io/source")
    kubectl.run("create", "rolebinding", "clone", "-n", GOLDEN, "--role=clone",
                "--serviceaccount=default:default")


def test_a_class_that_waits_for_a_pod_gets_one(kubevirt, golden_source):
    """virt-controller goes on at PendingPopulation."""
    allow_to_clone()
    kubectl.run("apply", "-f", "-", stdin=FROM_SOURCE.replace("CLASS", "rbd-late"))
    launcher_of("from-golden", kubevirt)
    assert golden.phase("root-disk") == "PendingPopulation"
    assert kubectl.get("pvc", "root-disk")["status"]["phase"] == "Pending"


def test_a_machine_of_a_golden_image(kubevirt, golden_source, disk, bytes_of):
    """virt-controller asks whether the machine's service account may use the source."""
    kubectl.run("apply", "-f", "-", stdin=FROM_SOURCE.replace("CLASS", "rbd"))
    kubectl.until(lambda: any("Unauthorized" in event for event in kubectl.events("from-golden")), "refused")
    assert kubectl.get("datavolume", "root-disk") is None
    allow_to_clone()
    pod = launcher_of("from-golden", kubevirt)
    assert devices_of(pod) == ["root-disk"]
    assert golden.phase("root-disk") == "Succeeded"
    assert kubectl.get("pvc", "root-disk")["spec"]["accessModes"] == ["ReadWriteMany"]
    assert bytes_of(kubectl.await_bound("root-disk"), 64 << 20) == disk["raw"]
