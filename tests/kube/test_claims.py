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


def test_a_volume_is_made_with_its_limits(base, cluster):
    kubectl.apply({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "silver"},
                   "driverName": kubectl.DRIVER, "parameters": {"rbd_qos_iops_limit": "500"}})
    kubectl.apply(volume("slow", volumeAttributesClassName="silver"),
                  kubectl.claim("none", "64Mi", volumeAttributesClassName="gold", **kubectl.from_image(base)))
    handle = kubectl.await_bound("slow-vmv-pvc")
    assert kubectl.get("pv", kubectl.get("pvc", "slow-vmv-pvc")["spec"]["volumeName"])["spec"][
        "volumeAttributesClassName"] == "silver"
    with cluster.volume(handle, read_only=True) as image:
        assert image.metadata_get("conf_rbd_qos_iops_limit") == "500"
    kubectl.until(lambda: any("no VolumeAttributesClass 'gold'" in event for event in kubectl.events("none")), "told")
    kubectl.run("delete", "volumeattributesclass", "silver", "--wait=false")


def test_a_claim_waits_for_its_image_and_says_so(server, disk, bytes_of):
    kubectl.apply(kubectl.claim("early", "64Mi", **kubectl.from_image("late")))
    kubectl.until(lambda: any("late" in event for event in kubectl.events("early")), "told")
    assert kubectl.get("pvc", "early")["status"]["phase"] == "Pending"
    kubectl.apply(kubectl.image("late", {"http": server.url("/disk.qcow2")}))
    assert bytes_of(kubectl.await_bound("early"), 64 << 20) == disk["raw"]


def volume(name, namespace="default", **pvc):
    """Of the image in namespace default."""
    return {"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": "VirtualMachineVolume",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"virtualMachineImage": {"name": "base", "namespace": "default"}, "pvc": pvc}}


def assert_says(name, namespace, words):
    kubectl.until(lambda: words in kubectl.message("virtualmachinevolume", name, namespace),
                  f"it says {words}, not {kubectl.message('virtualmachinevolume', name, namespace)}")


def test_another_namespace_needs_a_grant(base, disk, bytes_of):
    kubectl.apply(
        kubectl.claim("copy", "64Mi", namespace="other", **kubectl.from_image(base, "default")),
        volume("told", "other"))
    kubectl.until(
        lambda: any("ReferenceGrant" in event for event in kubectl.events("copy", "other")), "told")
    assert kubectl.get("pvc", "copy", "other")["status"]["phase"] == "Pending"
    assert_says("told", "other", "a ReferenceGrant in namespace 'default'")
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
    kubectl.await_state("virtualmachinevolume", "told", "Available", "other")
    # with a namespace in it, most API servers would drop it
    source = kubectl.get("pvc", "told-vmv-pvc", "other")["spec"]["dataSourceRef"]
    assert (source["kind"], source["name"], source.get("namespace")) == ("VirtualMachineVolume", "told", None)
    assert bytes_of(kubectl.await_bound("told-vmv-pvc", "other"), 64 << 20) == disk["raw"]
    kubectl.until(lambda: any("default/base" in event for event in kubectl.events("told-vmv-pvc", "other")
                              if "Populated" in event), "what it was cloned from")
    kubectl.delete("referencegrant", "share")


def test_a_volume_grows_and_keeps_its_image(base, cluster):
    kubectl.apply(volume("grown"), kubectl.claim("taken-vmv-pvc", "64Mi"), volume("taken"))
    kubectl.await_state("virtualmachinevolume", "grown", "Available")
    assert_says("taken", "default", "PersistentVolumeClaim 'default/taken-vmv-pvc'")
    with pytest.raises(kubectl.Refused, match="cannot be changed"):
        kubectl.run("patch", "virtualmachinevolume", "grown", "--type=merge", "-p",
                    '{"spec":{"virtualMachineImage":{"name":"other"}}}')
    kubectl.apply(volume("grown", resources={"requests": {"storage": "96Mi"}}))
    kubectl.delete("pvc", "taken-vmv-pvc", wait=False)
    handle = kubectl.await_bound("grown-vmv-pvc")

    def size():
        with cluster.volume(handle, read_only=True) as image:
            return image.size()

    kubectl.until(lambda: size() == 96 << 20, "the volume has grown")
    kubectl.until(lambda: kubectl.state("virtualmachinevolume", "taken") == "Available", "it has its claim", 30)


