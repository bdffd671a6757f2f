# SPDX-License-Identifier: Apache-2.0
"""The requirement's own manifests, as they are written there, and what their text says of them; and
what KubeVirt's own types make of ours."""

import json
import os
import subprocess

import pytest

import golden
import kubectl
import oci_image
from registry import Foreign, Registry

SIZE = 3 << 20
NAMESPACE = "golden-images"

GOLDEN_SOURCE = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataSource
metadata:
  name: fedora
spec:
  source:
    pvc:
      name: fedora
      namespace: golden-images
"""

BEFORE = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataVolume
metadata:
  name: fedora
spec:
  pvc:
    accessModes:
      - ReadWriteMany
    resources:
      requests:
        storage: 30Gi
  source:
    pvc:
      name: fedora
      namespace: golden-images
"""

AFTER = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataVolume
metadata:
  name: fedora-after
spec:
  pvc:
    accessModes:
      - ReadWriteMany
    resources:
      requests:
        storage: 30Gi
  sourceRef:
    kind: DataSource
    name: fedora
    namespace: golden-images
"""

VM_IMAGE = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataVolume
metadata:
   name: my-fedora-vm-image
spec:
  pvc:
    accessModes:
    - ReadWriteOnce
    resources:
      requests:
        storage: 2Gi
  sourceRef:
    kind: DataSource
    name: fedora
    namespace: golden-images 
"""

CRON = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataImportCron
metadata:
  name: fedora-image-import-cron
  namespace: golden-images
spec:
  source:
    registry:
      url: URL
      certConfigMap: registry-ca
  schedule: "0 */12 * * *"
  garbageCollectOutdated: true
  managedDataSource: fedora
status:
  lastImportedPVC: fedora-v33
  lastExecutionTimestamp: "01:01:01"
  lastImport: "01:01:01"
  conditions:
  - status: "False"
    message: "Unable to reach docker://quay.io/kubevirt/fedora"
    type: UpToDate
  - status: "False"
    message: "No import job in progress."
    type: Progressing
"""

MACHINE = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "vm", "namespace": "default"},
    "spec": {
        "template": {"spec": {"domain": {"devices": {}}}},
        "dataVolumeTemplates": [{
            "metadata": {"name": "root-disk", "namespace": "default"},
            "spec": {
                "sourceRef": {"kind": "DataSource", "name": "fedora", "namespace": NAMESPACE},
                "storage": {"resources": {"requests": {"storage": "64Mi"}}},
            },
        }, {
            "metadata": {"name": "data-disk", "namespace": "default"},
            "spec": {
                "source": {"blank": {}},
                "storage": {"resources": {"requests": {"storage": "16Mi"}}},
                "priorityClassName": "important",
            },
        }],
    },
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    with Registry(folder / "registry", "tls") as running:
        image = oci_image.Image(oci_image.tar(("disk/disk.img", oci_image.make_disk(34, SIZE))))
        layout = oci_image.layout(folder / "layout", image)
        Foreign(folder).copy(f"oci:{layout}:latest", running.url("kubevirt/fedora:v34"))
        yield running


@pytest.fixture
def place(registry, controller, classes):
    """The namespace of golden images, and a class that is the default."""
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    with open(registry.ca, encoding="ascii") as file:
        kubectl.apply({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "registry-ca", "namespace": NAMESPACE},
            "data": {"ca.crt": file.read()},
        })
    mark = "storageclass.kubernetes.io/is-default-class"
    kubectl.run("annotate", "--overwrite", "storageclass", "rbd", f"{mark}=true")
    yield NAMESPACE
    kubectl.run("annotate", "storageclass", "rbd", f"{mark}-")


def source_of(namespace):
    source = (kubectl.get("datasource", "fedora", namespace) or {}).get("spec", {}).get("source", {})
    return source.get("pvc", {}).get("name")


def decode(*objects):
    """What KubeVirt's types read: a line each."""
    done = subprocess.run([os.environ["KUBEVIRT_DECODE"]], input=json.dumps({"items": objects}),
                          capture_output=True, text=True, check=True)
    print(done.stderr)
    return done.stdout.splitlines()


def test_from_a_dangling_source_to_one_that_is_kept_fresh(place, registry, server, disk, bytes_of):
    # the user imports a disk of his own, and the dangling DataSource becomes linked
    kubectl.run("apply", "-n", place, "-f", "-", stdin=GOLDEN_SOURCE)
    golden.await_reason("datasource", "fedora", "Ready", "NotFound", place)
    kubectl.apply(golden.volume("fedora", {"http": {"url": server.url("/disk.qcow2")}}, place))
    assert golden.await_reason("datasource", "fedora", "Ready", "Ready", place)[0] == "True"

    # templates before and after DataSources were introduced
    kubectl.run("apply", "-f", "-", stdin=BEFORE + "---" + AFTER + "---" + VM_IMAGE)
    for name in ("fedora", "fedora-after", "my-fedora-vm-image"):
        golden.await_phase(name, "Succeeded")
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]

    # the admin opts in later: the cron adopts the DataSource
    kubectl.run("apply", "--validate=ignore", "-f", "-",
                stdin=CRON.replace("URL", registry.url("kubevirt/fedora")))
    kubectl.until(lambda: source_of(place) != "fedora", "re-pointed")
    golden.await_reason("dataimportcron", "fedora-image-import-cron", "UpToDate", "UpToDate", place)
    assert golden.condition("dataimportcron", "fedora-image-import-cron", "Progressing", place)[0] == \
        "False"
    assert bytes_of(kubectl.await_bound(source_of(place), place), SIZE) == oci_image.make_disk(34, SIZE)
    assert bytes_of(kubectl.await_bound("my-fedora-vm-image"), 64 << 20) == disk["raw"], "as it was"

    told = decode(kubectl.get("dataimportcron", "fedora-image-import-cron", place),
                  kubectl.get("datasource", "fedora", place), kubectl.get("datavolume", "fedora"))
    assert "DataImportCron fedora-image-import-cron UpToDate=True UpToDate" in told
    assert f"DataImportCron fedora-image-import-cron last {place}/{source_of(place)}" in told
    assert "DataSource fedora Ready=True Ready" in told
    assert "DataVolume fedora Succeeded 100.0%" in told
    assert "DataVolume fedora Bound=True Bound" in told


def test_templates_of_a_virtual_machine_as_kubevirt_makes_them(place, server, disk, bytes_of):
    """Through KubeVirt's own types: what they write is what we take."""
    kubectl.apply(golden.volume("fedora", {"http": {"url": server.url("/disk.qcow2")}}, place))
    kubectl.run("apply", "-n", place, "-f", "-", stdin=GOLDEN_SOURCE)
    for line in decode(MACHINE):
        kubectl.run("apply", "-f", "-", stdin=line)
    golden.await_phase("root-disk", "Succeeded", timeout_s=90)
    golden.await_phase("data-disk", "Succeeded")
    claim = kubectl.get("pvc", "root-disk")
    assert claim["spec"]["volumeMode"] == "Block"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"], "so that it can move"
    assert bytes_of(kubectl.await_bound("root-disk"), 64 << 20) == disk["raw"]
