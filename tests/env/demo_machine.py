# SPDX-License-Identifier: Apache-2.0
"""The first half of `./dev demo`: an image comes from a web server into a volume, a virtual machine
boots from a clone of it, its disk is lost and rolled back, and goes to an object store."""

import functools
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import csi
import demo_boot
import s3_store
from demo_screen import heading, step
from fault_server import FaultServer
from image_server import ImageFile
from images import MIB, qemu_img

BUCKET = "demo"


class MachineDemo:

    def __init__(self, cluster, client, pool):
        self.cluster = cluster
        self.client = client
        self.boot = functools.partial(demo_boot.boot, cluster)
        self.drive = functools.partial(demo_boot.drive, cluster)
        self.size = os.path.getsize(demo_boot.DISK)
        self.request = {
            "capacity_range": {"required_bytes": self.size},
            "volume_capabilities": [csi.single_node_block()],
            "parameters": {"clusterID": os.environ["CLUSTER_ID"], "pool": pool},
        }

    # ---- what is called

    def imprint(self, command, *arguments):
        """Its progress line is shown where there is a terminal."""
        store = s3_store.load()
        keys = {"AWS_ENDPOINT_URL": store["plain"], "AWS_ACCESS_KEY_ID": store["access_key"],
                "AWS_SECRET_ACCESS_KEY": store["secret_key"]}
        local = ["--allow-local-addresses"] if command != "rollback" else []
        subprocess.run([os.environ["IMPRINT"], command, *map(str, arguments), *local, "--clusters",
                        os.path.join(self.cluster.dir, "clusters.json")], check=True,
                       env={**os.environ, **keys})

    def create(self, name, snapshot=None):
        source = {"volume_content_source": {"snapshot": {"snapshot_id": snapshot}}} if snapshot else {}
        return self.client.CreateVolume(name=name, **self.request, **source).volume.volume_id

    def snapshot(self, name, volume):
        return self.client.CreateSnapshot(name=name, source_volume_id=volume).snapshot.snapshot_id

    # ---- the tour

    def bring_in(self):
        image = demo_boot.packed()
        golden = self.create("demo-golden")
        packed = os.path.getsize(image) / MIB
        with FaultServer(ImageFile(image).serve) as server:
            with step("imprint import, compressed qcow2 over HTTP") as note:
                self.imprint("import", server.url(), f"volume:{golden}", "--existing")
                note(f"{packed:.0f} MiB fetched")
        with step("compare with the image, byte for byte"):
            qemu_img("compare", "-f", "raw", "-F", "qcow2", self.drive(golden), image)
        with step("CreateSnapshot"):
            base = self.snapshot("demo-base", golden)
        with step("CreateVolume from it"):
            first = self.create("demo-machine-1", base)
        with step("CreateVolume from it, another"):
            second = self.create("demo-machine-2", base)
        return golden, base, first, second

    def lose_and_roll_back(self, volume):
        with step("CreateSnapshot of the machine's disk"):
            snapshot = self.snapshot("demo-before", volume)
        with step("lose the disk: zeros all over it"), self.cluster.volume(volume) as image:
            image.discard(0, self.size)
        with step("imprint rollback"):
            self.imprint("rollback", f"volume:{volume}", snapshot)
        with step("boot again: it knows of its first boot"):
            assert self.boot(volume, "machine-1") == 2
        return snapshot

    def send_away(self, volume):
        s3 = s3_store.client_of(s3_store.load())
        s3.create_bucket(Bucket=BUCKET)
        with step("imprint export to an S3 store, as qcow2") as note:
            self.imprint("export", f"volume:{volume}", f"s3://{BUCKET}/machine.qcow2",
                         "--s3-path-style")
            size = s3.head_object(Bucket=BUCKET, Key="machine.qcow2")["ContentLength"]
            note(f"{size / MIB:.0f} MiB")
        with step("compare what a foreign client downloads"), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.qcow2")
            s3.download_file(BUCKET, "machine.qcow2", path)
            qemu_img("check", path)
            qemu_img("compare", "-f", "qcow2", "-F", "raw", path, self.drive(volume))

    def run(self):
        heading("An image, and a virtual machine that boots from a clone of it")
        golden, base, first, second = self.bring_in()
        with step("boot a machine from each, side by side"), ThreadPoolExecutor() as machines:
            boots = machines.map(self.boot, (first, second), ("machine-1", "machine-2"))
            assert list(boots) == [1, 1]
        before = self.lose_and_roll_back(first)
        self.send_away(first)
        with step("delete all of it"):
            for volume in (golden, first, second):
                self.client.DeleteVolume(volume_id=volume)
            for snapshot in (base, before):
                self.client.DeleteSnapshot(snapshot_id=snapshot)