def owned_claim(name, **spec):
    """The claim of a volume, made by somebody else than the populator."""
    owner = kubectl.get("virtualmachinevolume", name)
    claim = kubectl.claim(f"{name}-vmv-pvc", "64Mi", **spec)
    claim["metadata"]["ownerReferences"] = [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "controller": True,
        "uid": owner["metadata"]["uid"]}]
    return claim


def test_only_a_claim_that_is_filled_makes_a_volume_available(server, disk, bytes_of):
    kubectl.apply(volume("hollow"), volume("early"))
    for name in ("hollow", "early"):
        assert_says(name, "default", "there is none")
    # the one as an API server leaves it that drops its dataSourceRef, the other names the image itself
    kubectl.apply(owned_claim("hollow"), owned_claim("early", **kubectl.from_image("base")))
    kubectl.await_bound("hollow-vmv-pvc")
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}))
    kubectl.await_state("virtualmachinevolume", "early", "Available")
    assert bytes_of(kubectl.await_bound("early-vmv-pvc"), 64 << 20) == disk["raw"]
    assert kubectl.state("virtualmachinevolume", "hollow") == "Error"
    assert_says("hollow", "default", "dataSourceRef")
    kubectl.delete("pvc", "hollow-vmv-pvc", wait=False)
    kubectl.until(lambda: kubectl.state("virtualmachinevolume", "hollow") == "Available", "made anew")


def test_a_claim_that_waits_for_its_consumer_waits(base, disk, bytes_of):
    kubectl.apply(kubectl.claim("late", "64Mi", storage_class="rbd-late", **kubectl.from_image(base)),
                  volume("late", storageClassName="rbd-late"))
    time.sleep(2)
    assert_says("late", "default", "waits for a pod")
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


def test_a_volume_that_cannot_be_made_is_told(base, controller):
    controller.kill()
    kubectl.apply(kubectl.claim("copy", "64Mi", **kubectl.from_image(base)),
                  kubectl.claim("lost", "64Mi", storage_class="nothing", **kubectl.from_image(base)))
    try:
        kubectl.until(lambda: any("VolumeNotMade" in event for event in kubectl.events("copy")), "told")
    finally:
        controller.start()
    kubectl.until(lambda: any("spec.storageClassName: there is no StorageClass 'nothing'" in event
                              for event in kubectl.events("lost")), "the field is told")
    kubectl.await_bound("copy")


def test_an_image_of_another_operator_is_imported_anew_on_request(base, server, disk, bytes_of):
    kubectl.run("patch", "virtualmachineimage", base, "--subresource=status", "--type=merge", "-p",
                '{"status":{"snapshotHandle":null}}')
    kubectl.until(lambda: "annotate it" in kubectl.message("virtualmachineimage", base), "it says so")
    kubectl.apply(kubectl.claim("copy", "64Mi", **kubectl.from_image(base)))
    kubectl.until(lambda: any("annotate it" in event for event in kubectl.events("copy")), "the claim too")
    kubectl.run("annotate", "virtualmachineimage", base, f"imprint.{kubectl.GROUP}/retry=now")
    assert bytes_of(kubectl.await_bound("copy"), 64 << 20) == disk["raw"]
    status = kubectl.get("virtualmachineimage", base)["status"]
    assert 24 << 20 <= status["bytesFetched"] <= len(disk["qcow2"])


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
