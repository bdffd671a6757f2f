# SPDX-License-Identifier: Apache-2.0
"""The tour of `./dev demo`: an image and a virtual machine that boots from a clone of it
(demo_machine.py), then a volume's life through the CSI socket, each step with its time.

Data is written and read past the driver, with librbd: what the driver answers is shown to be so."""

import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))

import csi  # noqa: E402
from ceph import Cluster  # noqa: E402
from demo_machine import MachineDemo  # noqa: E402
from demo_screen import heading, step  # noqa: E402

GIB = 1 << 30
MIB = 1 << 20
DATA = os.urandom(MIB) * 64


class Demo:
    """Owns the connections; each method is a step or a few."""

    def __init__(self, cluster, client, pool):
        self.cluster = cluster
        self.client = client
        self.pool = pool
        self.common = {
            "volume_capabilities": [csi.single_node_block()],
            "parameters": {"clusterID": os.environ["CLUSTER_ID"], "pool": pool},
        }

    def create(self, name, source=None):
        request = {"name": name, "capacity_range": {"required_bytes": GIB}, **self.common}
        if source:
            request["volume_content_source"] = source
        return self.client.CreateVolume(**request).volume.volume_id

    def expect_data(self, volume_id, note):
        with self.cluster.volume(volume_id, read_only=True) as image:
            assert image.read(0, len(DATA)) == DATA, f"volume {volume_id} holds other data"
        note(f"sha256 {hashlib.sha256(DATA).hexdigest()[:12]}… as written")

    def used_mib(self):
        return self.cluster.usage(self.pool)["num_bytes"] / MIB

    def wait_used(self, is_right):
        """The usage in MiB, once the manager reports what is expected: it lags about a second."""
        deadline = time.monotonic() + 60
        while not is_right(used := self.used_mib()):
            assert time.monotonic() < deadline, f"the pool holds {used:.0f} MiB"
            time.sleep(0.1)
        return used

    def run(self):
        heading("A volume and its copies")
        with step("CreateVolume, 1 GiB") as note:
            source = self.create("demo-source")
            note(source)
        with step("write 64 MiB with librbd"), self.cluster.volume(source) as image:
            image.write(DATA, 0)
        with step("CreateSnapshot"):
            snapshot = self.client.CreateSnapshot(
                name="demo-snapshot", source_volume_id=source).snapshot.snapshot_id
        with step("CreateVolume from the snapshot"):
            restored = self.create("demo-restored", {"snapshot": {"snapshot_id": snapshot}})
        with step("read it back") as note:
            self.expect_data(restored, note)
        with step("CreateVolume from the live volume"):
            clone = self.create("demo-clone", {"volume": {"volume_id": source}})
        with step("read it back") as note:
            self.expect_data(clone, note)
        with step("ControllerExpandVolume of the clone to 2 GiB") as note:
            self.client.ControllerExpandVolume(
                volume_id=clone, capacity_range={"required_bytes": 2 * GIB})
            with self.cluster.volume(clone, read_only=True) as image:
                assert image.size() == 2 * GIB
                note(f"librbd says {image.size() // MIB} MiB")
        peak = self.wait_used(lambda used: used >= 64)
        print(f"    three volumes and a snapshot hold {peak:.0f} MiB: copies share their data")

        heading("Deleted in the awkward order: the source first")
        with step("DeleteVolume of the source"):
            self.client.DeleteVolume(volume_id=source)
        with step("its clone still reads") as note:
            self.expect_data(clone, note)
        with step("DeleteSnapshot, restored from"):
            self.client.DeleteSnapshot(snapshot_id=snapshot)
        with step("the restored volume still reads") as note:
            self.expect_data(restored, note)
        with step("DeleteVolume of the clone"):
            self.client.DeleteVolume(volume_id=clone)
        with step("DeleteVolume of the restored one, the last"):
            self.client.DeleteVolume(volume_id=restored)
        with step("the space comes back") as note:
            left = self.cluster.wait_empty(self.pool)
            assert not left, "left in the pool: " + ", ".join(left)
            used = self.wait_used(lambda used: used < 1)
            note(f"{peak:.0f} MiB before, {used:.0f} MiB now")
        self.show_usage()

    def show_usage(self):
        usage = self.cluster.usage(self.pool)
        print(f"\n    {'POOL':<12} {'USED':>9} {'OBJECTS':>9} {'CLONES':>9}")
        print(f"    {self.pool:<12} {usage['num_kb']:>5} KiB {usage['num_objects']:>9}"
              f" {usage['num_object_clones']:>9}")


def main():
    directory = os.environ["CEPH_DIR"]
    with Cluster(directory) as cluster, csi.Client(f"{directory}/csi.sock") as client:
        MachineDemo(cluster, client, os.environ["POOL"]).run()
        Demo(cluster, client, os.environ["POOL"]).run()


if __name__ == "__main__":
    main()
