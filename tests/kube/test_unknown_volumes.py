# SPDX-License-Identifier: Apache-2.0
"""Killed between the making of a volume in Ceph and the object that tells of it; then what it was
made of, or for, is deleted. Nobody knows of the volume but its claim: nothing of it may be left,
which is looked for behind every test."""

import json
import os

import pytest

import golden
import kubectl


@pytest.fixture
def without_volumes(refusals):
    """No PersistentVolume can be made."""
    probe = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "probe"},
        "spec": {
            "capacity": {"storage": "1Mi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": kubectl.DRIVER, "volumeHandle": "probe"},
        },
    }

    def refuse():
        refusals.add("no-volumes", "", "v1", "persistentvolumes", ["CREATE"], "false",
                     lambda: kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(probe)))

    return refuse


def images(cluster):
    return cluster.images(os.environ["POOL"])


def test_its_source_and_the_claim_are_deleted(server, populator, cluster, refusals, without_volumes):
    kubectl.apply(golden.volume("base", {"http": {"url": server.url("/disk.qcow2")}}),
                  golden.data_source("fedora", {"pvc": {"namespace": "default", "name": "base"}}))
    golden.await_phase("base", "Succeeded")
    without_volumes()
    kubectl.apply(kubectl.claim("copy", "64Mi", **golden.from_data_source("fedora")))
    kubectl.until(lambda: len(images(cluster)) == 2, "it is made")
    populator.kill()
    for kind, name in (("datasource", "fedora"), ("datavolume", "base"), ("pvc", "base")):
        kubectl.delete(kind, name, wait=False)
    kubectl.until(lambda: not kubectl.get_all("pv"), "the source is gone")
    kubectl.delete("pvc", "copy", wait=False)
    refusals.lift()
    populator.start()
    kubectl.until(lambda: kubectl.get("pvc", "copy") is None, "the claim is gone")
    kubectl.until(lambda: not images(cluster), "and its volume", 90)


def test_its_source_is_deleted_and_the_claim_says_so(server, populator, cluster, refusals,
                                                    without_volumes):
    """It cannot be known whether another populator hands the volume over just now."""
    kubectl.apply(golden.volume("base", {"http": {"url": server.url("/disk.qcow2")}}),
                  golden.volume("other", {"http": {"url": server.url("/disk.raw")}}),
                  golden.data_source("fedora", {"pvc": {"namespace": "default", "name": "base"}}))
    golden.await_phase("base", "Succeeded")
    golden.await_phase("other", "Succeeded")
    without_volumes()
    kubectl.apply(kubectl.claim("copy", "64Mi", **golden.from_data_source("fedora")))
    kubectl.until(lambda: len(images(cluster)) == 3, "it is made")
    populator.kill()
    kubectl.apply(golden.data_source("fedora", {"pvc": {"namespace": "default", "name": "other"}}))
    kubectl.delete("datavolume", "base", wait=False)
    kubectl.until(lambda: kubectl.get("pvc", "base") is None, "the source is gone")
    refusals.lift()
    populator.start()
    kubectl.until(lambda: any("make it anew" in event for event in kubectl.events("copy")), "told")
    assert kubectl.get("pvc", "copy")["status"]["phase"] == "Pending"


def test_an_image_is_deleted_before_its_volume_is_on_record(server, populator, cluster, refusals):
    kubectl.apply(kubectl.image("probe", {"upload": {}}))

    def probe():
        kubectl.run("patch", "virtualmachineimage", "probe", "--subresource=status", "--type=merge",
                    "--dry-run=server", "-p", '{"status":{"volumeHandle":"x"}}')

    refusals.add("no-handle", "hypercloud.tmaxanc.com", "v1alpha1", "virtualmachineimages/status",
                 ["UPDATE"], "!has(object.status.volumeHandle)", probe, "Forbidden")  # may pass, so it is kept
    kubectl.apply(kubectl.image("begun", {"http": server.url("/disk.qcow2")}))
    kubectl.until(lambda: len(images(cluster)) == 1, "it is made")
    populator.kill()
    kubectl.delete("virtualmachineimage", "begun", wait=False)
    refusals.lift()
    populator.start()
    kubectl.until(lambda: kubectl.get("virtualmachineimage", "begun") is None, "it is gone")
    kubectl.until(lambda: not images(cluster), "and its volume", 90)


def test_a_claim_deleted_in_the_middle_of_its_import_is_made_anew(server, disk, bytes_of):
    """Of an image and of a DataVolume: what they have in the end is the whole of it."""
    server.slow_s = 0.03
    kubectl.apply(kubectl.image("image", {"http": server.url("/disk.qcow2")}),
                  golden.volume("volume", {"http": {"url": server.url("/disk.qcow2")}}))
    kubectl.until(lambda: server.sent > 6 << 20, "the imports run")
    for name in ("image-image-pvc", "volume"):
        kubectl.until(lambda name=name: kubectl.get("pvc", name), "the claim is there")
        kubectl.delete("pvc", name, wait=False)
    server.slow_s = 0
    golden.await_phase("volume", "Succeeded", timeout_s=120)
    kubectl.await_state("virtualmachineimage", "image", "Available", timeout_s=120)
    for name in ("image-image-pvc", "volume"):
        assert bytes_of(kubectl.await_bound(name), 64 << 20) == disk["raw"], name
