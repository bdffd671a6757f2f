# SPDX-License-Identifier: Apache-2.0
"""Claims that are filled from an image."""

import time

import pytest

import kubectl


@pytest.fixture
def base(server):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    return "base"


def test_a_claim_is_cloned_and_bound(base, disk, bytes_of):
    kubectl.apply(kubectl.claim("copy", "64Mi", **kubectl.from_image(base)))
    handle = kubectl.await_bound("copy")
    assert bytes_of(handle, 64 << 20) == disk["raw"]
    volume = kubectl.get("pv", kubectl.get("pvc", "copy")["spec"]["volumeName"])
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert volume["spec"]["claimRef"]["uid"] == kubectl.get("pvc", "copy")["metadata"]["uid"]
    kubectl.until(lambda: not kubectl.get("pvc", "copy")["metadata"].get("finalizers", [])[1:], "let go of")
    assert any("Populated" in event and "default/base" in event for event in kubectl.events("copy"))


def test_a_claim_waits_for_its_image_and_says_so(server, disk, bytes_of):
    kubectl.apply(kubectl.claim("early", "64Mi", **kubectl.from_image("late")))
    kubectl.until(lambda: any("late" in event for event in kubectl.events("early")), "told")
    assert kubectl.get("pvc", "early")["status"]["phase"] == "Pending"
    kubectl.apply(kubectl.image("late", {"http": server.url("/disk.qcow2")}))
    assert bytes_of(kubectl.await_bound("early"), 64 << 20) == disk["raw"]


def test_another_namespace_needs_a_grant(base, disk, bytes_of):
    kubectl.apply(
        kubectl.claim("copy", "64Mi", namespace="other", **kubectl.from_image(base, "default")))
    kubectl.until(
        lambda: any("ReferenceGrant" in event for event in kubectl.events("copy", "other")), "told")
    assert kubectl.get("pvc", "copy", "other")["status"]["phase"] == "Pending"
    kubectl.apply({
        "apiVersion": "gateway.networking.k8s.io/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": {"name": "share", "namespace": "default"},
        "spec": {
            "from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": "other"}],
            "to": [{"group": kubectl.GROUP, "kind": "VirtualMachineImage"}],
        },
    })
    assert bytes_of(kubectl.await_bound("copy", "other"), 64 << 20) == disk["raw"]
    kubectl.delete("referencegrant", "share")


def test_a_claim_that_waits_for_its_consumer_waits(base, disk, bytes_of):
    kubectl.apply(kubectl.claim("late", "64Mi", storage_class="rbd-late", **kubectl.from_image(base)))
    time.sleep(2)
    assert kubectl.get("pvc", "late")["status"]["phase"] == "Pending"
    # a node, because the provisioner takes the annotation back when there is none of that name
    kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "somewhere"},
                   "spec": {"unschedulable": True}})
    kubectl.run("annotate", "pvc", "late", "volume.kubernetes.io/selected-node=somewhere")
    assert bytes_of(kubectl.await_bound("late"), 64 << 20) == disk["raw"]
    kubectl.delete("node", "somewhere")


def test_a_claim_smaller_than_its_image_is_told(base):
    kubectl.apply(kubectl.claim("small", "32Mi", **kubectl.from_image(base)))
    kubectl.until(
        lambda: any("32Mi" in event and "64Mi" in event for event in kubectl.events("small")), "told")


def test_a_hundred_claims_at_once(server, disk, bytes_of, cluster):
    """Together with their image, which is imported once for all of them."""
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
                  *(kubectl.claim(f"early-{i}", "64Mi", **kubectl.from_image("base")) for i in range(10)))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    started = time.monotonic()
    kubectl.apply(*(kubectl.claim(f"copy-{i}", "64Mi", **kubectl.from_image("base")) for i in range(100)))

    def bound():
        return sum(item["status"]["phase"] == "Bound" for item in kubectl.get_all("pvc")) == 111

    kubectl.until(bound, "all of them bound", 180)
    print(f"100 claims bound in {time.monotonic() - started:.1f} s")
    fetched = server.sent / len(disk["qcow2"])
    assert fetched < 1.2, f"the image was fetched {fetched:.1f} times"
    assert len(cluster.images("imprint")) == 111
    for name in ("early-0", "copy-0", "copy-99"):
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"]


def test_through_the_sidecars_all_goes_on(base, disk, bytes_of, cluster):
    """A snapshot, a volume of it, a clone, and a larger one, by Kubernetes' own means."""
    kubectl.apply(kubectl.claim("copy", "64Mi", **kubectl.from_image(base)))
    kubectl.await_bound("copy")
    kubectl.apply({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": "snap"},
        "spec": {
            "volumeSnapshotClassName": "rbd",
            "source": {"persistentVolumeClaimName": "copy"},
        },
    })
    kubectl.until(lambda: (kubectl.get("volumesnapshot", "snap").get("status") or {}).get("readyToUse"),
               "the snapshot is ready")
    kubectl.apply(
        kubectl.claim("restored",
                   "64Mi",
                   dataSource={
                       "apiGroup": "snapshot.storage.k8s.io",
                       "kind": "VolumeSnapshot",
                       "name": "snap"
                   }),
        kubectl.claim("cloned", "128Mi", dataSource={"kind": "PersistentVolumeClaim", "name": "copy"}))
    assert bytes_of(kubectl.await_bound("restored"), 64 << 20) == disk["raw"]
    assert bytes_of(kubectl.await_bound("cloned"), 64 << 20) == disk["raw"]
    kubectl.run("patch", "pvc", "copy", "-p",
                 '{"spec":{"resources":{"requests":{"storage":"192Mi"}}}}')
    handle = kubectl.await_bound("copy")

    def grown():
        with cluster.volume(handle, read_only=True) as volume:
            return volume.size() == 192 << 20

    kubectl.until(grown, "the volume has grown")
