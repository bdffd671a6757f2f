# SPDX-License-Identifier: Apache-2.0
"""DataVolumes: every source, what their status says, and who may clone what."""

import base64
import hashlib
import json

import pytest

import golden
import kubectl

BY_GRANT = "imprint.hypercloud.tmaxanc.com/by-reference-grant"
FROM = "imprint.hypercloud.tmaxanc.com/cloned-from"


@pytest.fixture
def node():
    """Of a node that there is not, the provisioner takes the choice back."""
    kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "somewhere"}})
    yield "somewhere"
    kubectl.delete("node", "somewhere")


@pytest.fixture
def base(server):
    kubectl.apply(golden.volume("base", {"http": {"url": server.url("/disk.qcow2")}}))
    golden.await_phase("base", "Succeeded")
    return "base"


def statuses(name, namespace="default"):
    return {
        each["type"]: each["status"]
        for each in kubectl.get("datavolume", name, namespace)["status"]["conditions"]
    }


def test_http_with_defaults_of_storage(server, disk, bytes_of):
    """Block and ReadWriteMany, so that machines can move; as large as the image."""
    digest = hashlib.sha256(disk["qcow2"]).hexdigest()
    kubectl.apply(
        golden.volume("plain", {"http": {"url": server.url("/disk.qcow2"),
                                         "checksum": f"sha256:{digest}"}},
                      metadata={"labels": {"team": "blue"}}))
    volume = golden.await_phase("plain", "Succeeded")
    assert volume["status"]["progress"] == "100.0%"
    assert volume["status"]["claimName"] == "plain"
    assert statuses("plain") == {"Ready": "True", "Bound": "True", "Running": "False"}
    claim = kubectl.get("pvc", "plain")
    assert claim["spec"]["volumeMode"] == "Block"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "64Mi"
    assert claim["metadata"]["labels"]["team"] == "blue"
    owner = claim["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("DataVolume", "plain", True)
    assert bytes_of(kubectl.await_bound("plain"), 64 << 20) == disk["raw"]
    kubectl.delete("datavolume", "plain")
    kubectl.until(lambda: kubectl.get("pvc", "plain") is None, "the claim goes with it")


def test_http_with_headers_and_secrets(server, disk, bytes_of):
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "login", "namespace": "default"},
            "stringData": {"accessKeyId": "me", "secretKey": "wonder land"},
        }, {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "pass", "namespace": "default"},
            "stringData": {"any": "X-Pass: hidden\n"},
        },
        golden.volume("asked", {"http": {
            "url": server.url("/disk.raw"),
            "secretRef": "login",
            "extraHeaders": ["X-Open: shown"],
            "secretExtraHeaders": ["pass"],
        }}))
    golden.await_phase("asked", "Succeeded")
    seen = server.requests[-1].headers
    assert seen["x-open"] == "shown" and seen["x-pass"] == "hidden"
    login = base64.b64encode(b"me:wonder land").decode()
    assert any(each.headers.get("authorization") == f"Basic {login}" for each in server.requests)
    assert bytes_of(kubectl.await_bound("asked"), 64 << 20) == disk["raw"]


def test_s3_by_both_kinds_of_url(s3, disk, bytes_of):
    s3["client"].put_object(Bucket="vm-images", Key="dir/disk.qcow2", Body=disk["qcow2"])
    kubectl.apply({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "default"},
        "stringData": {"accessKeyId": s3["access_key"], "secretKey": s3["secret_key"]},
    }, golden.volume("stored", {"s3": {"url": f"{s3['endpoint']}/vm-images/dir/disk.qcow2",
                                       "secretRef": "keys"}}))
    golden.await_phase("stored", "Succeeded")
    assert bytes_of(kubectl.await_bound("stored"), 64 << 20) == disk["raw"]


