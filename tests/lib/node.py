# SPDX-License-Identifier: Apache-2.0
"""An imprint-node process that tests start, kill and restart, with a folder of kubelet's own.

    with Node(ceph_dir) as node, node.client() as client:
        client.NodeStageVolume(volume_id=..., staging_target_path=node.staging("v"), ...)

Leaving the block takes away, past the plugin, whatever it has left mounted or mapped."""

import os
import signal
import subprocess
import tempfile

import volumes
from controller import ROOT, Controller

DRIVER = "imprint.csi.hypercloud.tmaxanc.com"


class Node(Controller):
    """ceph_dir holds clusters.json. The node has a folder of its own, near the top: paths of
    sockets are short."""

    def __init__(self, ceph_dir, name="node-a", preset=None, arguments=(), environment=None,
                 mapper="fuse"):
        workdir = os.path.realpath(tempfile.mkdtemp(prefix="n.", dir=os.environ.get("SCRATCH")))
        super().__init__(ceph_dir, workdir, preset, environment=environment)
        self.name = name
        self.log = os.path.join(self.workdir, "node.log")
        self.kubelet_dir = os.path.join(workdir, "kubelet")
        self.run_dir = os.path.join(workdir, "run")
        self.registry = os.path.join(workdir, "reg")
        for folder in (self.registry, f"{self.kubelet_dir}/staging", f"{self.kubelet_dir}/pods"):
            os.makedirs(folder, exist_ok=True)
        preset = preset or os.environ.get("PRESET", "release")
        self.command = [
            os.path.join(ROOT, "build", preset, "nodeplugin", "imprint-node"),
            "--endpoint", f"unix://{self.socket}",
            "--config", os.path.join(str(ceph_dir), "clusters.json"),
            "--run-dir", self.run_dir, "--kubelet-dir", self.kubelet_dir, "--node-name", name,
            "--mapper", mapper, "--registration-dir", self.registry, *arguments]

    @property
    def registration_socket(self):
        return os.path.join(self.registry, f"{DRIVER}-reg.sock")

    def staging(self, name):
        """A staging path, made as kubelet makes it."""
        path = os.path.join(self.kubelet_dir, "staging", name, "globalmount")
        os.makedirs(path, exist_ok=True)
        return path

    def target(self, name):
        """A target path, whose parent is there."""
        path = os.path.join(self.kubelet_dir, "pods", name, "mount")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def mounts(self):
        """Mount points below kubelet's folder and the run folder."""
        with open("/proc/self/mountinfo", encoding="utf-8") as table:
            points = [line.split()[4] for line in table]
        return [point for point in points
                if point.startswith((self.kubelet_dir + "/", self.run_dir + "/"))]

    def loops(self):
        """Loop devices on files of the run folder, and those on top of them."""
        found = {}
        for name in os.listdir("/sys/block"):
            try:
                with open(f"/sys/block/{name}/loop/backing_file", encoding="utf-8") as file:
                    found[name] = file.read().strip()
            except OSError:
                continue
        ours = {name for name, file in found.items() if file.startswith(self.run_dir + "/")}
        return sorted(name for name, file in found.items()
                      if name in ours or os.path.basename(file) in ours)

    def helpers(self):
        """Pids of the programs that serve this node's volumes."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if "qemu-storage-daemon" in words[0] and any(self.run_dir in word for word in words):
                found.append(int(pid))
        return found

    def leftovers(self):
        """What a node without volumes has not."""
        fuse = os.path.join(self.run_dir, "fuse")
        folders = os.listdir(fuse) if os.path.isdir(fuse) else []
        return ([f"mount {point}" for point in self.mounts()]
                + [f"loop {name}" for name in self.loops()]
                + [f"process {pid}" for pid in self.helpers()]
                + [f"folder {name}" for name in folders])

    def scrub(self):
        """Takes everything away by force."""
        for point in reversed(self.mounts()):
            if point.startswith(self.kubelet_dir):
                subprocess.run(["umount", "-l", point], check=False)
        for name in reversed(self.loops()):
            subprocess.run(["losetup", "-d", f"/dev/{name}"], check=False)
        for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
            for pid in self.helpers():  # in order if they can: a killed one holds its image on
                os.kill(pid, number)
            volumes.wait_until(lambda: not self.helpers(), seconds)
        for point in reversed(self.mounts()):
            subprocess.run(["umount", "-l", point], check=False)

    def __exit__(self, *details):
        try:
            return super().__exit__(*details)
        finally:
            self.scrub()
