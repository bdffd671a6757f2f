# SPDX-License-Identifier: Apache-2.0
"""Manifests as CDI's documentation has them, taken and honoured. The URLs are of this machine, the rest
is as people write it. What is not served is refused by its name: tests/lib/chart_refusals.py."""

import pytest

import golden
import kubectl
import oci_image
from registry import Foreign, Registry

SIZE = 3 << 20
HEAD = """---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataVolume
metadata:
"""

# a name, what is asked for, and what is to become of it
IMPORTS = """
  name: import-http
spec:
  source:
      http:
         url: "HTTP/disk.qcow2"
         secretRef: "" # Optional
         certConfigMap: "" # Optional
         checksum: ""
  serviceAccountName: somebody
  pvc:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: "64Mi"
|
  name: import-block
spec:
  source:
      http:
         url: "HTTP/disk.qcow2"
  storage:
    volumeMode: Block
    resources:
      requests:
        storage: "64Mi"
|
  name: import-priority
  annotations:
      sidecar.istio.io/inject: "false"
      cdi.kubevirt.io/storage.deleteAfterCompletion: "false"
spec:
  priorityClassName: kubevirt
  contentType: "kubevirt"
  preallocation: true
  source:
      http:
         url: "HTTP/disk.raw"
         extraHeaders:
         - "X-First-Header: 12345"
         - "X-Another-Header: abcde"
  storage:
    resources:
      requests:
        storage: 1Gi
|
  name: import-registry
spec:
  source:
      registry:
         url: "REGISTRY"
         pullMethod: node
         certConfigMap: registry-ca
         secretRef: ""
         platform:
           architecture: "amd64"
  pvc:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: 5Gi
|
  name: blank-with-pvc
spec:
  source:
    blank: {}
  pvc:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: 1Gi
|
  name: blank-with-storage
spec:
  source:
    blank: {}
  storage:
    resources:
      requests:
        storage: 1Gi
"""

CLONES = """
  name: clone-pvc
spec:
  source:
      pvc:
        name: import-http
        namespace: default
  pvc:
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: "128Mi"
|
  name: clone-storage
spec:
  source:
      pvc:
        name: import-http
        namespace: default
  storage: {}
|
  name: clone-nothing
spec:
  source:
      pvc:
        name: import-http
        namespace: default
  storage:
|
  name: clone-snapshot
spec:
  source:
    snapshot:
      namespace: default
      name: golden-volumesnapshot
  storage:
    storageClassName: rbd
    accessModes:
      - ReadWriteOnce
    resources:
      requests:
        storage: 90Mi
"""

CRON = """
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataImportCron
metadata:
  name: fedora-image-import-cron
spec:
  template:
    apiVersion: cdi.kubevirt.io/v1beta1
    kind: DataVolume
    metadata:
      creationTimestamp: null
    spec:
      source:
        registry:
          url: "REGISTRY:latest"
          pullMethod: node
          certConfigMap: registry-ca
      storage:
        resources:
          requests:
            storage: 5Gi
        storageClassName: rbd
  schedule: "30 1 * * 1"
  garbageCollect: Outdated
  importsToKeep: 2
  managedDataSource: fedora
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataImportCron
metadata:
  name: pvc-import-cron
spec:
  template:
    spec:
      source:
        pvc:
          name: import-http
          namespace: default
      storage: {}
  schedule: "30 1 * * 1"
  managedDataSource: copied
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cdi")
    with Registry(folder / "registry", "tls") as running:
        image = oci_image.Image(oci_image.tar(("disk/disk.img", oci_image.make_disk(7, SIZE))))
        layout = oci_image.layout(folder / "layout", image)
        Foreign(folder).copy(f"oci:{layout}:latest", running.url("kubevirt/demo:latest"))
        yield running


@pytest.fixture
def default_class(classes):
    mark = "storageclass.kubernetes.io/is-default-class"
    kubectl.run("annotate", "--overwrite", "storageclass", "rbd", f"{mark}=true")
    yield
    kubectl.run("annotate", "storageclass", "rbd", f"{mark}-")


def apply(manifests):
    """Names of what was applied."""
    parts = manifests.split("|")
    kubectl.run("apply", "-f", "-", stdin="".join(HEAD + part.strip("\n") + "\n" for part in parts))
    return [part.split("name: ")[1].split("\n")[0] for part in parts]


def test_what_is_documented_is_taken_as_it_is(default_class, registry, server, disk, bytes_of):
    with open(registry.ca, encoding="ascii") as file:
        kubectl.apply({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "registry-ca", "namespace": "default"},
            "data": {"ca.pem": file.read()},
        })
    url = registry.url("kubevirt/demo")
    names = apply(IMPORTS.replace("HTTP", server.url("")).replace("REGISTRY", url))
    kubectl.run("apply", "-f", "-", stdin=CRON.replace("REGISTRY", url))
    for name in names:
        golden.await_phase(name, "Succeeded", timeout_s=90)
    for name in ("import-http", "import-block", "import-priority"):
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"], name
    assert bytes_of(kubectl.await_bound("import-registry"), SIZE) == oci_image.make_disk(7, SIZE)
    assert kubectl.get("pvc", "import-priority")["metadata"]["annotations"]["sidecar.istio.io/inject"] \
        == "false"
    assert any(each.headers.get("x-another-header") == "abcde" for each in server.requests)
    # without a volumeMode they are Block, whichever way they were asked for: docs/golden-images.md
    assert {kubectl.get("pvc", name)["spec"]["volumeMode"] for name in names} == {"Block"}

    kubectl.apply(golden.snapshot("golden-volumesnapshot", "import-http"))
    clones = apply(CLONES)
    for name in clones:
        golden.await_phase(name, "Succeeded", timeout_s=90)
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"], name
    golden.await_reason("dataimportcron", "fedora-image-import-cron", "UpToDate", "UpToDate")
    golden.await_reason("dataimportcron", "pvc-import-cron", "UpToDate", "UpToDate")
    copied = kubectl.get("datasource", "copied")["spec"]["source"]["pvc"]["name"]
    assert bytes_of(kubectl.await_bound(copied), 64 << 20) == disk["raw"]


def test_a_claim_that_is_there_is_adopted_when_that_is_allowed(populator):
    kubectl.apply(kubectl.claim("dv1", "8Mi"), kubectl.claim("dv2", "8Mi"))
    kubectl.await_bound("dv1")
    kubectl.apply(golden.volume("dv1", {"blank": {}}, storage=golden.size("8Mi"), metadata={
        "annotations": {"cdi.kubevirt.io/allowClaimAdoption": "true"}
    }), golden.volume("dv2", {"blank": {}}, storage=golden.size("8Mi")))
    volume = golden.await_phase("dv1", "Succeeded")
    owner, = kubectl.get("pvc", "dv1")["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (volume["metadata"]["uid"], True)
    kubectl.until(lambda: "already" in golden.condition("datavolume", "dv2", "Ready")[2], "told")
    assert not kubectl.get("pvc", "dv2")["metadata"].get("ownerReferences")


def test_a_volume_of_a_name_is_for_blank_ones(server):
    """volumeName is never dropped in silence."""
    named = {"volumeName": "static", **golden.size("64Mi")}
    kubectl.apply(golden.volume("import", {"http": {"url": server.url("/disk.raw")}}, storage=named),
                  golden.volume("blank", {"blank": {}}, storage=named))
    golden.await_phase("import", "Failed")
    assert "volumeName" in golden.condition("datavolume", "import", "Ready")[2]
    kubectl.until(lambda: (kubectl.get("pvc", "blank") or {}).get("spec", {}).get("volumeName") == "static",
                  "the claim names it")
