# SPDX-License-Identifier: Apache-2.0
"""DataSources, and claims that are filled from where they lead."""

import pytest

import golden
import kubectl


@pytest.fixture
def base(server):
    """A claim that is complete, and a second one with other content."""
    kubectl.apply(golden.volume("one", {"http": {"url": server.url("/disk.qcow2")}}),
                  golden.volume("two", {"http": {"url": server.url("/other.raw")}}))
    golden.await_phase("one", "Succeeded")
    golden.await_phase("two", "Succeeded")
    return "one"


def point(name, target):
    kubectl.apply(golden.data_source(name, {"pvc": {"namespace": "default", "name": target}}))


def test_the_condition_tells_what_it_leads_to(base):
    """Each reason of the contract in turn."""
    kubectl.apply(golden.data_source("fedora", {}))
    golden.await_reason("datasource", "fedora", "Ready", "NoSource")
    point("fedora", "nothing")
    assert golden.await_reason("datasource", "fedora", "Ready", "NotFound")[0] == "False"
    point("fedora", base)
    assert golden.await_reason("datasource", "fedora", "Ready", "Ready")[0] == "True"
    assert kubectl.get("datasource", "fedora")["status"]["source"] == {
        "pvc": {"namespace": "default", "name": base}
    }
    kubectl.run("patch", "datasource", "fedora", "--type=merge", "-p",
                '{"spec":{"source":{"pvc":null,"snapshot":{"namespace":"default","name":"snap"}}}}')
    golden.await_reason("datasource", "fedora", "Ready", "NotFound")
    kubectl.apply(golden.snapshot("snap", "one"))
    assert golden.await_reason("datasource", "fedora", "Ready", "Ready")[0] == "True"
    assert kubectl.get("datasource", "fedora")["status"]["source"] == {
        "snapshot": {"namespace": "default", "name": "snap"}
    }
    kubectl.apply(golden.snapshot("early", "missing-claim"),
                  golden.data_source("late", {"snapshot": {"namespace": "default", "name": "early"}}))
    golden.await_reason("datasource", "late", "Ready", "SnapshotNotReady")


def test_chains_are_followed_and_loops_refused(base, disk, bytes_of):
    point("end", base)
    kubectl.apply(golden.data_source("middle", {"dataSource": {"name": "end"}}),
                  golden.data_source("start", {"dataSource": {"name": "middle"}}),
                  golden.data_source("self", {"dataSource": {"name": "self"}}),
                  golden.data_source("ping", {"dataSource": {"name": "pong"}}),
                  golden.data_source("pong", {"dataSource": {"name": "ping"}}),
                  golden.data_source("far", {"dataSource": {"name": "end", "namespace": "other"}}))
    assert golden.await_reason("datasource", "start", "Ready", "Ready")[0] == "True"
    golden.await_reason("datasource", "self", "Ready", "SelfReference")
    golden.await_reason("datasource", "ping", "Ready", "MaxReferenceDepthReached")
    golden.await_reason("datasource", "far", "Ready", "CrossNamespaceReference")
    kubectl.apply(kubectl.claim("copy", "64Mi", **golden.from_data_source("start")))
    assert bytes_of(kubectl.await_bound("copy"), 64 << 20) == disk["raw"]
    point("end", "gone")
    golden.await_reason("datasource", "start", "Ready", "NotFound")


def test_pointing_elsewhere_affects_the_next_clone_only(base, disk, server, bytes_of):
    point("fedora", base)
    kubectl.apply(kubectl.claim("before", "64Mi", **golden.from_data_source("fedora")))
    first = kubectl.await_bound("before")
    point("fedora", "two")
    kubectl.apply(kubectl.claim("after", "64Mi", **golden.from_data_source("fedora")))
    second = kubectl.await_bound("after")
    assert bytes_of(first, 64 << 20) == disk["raw"]
    assert bytes_of(second, 1 << 20) == server.files["/other.raw"].data[:1 << 20]


