# SPDX-License-Identifier: Apache-2.0
"""A ResourceQuota of exactly one volume, by number and by size, in all and of the class: whatever a volume is asked for
by, it is charged once, and the next one is refused."""

import pytest

import golden
import kubectl

ONE = {
    "persistentvolumeclaims": "1",
    "requests.storage": "64Mi",
    "rbd.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    "rbd.storageclass.storage.k8s.io/requests.storage": "64Mi",
}
SPACE = "narrow"


@pytest.fixture
def narrow():
    """A namespace with room for one volume."""
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    kubectl.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one", "namespace": SPACE},
                   "spec": {"hard": ONE}})
    kubectl.until(lambda: used() and set(used().values()) == {"0"}, "the quota counts")
    yield SPACE
    kubectl.run("delete", "namespace", SPACE, "--timeout=100s")


def used():
    return (kubectl.get("resourcequota", "one", SPACE).get("status") or {}).get("used")


@pytest.fixture
def base(server):
    """An image elsewhere that may be used from there."""
    kubectl.apply(
        kubectl.image("base", {"http": server.url("/disk.qcow2")}), {
            "apiVersion": "gateway.networking.k8s.io/v1beta1",
            "kind": "ReferenceGrant",
            "metadata": {"name": "narrow", "namespace": "default"},
            "spec": {
                "from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": SPACE}],
                "to": [{"group": kubectl.GROUP, "kind": "VirtualMachineImage"}],
            },
        }, golden.grant("narrow-volumes", "default", SPACE, "DataVolume", "PersistentVolumeClaim"))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    kubectl.await_bound("base-image-pvc")
    yield "base"
    kubectl.delete("referencegrant", "narrow", "narrow-volumes")


def assert_full(claim):
    """The one that was asked for is bound, and charged once."""
    handle = kubectl.await_bound(claim, SPACE)
    kubectl.until(lambda: used() == ONE, f"charged once: {used()}")
    with pytest.raises(kubectl.Refused, match="exceeded quota"):
        kubectl.apply(kubectl.claim("another", "1Mi", SPACE))
    return handle


def test_a_claim_of_an_image(narrow, base, disk, bytes_of):
    kubectl.apply(kubectl.claim("copy", "64Mi", SPACE, **kubectl.from_image(base, "default")))
    assert bytes_of(assert_full("copy"), 64 << 20) == disk["raw"]


def volume(name, base):
    return {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolume",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"virtualMachineImage": {"name": base, "namespace": "default"}, "capacity": {"storage": "64Mi"}},
    }


def test_a_virtual_machine_volume(narrow, base, disk, bytes_of):
    kubectl.apply(volume("first", base))
    kubectl.await_state("virtualmachinevolume", "first", "Available", SPACE)
    assert bytes_of(assert_full("first-vmv-pvc"), 64 << 20) == disk["raw"]
    kubectl.apply(volume("second", base))
    kubectl.until(lambda: "exceeded quota" in kubectl.message("virtualmachinevolume", "second", SPACE), "told")


def test_an_image(narrow, server, disk, bytes_of):
    """Its own claim is the one."""
    kubectl.apply(kubectl.image("first", {"http": server.url("/disk.qcow2")}, SPACE))
    kubectl.await_state("virtualmachineimage", "first", "Available", SPACE)
    assert bytes_of(assert_full("first-image-pvc"), 64 << 20) == disk["raw"]
    kubectl.apply(kubectl.image("second", {"http": server.url("/disk.qcow2")}, SPACE))
    kubectl.until(lambda: "exceeded quota" in kubectl.message("virtualmachineimage", "second", SPACE), "told")


def test_a_data_volume(narrow, server, disk, bytes_of):
    kubectl.apply(golden.volume("first", {"http": {"url": server.url("/disk.qcow2")}}, SPACE))
    golden.await_phase("first", "Succeeded", SPACE)
    assert bytes_of(assert_full("first"), 64 << 20) == disk["raw"]
    kubectl.apply(golden.volume("second", {"http": {"url": server.url("/disk.qcow2")}}, SPACE))
    kubectl.until(lambda: "exceeded quota" in str(kubectl.get("datavolume", "second", SPACE).get("status")), "told")


def test_a_data_volume_that_is_a_clone(narrow, base, disk, bytes_of):
    kubectl.apply(golden.volume("copy", {"pvc": {"name": "base-image-pvc", "namespace": "default"}}, SPACE))
    golden.await_phase("copy", "Succeeded", SPACE)
    assert bytes_of(assert_full("copy"), 64 << 20) == disk["raw"]
