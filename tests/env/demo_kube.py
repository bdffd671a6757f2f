# SPDX-License-Identifier: Apache-2.0
"""The end of `./dev demo`: the same on Kubernetes, by kubectl. The control plane and the chart are there already; the
sidecars and the populator run with the rights that the chart gives them.

An image comes from a web server, two volumes are clones of it, a machine boots from one, which is then lost, rolled
back to a VolumeSnapshot and exported. What kubectl shows on the way is shown."""

import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))

import chart_pod  # noqa: E402
import demo_boot  # noqa: E402
import kubectl  # noqa: E402
import s3_store  # noqa: E402
from ceph import Cluster  # noqa: E402
from demo_screen import heading, quote, step, typed  # noqa: E402
from fault_server import FaultServer  # noqa: E402
from image_server import ImageFile  # noqa: E402
from images import MIB, qemu_img  # noqa: E402

SPACE = "demo"  # the namespace
BUCKET, OBJECT = "demo-kube", "disk-a.qcow2"
SIZE = f"{os.path.getsize(demo_boot.DISK) // MIB}Mi"
# where the wait of a kind ends
READY = {"vmim": "{.status.state}=Available", "vmv": "{.status.state}=Available", "pvc": "{.status.phase}=Bound",
         "volumesnapshot": "{.status.readyToUse}=true", "vmvr": "{.status.state}=Completed",
         "vmve": "{.status.state}=Completed"}


def ours(kind, name, **spec):
    return {"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": SPACE}, "spec": spec}


def show(*kinds):
    """Tables, as whoever types the commands sees them."""
    for kind in kinds:
        typed(f"kubectl get {kind}")
        for line in kubectl.run("get", kind, "-n", SPACE).splitlines():
            quote(line.rstrip())


def wait(*names, timeout_s=120):
    """For kind/name each; kubectl follows the object, so the step's time is true."""
    for name in names:
        kubectl.run("wait", "-n", SPACE, f"--for=jsonpath={READY[name.partition('/')[0]]}", name,
                    f"--timeout={timeout_s}s")


def handle_of(claim):
    return kubectl.await_bound(claim, SPACE)


class KubeDemo:

    def __init__(self, cluster):
        self.cluster = cluster
        self.store = s3_store.load()
        self.s3 = s3_store.client_of(self.store)

    def prepare(self):
        keys = {"AWS_ACCESS_KEY_ID": self.store["access_key"], "AWS_SECRET_ACCESS_KEY": self.store["secret_key"]}
        self.s3.create_bucket(Bucket=BUCKET)
        kubectl.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
            kubectl.storage_class("rbd"),
            {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": {"name": "rbd"},
             "driver": kubectl.DRIVER, "deletionPolicy": "Delete"},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store", "namespace": SPACE},
             "stringData": keys})

    def make(self):
        with FaultServer(ImageFile(demo_boot.packed()).serve) as server:
            with step("VirtualMachineImage, from a web server") as note:
                kubectl.apply(ours("VirtualMachineImage", "linux", storageClassName="rbd",
                                   source={"http": server.url("/linux.qcow2")}))
                wait("vmim/linux")
                note(f"{server.sent / MIB:.0f} MiB fetched")
        with step("VirtualMachineVolume of it: a clone, bound"):
            kubectl.apply(ours("VirtualMachineVolume", "disk-a", virtualMachineImage={"name": "linux"},
                               capacity={"storage": SIZE}))
            wait("vmv/disk-a")
        with step("PersistentVolumeClaim of it: another"):
            kubectl.apply(kubectl.claim("disk-b", SIZE, SPACE, **kubectl.from_image("linux")))
            wait("pvc/disk-b")
        show("vmim", "vmv", "pvc")

    def lose_and_roll_back(self):
        volume = handle_of("disk-a-vmv-pvc")
        with step("boot a machine from the first"):
            assert demo_boot.boot(self.cluster, volume, "disk-a") == 1
        with step("VolumeSnapshot, ready to use"):
            kubectl.apply({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
                           "metadata": {"name": "before", "namespace": SPACE},
                           "spec": {"volumeSnapshotClassName": "rbd",
                                    "source": {"persistentVolumeClaimName": "disk-a-vmv-pvc"}}})
            wait("volumesnapshot/before")
        with step("lose the disk: zeros all over it"), self.cluster.volume(volume) as image:
            image.discard(0, image.size())
        with step("VirtualMachineVolumeRollback"):
            kubectl.apply(ours("VirtualMachineVolumeRollback", "undo", pvcName="disk-a-vmv-pvc",
                               volumeSnapshotName="before"))
            wait("vmvr/undo")
        with step("boot again: it knows of its first boot"):
            assert demo_boot.boot(self.cluster, volume, "disk-a") == 2
        return volume

    def send_away(self, volume):
        with step("VirtualMachineVolumeExport to an S3 store"):
            kubectl.apply(ours("VirtualMachineVolumeExport", "copy", pvcName="disk-a-vmv-pvc",
                               objectStore={"bucketName": BUCKET, "objectName": OBJECT,
                                            "endpoint": self.store["plain"], "secretRef": "store"}))
            wait("vmve/copy")
        with step("compare what a foreign client downloads"), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, OBJECT)
            self.s3.download_file(BUCKET, OBJECT, path)
            qemu_img("compare", "-f", "qcow2", "-F", "raw", path, demo_boot.drive(self.cluster, volume))
        show("volumesnapshot", "vmvr", "vmve")

    def take_away(self):
        with step("kubectl delete namespace, all at once"):
            kubectl.run("delete", "namespace", SPACE, "--timeout=110s")
        with step("nothing is left in Kubernetes or in Ceph"):
            for kind in ("pv", "volumesnapshotcontent"):
                kubectl.until(lambda kind=kind: not kubectl.get_all(kind), f"no {kind} left")
            left = self.cluster.wait_empty(os.environ["POOL"])
            assert not left, "left in the pool: " + ", ".join(left)

    def run(self):
        with step("classes, a namespace, the keys of a store"):
            self.prepare()
        self.make()
        self.send_away(self.lose_and_roll_back())
        self.take_away()


def main():
    directory = os.environ["CEPH_DIR"]
    csi_socket = f"{directory}/csi.sock"
    heading("The same on Kubernetes: image, volumes, machine, snapshot, rollback, export")
    with tempfile.TemporaryDirectory() as folder, Cluster(directory) as cluster, contextlib.ExitStack() as running:
        with step("start the sidecars and imprint-populator"):
            for daemon in (*chart_pod.sidecars(csi_socket, folder, ("csi-provisioner", "csi-snapshotter")),
                           chart_pod.snapshot_controller(folder)):
                running.enter_context(daemon)
            running.enter_context(
                chart_pod.Populator(csi_socket, f"{directory}/clusters.json", folder, "demo")).wait_ready()
        KubeDemo(cluster).run()
    print("\nNext: ./dev up keeps such a Ceph and controller running; ./dev test runs all tests.")


if __name__ == "__main__":
    main()
