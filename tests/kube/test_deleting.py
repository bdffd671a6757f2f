# SPDX-License-Identifier: Apache-2.0
"""Deleted in every order, whole or half made: nothing is left in Ceph or in Kubernetes."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import golden
import kubectl
import orders
import s3_store
import tenancy
from kube_api import CORE, Api

OURS = f"/apis/{kubectl.GROUP}/v1alpha1"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"
SIZE = "8Mi"
# what is deleted: where the server has it, and its name
THINGS = {
    "image": (OURS, "virtualmachineimages", "image"),
    "volume": (OURS, "virtualmachinevolumes", "volume"),
    "pvc": (OURS, "virtualmachinepvcs", "pvc"),
    "claim": (CORE, "persistentvolumeclaims", "claim"),
    "snapshot": (SNAPSHOTS, "volumesnapshots", "snapshot"),
    "restored": (CORE, "persistentvolumeclaims", "restored"),
    "clone": (CORE, "persistentvolumeclaims", "clone"),
    "export": (OURS, "virtualmachinevolumeexports", "export"),
}


def path_of(space, thing):
    api, plural, name = THINGS[thing]
    return f"{api}/namespaces/{space}/{plural}/{name}"


def ours(kind, name, space, **spec):
    return {"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": space},
            "spec": spec}


def first_things(space, url):
    """An image and what is made from it."""
    return [kubectl.image("image", {"http": url}, space),
            ours("VirtualMachineVolume", "volume", space, virtualMachineImage={"name": "image"},
                 capacity={"storage": SIZE}),
            ours("VirtualMachinePvc", "pvc", space, virtualMachineImageName="image",
                 pvc={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": SIZE}}}),
            kubectl.claim("claim", SIZE, space, **kubectl.from_image("image"))]


def further_things(space, store):
    """What is made from those."""
    of_claim = {"kind": "PersistentVolumeClaim", "name": "claim"}
    of_snapshot = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snapshot"}
    snapshot = golden.snapshot("snapshot", "claim")
    snapshot["metadata"]["namespace"] = space
    return [snapshot, kubectl.claim("clone", SIZE, space, dataSource=of_claim),
            kubectl.claim("restored", SIZE, space, dataSource=of_snapshot),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store", "namespace": space},
             "stringData": {"AWS_ACCESS_KEY_ID": store["access_key"],
                            "AWS_SECRET_ACCESS_KEY": store["secret_key"]}},
            ours("VirtualMachineVolumeExport", "export", space, pvcName="claim",
                 objectStore={"bucketName": "vm-images", "objectName": f"{space}.qcow2",
                              "endpoint": store["endpoint"], "secretRef": "store"})]


class World:
    """Namespaces that are gone behind the test, with all that was in them."""

    def __init__(self, api, cluster):
        self.api, self.cluster = api, cluster
        self.spaces = []
        self.known = api.inventory()
        self.keys = self.ceph_keys()

    def ceph_keys(self):
        return tenancy.mon_command(self.cluster, "auth ls", format="json")

    def space(self, name):
        self.api.create(f"{CORE}/namespaces", {"metadata": {"name": name}})
        self.spaces.append(name)
        return name

    def uid(self, path):
        item = self.api.get(path)
        return item and item["metadata"]["uid"]

    def delete_in_order(self, space, order):
        """Each is waited for, so that the order is that of the things and not of the requests."""
        for thing in order:
            path = path_of(space, thing)
            uid = self.uid(path)
            self.api.delete(path)
            kubectl.until(lambda path=path, uid=uid: uid is None or self.uid(path) != uid,
                          f"{thing} of {space} is gone", 90)

    def delete_all_in_order(self, plan):
        """plan: pairs of a namespace and an order."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda pair: self.delete_in_order(*pair), plan))

    def bound(self, count):
        items = [item for item in kubectl.get_all("pvc") if item["metadata"]["namespace"] in self.spaces]
        return len(items) == count and all(item["status"]["phase"] == "Bound" for item in items)

    def assert_nothing_left(self):
        """Before the namespaces go: what they have of themselves aside, they are empty."""
        own = ("configmaps", "serviceaccounts", "namespaces", "secrets")

        def remains():
            return sorted(line for line in self.api.inventory() - self.known if line.split()[0] not in own)

        kubectl.until(lambda: not remains(), f"nothing is left in Kubernetes: {remains()}", 90)
        for pool in (os.environ["POOL"], os.environ["DATA_POOL"]):
            assert self.cluster.wait_empty(pool, 90) == []
        assert self.ceph_keys() == self.keys
        for name in self.spaces:
            self.api.delete(f"{CORE}/namespaces/{name}")
        kubectl.until(lambda: not self.api.inventory() - self.known,
                      f"the namespaces are gone: {sorted(self.api.inventory() - self.known)}", 180)


@pytest.fixture
def world(cluster, populator):
    made = World(Api(), cluster)
    yield made
    for name in made.spaces:  # of a test that failed
        made.api.delete(f"{CORE}/namespaces/{name}")
    for name in made.spaces:  # there may be a second try
        kubectl.until(lambda name=name: made.api.get(f"{CORE}/namespaces/{name}") is None, f"{name} is gone", 180)


def is_done(api, space):
    ready = (api.get(path_of(space, "snapshot")).get("status") or {}).get("readyToUse")
    return ready and (api.get(path_of(space, "export")).get("status") or {}).get("state") == "Completed"


def test_whole_in_every_order(world, server, s3):
    """Eight things; of any three, each goes first, second and last in every combination."""
    things = ["image", "volume", "pvc", "claim", "snapshot", "restored", "clone", "export"]
    plan = [(world.space(f"order-{i}"), order) for i, order in enumerate(orders.every_three(things))]
    kubectl.apply(*(item for space, _ in plan for item in first_things(space, server.url("/other.raw"))))
    kubectl.until(lambda: world.bound(4 * len(plan)), "all are bound", 180)
    kubectl.apply(*(item for space, _ in plan for item in further_things(space, s3)))
    kubectl.until(lambda: world.bound(6 * len(plan)), "the copies are bound", 180)
    for space, _ in plan:
        kubectl.until(lambda space=space: is_done(world.api, space), f"{space} is complete", 60)
    world.delete_all_in_order(plan)
    world.assert_nothing_left()
    s3_store.empty(s3["client"], "vm-images")


def test_half_made_in_every_order(world, server):
    """While the image is imported, or waits for others to be: any three of four things, in each of their orders."""
    server.slow_s = 0.5
    things = ["image", "volume", "pvc", "claim"]
    plan = [(world.space(f"half-{i}"), order) for i, order in enumerate(orders.every_three(things))]
    kubectl.apply(*(item for space, _ in plan for item in first_things(space, server.url("/other.raw"))))
    kubectl.until(lambda: len([item for item in kubectl.get_all("leases")
                               if item["metadata"]["name"].startswith("image-")]) >= 4, "imports run")
    world.delete_all_in_order(plan)
    server.slow_s = 0
    world.assert_nothing_left()
