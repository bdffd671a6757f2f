# SPDX-License-Identifier: Apache-2.0
"""helm install, upgrade and uninstall against a real API server."""

import base64
import json
import re
import subprocess

import pytest
import yaml

import chart_refusals as refusals
from chart import CHART, NAMESPACE
from kube import Failed


@pytest.fixture
def second(kube, installed):
    """A namespace and a release of its own; what it installs goes with the test."""
    kube("create", "namespace", "second")
    yield "second"
    try:
        kube.helm("uninstall", "second", "-n", "second")
    except Failed:
        pass
    kube("delete", "namespace", "second")


def secret(kube, namespace, name):
    return kube.json("-n", namespace, "get", "secret", name)["data"]


def test_all_that_was_rendered_is_there(installed):
    manifest = installed.helm("get", "manifest", "imprint", "-n", NAMESPACE)
    documents = [d for d in yaml.safe_load_all(manifest) if d]
    assert len(documents) > 30
    installed("get", "-n", NAMESPACE, "-f", "-", stdin=manifest)
    # kinds that this cluster has are used
    assert ("VolumeSnapshotClass", "imprint") in {
        (d["kind"], d["metadata"]["name"]) for d in documents}


def test_notes_tell_what_is_missing(installed):
    notes = installed.helm("get", "notes", "imprint", "-n", NAMESPACE)
    assert "It knows no Ceph cluster yet" in notes
    assert "storageClassName: vms" in notes


def test_upgrade_keeps_the_certificate_and_changes_the_rest(installed):
    before = secret(installed, NAMESPACE, "imprint-upload-tls")
    installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values",
                   "--set", "clusters[0].clusterID=prod,clusters[0].monitors[0]=10.0.0.1:6789",
                   "--set", "clusters[0].key=AQ==,controller.replicas=3")
    assert secret(installed, NAMESPACE, "imprint-upload-tls") == before
    assert set(secret(installed, NAMESPACE, "imprint-clusters")) == {"clusters.json", "key.prod"}
    deployment = installed.json("-n", NAMESPACE, "get", "deployment", "imprint-controller")
    assert deployment["spec"]["replicas"] == 3


def names_of(certificate):
    done = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], check=True,
                          input=base64.b64decode(certificate), capture_output=True)
    return {name.strip() for name in re.findall(r"DNS:([^,\n]+)", done.stdout.decode())}


def test_other_hostnames_make_another_certificate(installed):
    """And nothing else does: whoever trusts it would have to be given the new one."""
    standard = {"imprint-upload", f"imprint-upload.{NAMESPACE}", f"imprint-upload.{NAMESPACE}.svc"}

    def upgrade(*hostnames):
        value = json.dumps(hostnames)
        installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values", "--set-json",
                       f"populator.upload.hostnames={value}")
        return secret(installed, NAMESPACE, "imprint-upload-tls")

    first = upgrade()
    assert names_of(first["tls.crt"]) == standard
    named = upgrade("up.test", "far.test")
    assert names_of(named["tls.crt"]) == standard | {"up.test", "far.test"}
    assert named["tls.key"] != first["tls.key"]
    assert upgrade("far.test", "up.test") == named
    # as an older chart left it, which did not write the names down
    annotation = "imprint.hypercloud.tmaxanc.com/hostnames"
    installed("-n", NAMESPACE, "annotate", "secret", "imprint-upload-tls", f"{annotation}-")
    again = upgrade("up.test")
    assert names_of(again["tls.crt"]) == standard | {"up.test"}
    last = upgrade()
    assert names_of(last["tls.crt"]) == standard
    installed("-n", NAMESPACE, "annotate", "secret", "imprint-upload-tls", f"{annotation}-")
    assert upgrade() == last


def test_definitions_of_others_are_left_alone(kube, installed, second):
    """With auto, CDI's own definitions are not touched; here the first release plays CDI."""
    # what would be installed; our own definitions are the first release's, and taken over in words
    told = kube.helm("install", "second", CHART, "-n", second, "--dry-run=server",
                     "--take-ownership", "-o", "json", "--set", "driverName=second.test")
    manifest = json.loads(told)["manifest"]
    found = {d["metadata"]["name"] for d in yaml.safe_load_all(manifest)
             if d and d["kind"] == "CustomResourceDefinition"}
    assert not {name for name in found if name.endswith("cdi.kubevirt.io")}
    assert "virtualmachineimages.hypercloud.tmaxanc.com" in found


PART_OF = "app.kubernetes.io/part-of"
DATA_VOLUMES = "datavolumes.cdi.kubevirt.io"


@pytest.mark.parametrize("cdi, of_imprint, of_cdi",
                         [("auto", True, False), ("true", True, True), ("false", False, False)])
def test_definitions_that_are_not_installed_are_served_if_they_are_ours(installed, cdi, of_imprint, of_cdi):
    """Otherwise the populator would do what CDI does too."""

    def is_served():
        told = installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values", "--dry-run=server",
                              "-o", "json", "--set", f"crds.install=false,crds.cdi={cdi}")
        documents = [d for d in yaml.safe_load_all(json.loads(told)["manifest"]) if d]
        pod = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]["spec"]
        arguments = next(c["args"] for c in pod["containers"] if c["name"] == "imprint-populator")
        has_policy = "ValidatingAdmissionPolicy" in {d["kind"] for d in documents}
        assert has_policy != ("--without-cdi" in arguments)
        return has_policy

    assert is_served() is of_imprint
    installed("label", "crd", DATA_VOLUMES, f"{PART_OF}-")
    try:
        assert is_served() is of_cdi
    finally:
        installed("label", "crd", DATA_VOLUMES, f"{PART_OF}=imprint")


def test_uninstall_leaves_what_people_own(kube, installed, second):
    """Definitions and the objects of people stay; a new release takes them over."""
    arguments = ("-n", second, "--set", "driverName=second.test,crds.install=false",
                 "--set", "snapshotClasses.enabled=false")
    kube.helm("install", "second", CHART, *arguments)
    kube.apply(refusals.document("VirtualMachineImage", "stays",
                                 {"source": {"http": refusals.URL}}), namespace=second)
    kube.helm("uninstall", "second", "-n", second)
    assert kube("-n", second, "get", "vmim", "-o", "name").strip().endswith("/stays")
    left = kube("-n", second, "get", "all,secrets,roles,rolebindings,networkpolicies,pdb", "-o",
                "name", "-l", "app.kubernetes.io/instance=second").split()
    assert [name for name in left if not name.startswith("pod/")] == []
    left = kube("get", "clusterroles,clusterrolebindings,csidrivers,storageclasses", "-o", "name",
                "-l", "app.kubernetes.io/instance=second")
    assert left == ""