def test_a_claim_waits_for_its_data_source(server, disk, bytes_of):
    kubectl.apply(kubectl.claim("early", "64Mi", **golden.from_data_source("late")))
    kubectl.until(lambda: any("late" in event for event in kubectl.events("early")), "told")
    point("late", "one")
    kubectl.apply(golden.volume("one", {"http": {"url": server.url("/disk.qcow2")}}))
    assert bytes_of(kubectl.await_bound("early", timeout_s=90), 64 << 20) == disk["raw"]


def test_a_snapshot_is_cloned(base, disk, bytes_of):
    kubectl.apply(golden.snapshot("snap", base),
                  golden.data_source("fedora", {"snapshot": {"namespace": "default", "name": "snap"}}),
                  kubectl.claim("copy", "128Mi", **golden.from_data_source("fedora")))
    assert bytes_of(kubectl.await_bound("copy", timeout_s=90), 64 << 20) == disk["raw"]


def test_another_namespace_needs_a_grant(base, disk, bytes_of):
    point("fedora", base)
    kubectl.apply(
        kubectl.claim("copy", "64Mi", namespace="other",
                      **golden.from_data_source("fedora", "default")))
    kubectl.until(lambda: any("ReferenceGrant" in event for event in kubectl.events("copy", "other")),
                  "told")
    kubectl.apply(golden.grant("share", "default", "other", "PersistentVolumeClaim", "DataSource"))
    try:
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    finally:
        kubectl.delete("referencegrant", "share")


def test_what_a_claim_says_it_was_made_from_is_not_believed(base, disk, bytes_of):
    """A grant for one DataSource is none for other claims beside it."""
    point("fedora", base)
    kubectl.apply(
        golden.grant("share", "default", "other", "PersistentVolumeClaim", "DataSource", "fedora"))
    wish = kubectl.claim("copy", "64Mi", namespace="other",
                         **golden.from_data_source("fedora", "default"))
    wish["metadata"]["annotations"] = {
        "imprint.hypercloud.tmaxanc.com/cloned-from": "PersistentVolumeClaim/default/two"
    }
    try:
        kubectl.apply(wish)
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    finally:
        kubectl.delete("referencegrant", "share")


def test_labels_of_the_image_are_carried(base):
    kubectl.run("label", "pvc", base, "instancetype.kubevirt.io/default-instancetype=u1.small",
                "instancetype.kubevirt.io/default-preference=fedora", "other=stays")
    point("fedora", base)

    def labels():
        return kubectl.get("datasource", "fedora")["metadata"].get("labels", {})

    kubectl.until(lambda: len(labels()) == 2, "the labels are there")
    assert labels()["instancetype.kubevirt.io/default-instancetype"] == "u1.small"
    assert labels()["instancetype.kubevirt.io/default-preference"] == "fedora"


def test_what_was_chosen_holds_though_only_the_data_source_is_granted(base, disk, bytes_of, controller,
                                                                          populator):
    """Killed between the choice and the volume, and pointed to the cron's next import meanwhile."""
    point("fedora", base)
    for item in (f"pvc/{base}", "pvc/two", "datasource/fedora"):
        kubectl.run("label", item, "cdi.kubevirt.io/dataImportCron=nightly")
    kubectl.apply(golden.grant("share", "default", "other", "PersistentVolumeClaim", "DataSource", "fedora"))
    controller.kill()
    try:
        kubectl.apply(kubectl.claim("copy", "64Mi", namespace="other",
                                    **golden.from_data_source("fedora", "default")))
        kubectl.until(lambda: "imprint.hypercloud.tmaxanc.com/cloned-from" in
                      kubectl.get("pvc", "copy", "other")["metadata"].get("annotations", {}), "chosen")
        populator.kill()
        point("fedora", "two")
    finally:
        controller.start()
        populator.start()
    try:
        assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    finally:
        kubectl.delete("referencegrant", "share")