def test_blank_and_a_claim_as_it_is(cluster):
    kubectl.apply(
        golden.volume("empty", {"blank": {}}, storage=golden.size("8Mi"), priorityClassName="high",
                      contentType="kubevirt", preallocation=False),
        golden.item("DataVolume", "old", {
            "source": {"blank": {}},
            "pvc": {
                "storageClassName": "rbd",
                "accessModes": ["ReadWriteOnce"],
                "volumeMode": "Filesystem",
                **golden.size("8Mi")
            }
        }))
    golden.await_phase("empty", "Succeeded")
    golden.await_phase("old", "Succeeded")
    assert kubectl.get("pvc", "empty")["spec"]["volumeMode"] == "Block"
    assert kubectl.get("pvc", "old")["spec"]["volumeMode"] == "Filesystem"


def test_clones_of_claims_snapshots_and_data_sources(base, disk, server, bytes_of):
    asked = len(server.requests)
    snapshot = golden.snapshot("snap", base)
    snapshot["metadata"]["labels"] = {"instancetype.kubevirt.io/default-preference": "fedora"}
    here = golden.volume("of-source-here", golden.by_reference("fedora"))
    here["spec"]["sourceRef"]["namespace"] = ""  # as good as none
    kubectl.apply(snapshot, here,
                  golden.data_source("fedora", {"pvc": {"namespace": "default", "name": base}}),
                  golden.volume("of-claim", {"pvc": {"namespace": "default", "name": base}}),
                  golden.volume("of-source", golden.by_reference("fedora"),
                                storage=golden.size("128Mi")),
                  golden.volume("of-snapshot", {"snapshot": {"namespace": "default", "name": "snap"}}))
    for name in ("of-claim", "of-source", "of-snapshot", "of-source-here"):
        golden.await_phase(name, "Succeeded", timeout_s=90)
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]
    assert kubectl.get("pvc", "of-source")["spec"]["resources"]["requests"]["storage"] == "128Mi"
    assert kubectl.get("pvc", "of-snapshot")["metadata"]["labels"] == snapshot["metadata"]["labels"]
    assert len(server.requests) == asked, "nothing is fetched for a clone"


def test_a_clone_is_a_disk_or_a_filesystem_as_its_source_is(base, disk):
    """A claim without a volumeMode is a Filesystem, says Kubernetes."""
    files = {"volumeMode": "Filesystem"}
    of_base = {"pvc": {"namespace": "default", "name": base}}
    plain = kubectl.claim("plain", "64Mi", **golden.from_data_source("fedora"))
    del plain["spec"]["volumeMode"]
    kubectl.apply(golden.volume("files", {"blank": {}}, storage={**files, **golden.size("8Mi")}),
                  golden.data_source("fedora", of_base), plain,
                  golden.volume("turned", of_base, storage=files))
    golden.await_phase("turned", "Failed")
    assert golden.condition("datavolume", "turned", "Ready")[2] == \
        "spec.storage.volumeMode is Filesystem, and its source's is not: leave it out, or set it to Block"
    kubectl.until(lambda: any("that of PersistentVolumeClaim 'default/base' is Block: make the claim anew "
                              "with volumeMode: Block" in event for event in kubectl.events("plain")), "told")
    golden.await_phase("files", "Succeeded")
    kubectl.apply(golden.snapshot("filed", "files"),
                  golden.volume("of-files", {"pvc": {"name": "files", "namespace": "default"}}),
                  golden.volume("of-filed", {"snapshot": {"name": "filed", "namespace": "default"}}))
    for name in ("of-files", "of-filed"):
        golden.await_phase(name, "Succeeded", timeout_s=90)
        assert kubectl.get("pvc", name)["spec"]["volumeMode"] == "Filesystem"
    assert kubectl.get("pvc", "plain")["status"]["phase"] == "Pending"


