# SPDX-License-Identifier: Apache-2.0
"""Claims that are made and timed: from the request until a watch tells that they are Bound.

Three ways to a volume of an image: ours, by dataSourceRef and the populator; the provisioner's, by a VolumeSnapshot of
the same volume; and no volume at all, which is the floor of the Kubernetes share: the PersistentVolume is written as
soon as the claim's uid is known, and Kubernetes binds the two."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import kubectl
from kube_api import CORE

SPACE = "bench"
CLAIMS = f"{CORE}/namespaces/{SPACE}/persistentvolumeclaims"
VOLUMES = f"{CORE}/persistentvolumes"
SIZE = "64Mi"
STATIC_CLASS = "bench-static"
IMAGE, SNAPSHOT = "golden", "golden"
BOUND_S = 120


class BoundWatch:
    """When each claim was first seen Bound."""

    def __init__(self, api):
        self.changed = threading.Condition()
        self.bound_at = {}
        threading.Thread(target=self._follow, args=(api, ), daemon=True).start()

    def _follow(self, api):
        """The server may end a watch at any time, of one that is slow to read all the more."""
        while True:
            listed = api.get(CLAIMS)
            for claim in listed["items"]:
                self._look(claim)
            for kind, claim in api.watch(CLAIMS, listed["metadata"]["resourceVersion"]):
                if kind == "ERROR":
                    break
                self._look(claim)

    def _look(self, claim):
        now = time.perf_counter()
        if claim["status"].get("phase") == "Bound":
            with self.changed:
                self.bound_at.setdefault(claim["metadata"]["name"], now)
                self.changed.notify_all()

    def wait(self, name):
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.bound_at, BOUND_S), f"claim {name} is not Bound"
            return self.bound_at[name]


class Way:
    """`more` is what the claim's spec says of its source."""

    def __init__(self, api, watch, name, storage_class="rbd", **more):
        self.api, self.watch, self.name = api, watch, name
        self.storage_class, self.more = storage_class, more
        self.count = 0

    def _claim(self, name):
        return kubectl.claim(name, SIZE, SPACE, self.storage_class, **self.more)

    def _begin(self, name):
        """When it was asked for."""
        start = time.perf_counter()
        self.api.create(CLAIMS, self._claim(name))
        return start

    def run(self, at_once):
        """Milliseconds of each claim; all of them are gone behind it."""
        names = [f"{self.name}-{self.count + i}" for i in range(at_once)]
        self.count += at_once
        with ThreadPoolExecutor(at_once) as pool:
            starts = list(pool.map(self._begin, names))
        times = [(self.watch.wait(name) - start) * 1000 for name, start in zip(names, starts)]
        self._remove(names)
        return times

    def _remove(self, names):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.api.delete(f"{CLAIMS}/{name}"), names))
        kubectl.until(lambda: not self._left(names), "the volumes are gone", 120)

    def _left(self, names):
        return [item for item in self.api.get(VOLUMES)["items"] if item["spec"]["claimRef"]["name"] in names]


class Static(Way):
    """No volume: what is bound is a PersistentVolume that we write."""

    def __init__(self, api, watch):
        super().__init__(api, watch, "static", STATIC_CLASS)

    def _begin(self, name):
        start = time.perf_counter()
        claim = self.api.create(CLAIMS, self._claim(name))
        self.api.create(VOLUMES, self._volume(claim))
        return start

    def _volume(self, claim):
        metadata = claim["metadata"]
        return {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": metadata["name"]},
            "spec": {
                "capacity": {"storage": SIZE}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Block",
                "storageClassName": STATIC_CLASS, "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": "none.bench", "volumeHandle": metadata["name"]},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": SPACE,
                             "name": metadata["name"], "uid": metadata["uid"]},
            },
        }

    def _remove(self, names):
        for name in names:
            self.api.delete(f"{CLAIMS}/{name}")
            self.api.delete(f"{VOLUMES}/{name}")
        super()._remove(names)


def ways(api):
    """Of all that is compared, by name."""
    watch = BoundWatch(api)
    snapshot = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": SNAPSHOT}
    return {"ours": Way(api, watch, "ours", **kubectl.from_image(IMAGE)),
            "provisioner": Way(api, watch, "provisioner", dataSource=snapshot),
            "kubernetes": Static(api, watch)}


def prepare(url):
    """The classes, the image and a snapshot of its volume."""
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, kubectl.storage_class("rbd"),
        {**kubectl.storage_class(STATIC_CLASS), "provisioner": "kubernetes.io/no-provisioner", "parameters": {}},
        {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": {"name": "rbd"},
         "driver": kubectl.DRIVER, "deletionPolicy": "Delete"},
        kubectl.image(IMAGE, {"http": url}, SPACE))
    kubectl.await_state("virtualmachineimage", IMAGE, "Available", SPACE)
    kubectl.await_bound(f"{IMAGE}-image-pvc", SPACE)
    kubectl.apply({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                   "metadata": {"name": SNAPSHOT, "namespace": SPACE},
                   "spec": {"volumeSnapshotClassName": "rbd",
                            "source": {"persistentVolumeClaimName": f"{IMAGE}-image-pvc"}}})
    kubectl.run("wait", "-n", SPACE, "--for=jsonpath={.status.readyToUse}=true", f"volumesnapshot/{SNAPSHOT}",
                "--timeout=60s")
