# SPDX-License-Identifier: Apache-2.0
"""The kinds, as a real API server serves them: what is accepted, what is refused and how, and what
`kubectl get` shows."""

import glob
import os
import re

import pytest
import yaml

import chart_refusals as refusals
from kube import Failed, objects, stream

EXAMPLES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "examples", "*.yaml")))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: os.path.basename(path)[:-5])
def test_example_is_accepted_and_kept_as_written(installed, path):
    with open(path, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    # as a person would: nothing unknown, nothing of the wrong type
    kept = list(objects(installed("create", "--validate=strict", "-f", path, "-o", "json")))
    assert len(kept) == len(documents)
    for document, now in zip(documents, kept):
        spec = now["spec"]
        assert {**document["spec"], **{k: v for k, v in spec.items() if k == "format"}} == spec
    installed("delete", "-f", path, "--wait=false")


@pytest.fixture(scope="module")
def refused(installed):
    """All of them in one go: {(kind, name): message}."""
    return installed.refusals(
        [refusals.document(kind, name, spec) for kind, name, spec, _ in refusals.CASES])


@pytest.mark.parametrize(
    "kind, name, message", [(kind, name, message) for kind, name, _, message in refusals.CASES],
    ids=[f"{kind}-{name[:32]}" for kind, name, _, _ in refusals.CASES])
def test_refused_with_its_message(refused, kind, name, message):
    assert (kind, name) in refused, "it was accepted"
    assert message in " ".join(refused[kind, name].split())


def test_every_rule_has_a_case(rendered):
    """A message that no case provokes is a rule that nobody knows to work."""
    provoked = {" ".join(message.split()) for _, _, _, message in refusals.CASES}
    provoked |= {"an export cannot be changed; delete it and make another",
                 "a rollback cannot be changed; delete it and make another",
                 "spec.virtualMachineImage cannot be changed once the claim is made of it"}

    def rules(schema):
        for rule in schema.get("x-kubernetes-validations", []):
            yield rule["message"]
        for child in schema.get("properties", {}).values():
            yield from rules(child)

    for crd in (d for d in rendered if d["kind"] == "CustomResourceDefinition"):
        for version in crd["spec"]["versions"]:
            for message in rules(version["schema"]["openAPIV3Schema"]):
                assert any(message.startswith(text) for text in provoked), message


@pytest.mark.parametrize("document, change, message", [
    (refusals.document("VirtualMachineVolumeExport", "fixed",
                       {"pvcName": "a", "objectStore": refusals.STORE}),
     {"spec": {"pvcName": "b"}}, "an export cannot be changed"),
    (refusals.document("VirtualMachineVolumeRollback", "fixed",
                       {"pvcName": "a", "volumeSnapshotName": "s"}),
     {"spec": {"volumeSnapshotName": "t"}}, "a rollback cannot be changed"),
], ids=["export", "rollback"])
def test_what_happens_once_cannot_be_changed(installed, document, change, message):
    installed.apply(document)
    with pytest.raises(Failed, match=message):
        installed("patch", document["kind"], "fixed", "--type=merge", "-p", stream([change]))
    # labels can
    installed("label", document["kind"], "fixed", "seen=yes")


@pytest.mark.parametrize("before, after", [
    ({"virtualMachineImageName": "b"}, {"virtualMachineImageName": "c"}),
    ({"virtualMachineImage": {"name": "b"}}, {"virtualMachineImage": {"name": "b", "namespace": "far"}}),
    ({"virtualMachineImageName": "b"}, {"virtualMachineImageName": None, "virtualMachineImage": {"name": "b"}}),
], ids=["name", "namespace", "form"])
def test_a_volume_keeps_what_its_claim_is_made_of(installed, before, after):
    def patch(change, *more):
        return installed("patch", "vmv", "kept", "--type=merge", *more, "-p", stream([change]))

    installed.apply(refusals.document("VirtualMachineVolume", "kept", {"virtualMachineImageName": "wrong"}))
    patch({"spec": {"virtualMachineImageName": None, **before}})
    patch({"status": {"state": "Creating"}}, "--subresource=status")
    with pytest.raises(Failed, match="cannot be changed once"):
        patch({"spec": after})
    patch({"spec": {"capacity": {"storage": "2Gi"}}})
    installed("delete", "vmv", "kept")


def test_an_image_can_be_changed(installed):
    image = refusals.document("VirtualMachineImage", "moves", {"source": {"http": refusals.URL}})
    installed.apply(image)
    image["spec"]["source"]["http"] += ".2"
    assert "configured" in installed.apply(image)


READY = {"type": "ReadyToUse", "status": "True", "reason": "R", "message": "all is well",
         "lastTransitionTime": "2020-01-01T00:00:00Z", "observedGeneration": 1}
COMMON = {"state": "Creating", "progress": "42.1%", "conditions": [READY]}

# kind, short name, spec, status, columns, wide columns
SHOWN = [
    ("VirtualMachineImage", "vmim", {"source": {"http": refusals.URL}},
     {**COMMON, "size": "10Gi", "source": "https://images.test/…", "digest": "sha256:1"},
     {"STATE": "Creating", "PROGRESS": "42.1%", "SIZE": "10Gi", "SOURCE": "https://images.test/…"},
     {"DIGEST": "sha256:1", "MESSAGE": "all is well"}),
    ("VirtualMachineVolume", "vmv", {"virtualMachineImageName": "debian"},
     {**COMMON, "size": 4096, "source": "debian", "pvcName": "p"},
     {"STATE": "Creating", "PROGRESS": "42.1%", "SIZE": "4096", "SOURCE": "debian"},
     {"MESSAGE": "all is well"}),
    ("VirtualMachinePvc", "vmpvc", {"virtualMachineImageName": "debian"}, {**COMMON, "size": "1Gi"},
     {"STATE": "Creating", "PROGRESS": "42.1%", "SIZE": "1Gi"}, {"MESSAGE": "all is well"}),
    ("VirtualMachineVolumeExport", "vmve", {"pvcName": "a", "objectStore": refusals.STORE},
     {**COMMON, "size": "1Gi", "destination": "s3://b/o"},
     {"STATE": "Creating", "PROGRESS": "42.1%", "SIZE": "1Gi", "DESTINATION": "s3://b/o"},
     {"MESSAGE": "all is well"}),
    ("VirtualMachineVolumeRollback", "vmvr", {"pvcName": "a", "volumeSnapshotName": "s"}, COMMON,
     {"STATE": "Creating", "PROGRESS": "42.1%", "CLAIM": "a", "SNAPSHOT": "s"},
     {"MESSAGE": "all is well"}),
    ("HyperCloudStorage", "hcs", {},
     {"state": "OK", "conditions": [
         {**READY, "type": kind} for kind in
         ("StorageReady", "ControllerReady", "NodesReady", "PopulatorReady", "ClassesReady", "ReplicasMet",
          "ReadyToUse")]},
     {"STATE": "OK", "STORAGE": "True", "CONTROLLER": "True", "NODES": "True", "POPULATOR": "True",
      "CLASSES": "True", "REPLICAS": "True"},
     {"MESSAGE": "all is well"}),
    ("DataVolume", "dv", {"source": refusals.BLANK, "pvc": refusals.CLAIM},
     {"phase": "ImportInProgress", "progress": "42.10%", "restartCount": 1, "claimName": "a",
      "conditions": [{"type": "Running", "status": "True", "message": "all is well"}]},
     {"PHASE": "ImportInProgress", "PROGRESS": "42.10%", "RESTARTS": "1"},
     {"MESSAGE": "all is well"}),
    ("DataSource", "das", {"source": {"pvc": {"name": "a"}}},
     {"source": {"pvc": {"name": "a"}},
      "conditions": [{"type": "Ready", "status": "False", "reason": "NotFound", "message": "none"}]},
     {"READY": "False", "REASON": "NotFound"}, {"MESSAGE": "none"}),
    ("DataImportCron", "dic", {"managedDataSource": "fedora", "schedule": "1 2 * * *",
                               "source": {"registry": {"url": "docker://a/b"}}},
     {"lastExecutionTimestamp": "2020-01-01T00:00:00Z", "lastImportTimestamp": "2020-01-01T00:00:00Z",
      "lastImportedPVC": {"namespace": "a", "name": "b"}, "sourceFormat": "pvc",
      "currentImports": [{"DataVolumeName": "a", "Digest": "sha256:1"}],
      "conditions": [{"type": "UpToDate", "status": "False", "message": "none"}]},
     {"UPTODATE": "False", "SCHEDULE": "1 2 * * *", "DATASOURCE": "fedora"},
     {"FORMAT": "pvc", "MESSAGE": "none"}),
]


def row(text):
    """The only row of a table of kubectl, by the columns of its header."""
    header, line = text.rstrip("\n").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", header)] + [None]
    return {header[a:b].strip(): line[a:b].strip() for a, b in zip(starts, starts[1:])}


@pytest.mark.parametrize("kind, short, spec, status, columns, wide", SHOWN,
                         ids=[case[0] for case in SHOWN])
def test_status_is_kept_and_shown(installed, kind, short, spec, status, columns, wide):
    document = refusals.document(kind, "shown", spec)
    # a status that is set along with the spec is not taken …
    installed("create", "-f", "-", stdin=stream([{**document, "status": status}]))
    patch = stream([{"status": status}])
    # … but as a subresource
    installed("patch", short, "shown", "--subresource=status", "--type=merge", "-p", patch)
    assert installed.json("get", short, "shown")["status"] == status
    narrow = row(installed("get", short, "shown"))
    assert narrow["NAME"] == "shown" and narrow.pop("AGE")
    assert {name: narrow[name] for name in columns} == columns
    assert not set(wide) & set(narrow)
    assert {name: row(installed("get", short, "shown", "-o", "wide"))[name] for name in wide} == wide


def test_kinds_are_found_by_the_names_people_use(installed):
    names = installed("api-resources", "--no-headers", "-o", "name")
    for plural in ("virtualmachineimages", "virtualmachinevolumes", "virtualmachinepvcs",
                   "virtualmachinevolumeexports", "virtualmachinevolumerollbacks",
                   "hypercloudstorages"):
        assert f"{plural}.hypercloud.tmaxanc.com" in names
        installed("get", plural[:-1])
    # all of ours at once
    assert "virtualmachineimage.hypercloud.tmaxanc.com/" in installed("get", "imprint", "-o", "name")


def test_fields_explain_themselves(installed):
    told = installed("explain", "vmim.spec", "--recursive=false")
    for field in ("certConfigMap", "checksum", "retry", "secretRef", "source", "storageClassName"):
        assert re.search(rf"{field}\t<\S+>(?: -required-)?\n +\S", told), field


def test_every_field_has_a_description(rendered):
    """`kubectl explain` is the manual of who has no other at hand."""

    def without(schema, path=""):
        for name, child in schema.get("properties", {}).items():
            if (path, name) in (("", "apiVersion"), ("", "kind"), ("", "metadata")):
                continue  # Kubernetes describes them
            if not child.get("description"):
                yield f"{path}.{name}"
            yield from without(child, f"{path}.{name}")
            yield from without(child.get("items", {}), f"{path}.{name}[]")

    kinds = [d for d in rendered if d["kind"] == "CustomResourceDefinition"]
    assert len(kinds) > 9
    assert {d["spec"]["names"]["kind"]: list(without(version["schema"]["openAPIV3Schema"]))
            for d in kinds for version in d["spec"]["versions"]} == {
                d["spec"]["names"]["kind"]: [] for d in kinds}