def test_a_clone_that_waits_says_for_what(base):
    """Its source goes while it waits for a pod."""
    kubectl.apply(golden.volume("orphan", {"pvc": {"namespace": "default", "name": base}},
                                storage={"storageClassName": "rbd-late"}))
    golden.await_phase("orphan", "PendingPopulation")
    kubectl.delete("datavolume", base)
    kubectl.until(lambda: kubectl.get("pvc", base) is None, "gone")
    kubectl.run("annotate", "pvc", "orphan", "cdi.kubevirt.io/storage.bind.immediate.requested=true")
    kubectl.until(lambda: f"there is no PersistentVolumeClaim 'default/{base}'" in
                  golden.condition("datavolume", "orphan", "Ready")[2], "told")
    assert golden.phase("orphan") == "Pending"


def test_a_class_that_waits_for_a_pod(server, base, node, disk, bytes_of):
    """KubeVirt goes on at PendingPopulation: it starts the pod that is waited for."""
    late = {"storageClassName": "rbd-late"}
    kubectl.apply(
        golden.volume("import", {"http": {"url": server.url("/disk.qcow2")}}, storage=late),
        golden.volume("clone", {"pvc": {"namespace": "default", "name": base}}, storage=late),
        golden.volume("now", {"pvc": {"namespace": "default", "name": base}}, storage=late,
                      metadata={
                          "annotations": {
                              "cdi.kubevirt.io/storage.bind.immediate.requested": "true"
                          }
                      }))
    golden.await_phase("import", "PendingPopulation")
    golden.await_phase("clone", "PendingPopulation")
    golden.await_phase("now", "Succeeded")
    for name in ("import", "clone"):
        kubectl.run("annotate", "pvc", name, f"volume.kubernetes.io/selected-node={node}")
        golden.await_phase(name, "Succeeded")
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]


@pytest.fixture
def foreign_default(classes):
    """The default class is of another driver."""
    kubectl.apply({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "other.example",
        "metadata": {"name": "foreign", "annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}},
    })
    yield
    kubectl.delete("storageclass", "foreign")


def test_which_class_is_taken(base, server, foreign_default):
    """The named one and no other; else one of ours that is the default, the source's or the only one."""
    source = {"pvc": {"namespace": "default", "name": base}}
    kubectl.apply(golden.item("DataVolume", "clone", {"source": source, "storage": {}}),
                  golden.item("DataVolume", "import", {"source": {"http": {"url": server.url("/disk.raw")}},
                                                       "storage": {}}),
                  golden.volume("named", source, storage={"storageClassName": "later"}))
    golden.await_phase("clone", "Succeeded")
    assert kubectl.get("pvc", "clone")["spec"]["storageClassName"] == "rbd"
    for name, text in (("named", "spec.storage.storageClassName: there is no StorageClass 'later'"),
                       ("import", "spec.storage.storageClassName is needed: no StorageClass of driver")):
        kubectl.until(lambda name=name, text=text:
                      text in golden.condition("datavolume", name, "Ready")[2], f"{name} told")
        assert golden.phase(name) == "Pending"
    kubectl.apply(kubectl.storage_class("later"))
    try:
        golden.await_phase("named", "Succeeded")
    finally:
        kubectl.delete("storageclass", "later")


def test_a_class_that_is_made_again(server, disk, bytes_of):
    """Classes cannot be changed, so they are deleted and made again; what was fetched stays."""
    passing = kubectl.storage_class("passing")
    kubectl.apply(passing)
    try:
        server.slow_s = 0.02
        kubectl.apply(golden.volume("slow", {"http": {"url": server.url("/disk.qcow2")}},
                                    storage={"storageClassName": "passing"}))
        golden.await_phase("slow", "ImportInProgress")
        kubectl.delete("storageclass", "passing")
        kubectl.until(lambda: "'passing'" in golden.condition("datavolume", "slow", "Ready")[2], "told")
        kubectl.apply(passing)
        server.slow_s = 0
        golden.await_phase("slow", "Succeeded")
        assert bytes_of(kubectl.await_bound("slow"), 64 << 20) == disk["raw"]
        assert server.sent < 2 * len(disk["qcow2"])
    finally:
        kubectl.delete("storageclass", "passing")


def test_a_volume_of_somebody_else_is_not_what_was_asked_for(server):
    """What is left in Ceph of the import is looked for behind every test."""
    server.slow_s = 0.3
    kubectl.apply(golden.volume("taken", {"http": {"url": server.url("/disk.qcow2")}}))
    golden.await_phase("taken", "ImportInProgress")
    kubectl.apply({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "foreign"},
        "spec": {"capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteMany"], "volumeMode": "Block",
                 "storageClassName": "rbd", "persistentVolumeReclaimPolicy": "Retain",
                 "claimRef": {"namespace": "default", "name": "taken"},
                 "csi": {"driver": "other.example", "volumeHandle": "one"}},
    })
    try:
        golden.await_phase("taken", "Failed")
        assert "bound to PersistentVolume 'foreign'" in golden.condition("datavolume", "taken", "Ready")[2]
    finally:
        kubectl.delete("datavolume", "taken")
        kubectl.delete("pv", "foreign")


def test_a_claim_that_names_its_data_source_itself(base, disk, bytes_of):
    """The defaults are those of disks, and what it waits for shows."""
    kubectl.apply(golden.item("DataVolume", "itself", {"storage": {
        "storageClassName": "rbd", **golden.size("64Mi"), **golden.from_data_source("fedora")}}))
    kubectl.until(lambda: "waits for DataSource 'default/fedora'" in
                  golden.condition("datavolume", "itself", "Ready")[2], "told")
    kubectl.apply(golden.data_source("fedora", {"pvc": {"name": base, "namespace": "default"}}))
    golden.await_phase("itself", "Succeeded")
    claim = kubectl.get("pvc", "itself")["spec"]
    assert (claim["volumeMode"], claim["accessModes"]) == ("Block", ["ReadWriteMany"])
    assert bytes_of(kubectl.await_bound("itself"), 64 << 20) == disk["raw"]


def test_progress_is_told_and_an_import_goes_on_behind_a_kill(server, populator, disk, bytes_of):
    server.slow_s = 0.05
    kubectl.apply(golden.volume("slow", {"http": {"url": server.url("/disk.qcow2")}}))
    kubectl.until(lambda: server.sent > 4 << 20, "the import runs")
    golden.await_phase("slow", "ImportInProgress")
    progress = kubectl.until(
        lambda: next((text for text in [kubectl.get("datavolume", "slow")["status"]["progress"]]
                      if text.endswith("%")), None), "progress")
    assert 0 <= float(progress[:-1]) < 100
    assert statuses("slow") == {"Ready": "False", "Bound": "False", "Running": "True"}
    populator.kill()
    server.slow_s = 0
    populator.start()
    golden.await_phase("slow", "Succeeded", timeout_s=90)
    assert bytes_of(kubectl.await_bound("slow"), 64 << 20) == disk["raw"]
    assert server.sent < 2 * len(disk["qcow2"])


def test_deleted_in_the_middle_leaves_nothing(server):
    """What is left is looked for behind every test."""
    server.slow_s = 0.05
    kubectl.apply(golden.volume("slow", {"http": {"url": server.url("/disk.qcow2")}}))
    kubectl.until(lambda: server.sent > 4 << 20, "the import runs")
    kubectl.delete("datavolume", "slow")
    kubectl.until(lambda: kubectl.get("pvc", "slow") is None, "the claim is gone")


def test_what_cannot_be_is_told(server):
    kubectl.apply(
        golden.volume("gone", {"http": {"url": server.url("/nothing")}}),
        golden.volume("small", {"http": {"url": server.url("/disk.qcow2")}},
                      storage=golden.size("32Mi")),
        golden.volume("files", {"http": {"url": server.url("/disk.qcow2")}},
                      storage={"volumeMode": "Filesystem"}),
        golden.volume("sized", {"blank": {}}),
        golden.volume("wrong", {"http": {"url": server.url("/disk.qcow2"),
                                         "checksum": "sha256:" + "0" * 64}}),
        golden.volume("trusts", {"http": {"url": server.url("/disk.qcow2"), "certConfigMap": "missing"}}),
        golden.volume("waits", golden.by_reference("missing")))
    expected = {"gone": f"spec.source.http: {server.url('/nothing')}: the server answered 404", "small": "64Mi",
                "files": "spec.storage.volumeMode is Filesystem, and an image is written to a block device: leave "
                "it out, or set it to Block",
                "sized": "spec.storage.resources.requests.storage is needed",
                "wrong": "spec.source.http.checksum: checksum of the source is sha256:"}
    for name, text in expected.items():
        kubectl.until(lambda name=name: golden.phase(name) == "Failed", f"{name} Failed")
        assert text in golden.condition("datavolume", name, "Ready")[2]
    for name, text in (("waits", "missing"), ("trusts", "spec.source.http.certConfigMap: there is no ConfigMap")):
        kubectl.until(lambda name=name, text=text: text in golden.condition("datavolume", name, "Ready")[2], "told")
    assert golden.phase("waits") == "Pending"


def test_a_claim_of_somebody_else_is_left_alone(base):
    kubectl.apply(kubectl.claim("mine", "8Mi"),
                  golden.volume("mine", {"pvc": {"namespace": "default", "name": base}}))
    kubectl.until(lambda: "already" in golden.condition("datavolume", "mine", "Ready")[2], "told")
    assert not kubectl.get("pvc", "mine")["metadata"].get("ownerReferences")


def test_a_claim_that_was_filled_before_is_taken(base):
    claim = kubectl.claim("restored", "8Mi")
    claim["metadata"]["annotations"] = {"cdi.kubevirt.io/storage.populatedFor": "restored"}
    kubectl.apply(claim)
    kubectl.await_bound("restored")
    kubectl.apply(golden.volume("restored", {"blank": {}}, storage=golden.size("8Mi")))
    golden.await_phase("restored", "Succeeded")


# ---- other namespaces


@pytest.fixture
def tenant(tmp_path):
    """kubectl(*arguments, stdin) as somebody who may do everything in namespace other, and nothing
    elsewhere."""
    name = "tenant"
    kubectl.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "other"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": "other"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "other"}],
        })
    yield lambda *words, stdin=None: kubectl.run(*words, "--as",
                                                 f"system:serviceaccount:other:{name}", stdin=stdin)
    kubectl.delete("rolebinding", "source", namespace="default")
    kubectl.delete("rolebinding", name, namespace="other")


def wish(source, **metadata):
    return json.dumps(golden.volume("copy", source, namespace="other", metadata=metadata))


@pytest.mark.parametrize("source", [
    {"pvc": {"namespace": "default", "name": "base"}},
    {"sourceRef": {"kind": "DataSource", "namespace": "default", "name": "fedora"}},
], ids=["pvc", "sourceRef"])
def test_who_may_use_the_source_may_clone_it(base, tenant, source, disk, bytes_of):
    kubectl.apply(golden.data_source("fedora", {"pvc": {"name": base, "namespace": "default"}}))
    with pytest.raises(kubectl.Refused, match="datavolumes/source"):
        tenant("create", "-f", "-", stdin=wish(source))
    kubectl.run("create", "role", "source", "--verb=create", "--resource=datavolumes.cdi.kubevirt.io/source")
    kubectl.run("create", "rolebinding", "source", "--role=source", "--serviceaccount=other:tenant")
    try:

        def admitted():
            try:
                return tenant("create", "-f", "-", stdin=wish(source))
            except kubectl.Refused:
                return None

        kubectl.until(admitted, "the right has come into effect")
        golden.await_phase("copy", "Succeeded", "other")
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    finally:
        kubectl.delete("role", "source")


def test_a_grant_is_as_good(base, tenant, disk, bytes_of):
    source = {"pvc": {"namespace": "default", "name": base}}
    tenant("create", "-f", "-", stdin=wish(source, annotations={BY_GRANT: "true"}))
    kubectl.until(lambda: "ReferenceGrant" in golden.condition("datavolume", "copy", "Ready", "other")[2],
                  "told")
    assert kubectl.get("pvc", "copy", "other") is None
    # taking the annotation away is asking anew
    with pytest.raises(kubectl.Refused, match="datavolumes/source"):
        tenant("annotate", "datavolume", "copy", "-n", "other", f"{BY_GRANT}-")
    kubectl.apply(golden.grant("share", "default", "other", "DataVolume", "PersistentVolumeClaim"))
    try:
        golden.await_phase("copy", "Succeeded", "other")
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    finally:
        kubectl.delete("referencegrant", "share")


def test_a_detour_over_an_own_data_source_leads_nowhere(base, tenant):
    """Nobody was asked about the namespace that it leads to."""
    tenant("create", "-f", "-", stdin=json.dumps(
        golden.data_source("detour", {"pvc": {"namespace": "default", "name": base}}, "other")))
    tenant("create", "-f", "-", stdin=wish(golden.by_reference("detour")))
    kubectl.until(lambda: "ReferenceGrant" in golden.condition("datavolume", "copy", "Ready", "other")[2],
                  "told")
    forged = kubectl.claim("forged", "64Mi", namespace="other", **golden.from_data_source("detour"))
    forged["metadata"]["annotations"] = {
        FROM: f"PersistentVolumeClaim/default/{base}"
    }
    tenant("create", "-f", "-", stdin=json.dumps(forged))
    kubectl.until(lambda: any("ReferenceGrant" in event for event in kubectl.events("forged", "other")),
                  "told")
    assert kubectl.get("pvc", "copy", "other") is None
    assert kubectl.get("pvc", "forged", "other")["status"]["phase"] == "Pending"


def test_a_choice_holds_and_cannot_be_forged(base, server, tenant, disk, bytes_of):
    """Who has a grant for the DataSource alone gets what it led to; what his claims say is no reason for
    anything else."""
    kubectl.apply(golden.data_source("fedora", {"pvc": {"name": base, "namespace": "default"}}),
                  golden.volume("secret", {"http": {"url": server.url("/other.raw")}},
                                storage=golden.size("128Mi")),
                  golden.grant("share", "default", "other", "DataVolume", "DataSource", "fedora"))
    try:
        golden.await_phase("secret", "Succeeded")
        tenant("create", "-f", "-", stdin=json.dumps(
            golden.volume("copy", golden.by_reference("fedora", "default"), "other",
                          {"storageClassName": "rbd-late"}, {"annotations": {BY_GRANT: "true"}})))
        volume = golden.await_phase("copy", "PendingPopulation", "other")
        assert volume["status"]["clonedFrom"] == f"PersistentVolumeClaim/default/{base}"
        with pytest.raises(kubectl.Refused, match="datavolumes/status"):
            tenant("patch", "datavolume", "copy", "-n", "other", "--subresource=status", "--type=merge",
                   "-p", '{"status":{"clonedFrom":"PersistentVolumeClaim/default/secret"}}')
        theft = kubectl.claim("theft", "128Mi", namespace="other", dataSourceRef={
            "apiGroup": golden.GROUP, "kind": "DataVolume", "name": "copy"})
        forged = {FROM: "PersistentVolumeClaim/default/secret"}
        theft["metadata"].update(annotations=forged, ownerReferences=[{
            "apiVersion": f"{golden.GROUP}/v1beta1", "kind": "DataVolume", "name": "copy",
            "uid": volume["metadata"]["uid"], "controller": True}])
        tenant("create", "-f", "-", stdin=json.dumps(theft))
        kubectl.apply(golden.data_source("fedora", {"pvc": {"name": "secret", "namespace": "default"}}))
        tenant("annotate", "--overwrite", "pvc", "copy", "-n", "other", f"{FROM}={forged[FROM]}",
               "cdi.kubevirt.io/storage.bind.immediate.requested=true")
        golden.await_phase("copy", "Succeeded", "other")
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
        assert kubectl.get("pvc", "theft", "other")["status"]["phase"] == "Pending"
    finally:
        kubectl.delete("referencegrant", "share")
