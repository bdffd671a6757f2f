# SPDX-License-Identifier: Apache-2.0
"""The chart as a user installs it: pods of images built here, on a real kubelet, with a real Ceph
that they reach over the network. The tests of this folder go on from each other, in their order."""

import os
import socket
import subprocess

import pytest

import sample_disk
from daemon import Daemon
from fault_server import FaultServer, File


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    return sample_disk.make(tmp_path_factory.mktemp("disk"))


def foreign_files(folder, raw):
    """The disk as VMware has it, and a file of theirs that wants another one."""
    disk, wanting = folder / "disk.vmdk", folder / "wanting.vmdk"
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "vmdk", raw, disk], check=True)
    wanting.write_text("# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\n"
                       'createType="monolithicFlat"\nRW 131072 FLAT "/etc/passwd" 0\n')
    return disk, wanting


@pytest.fixture(scope="session")
def server(disk, tmp_path_factory):
    """Serves the qcow2 to pods, and others by their names; slow_s is how long it waits behind every 64 KiB."""
    files = {}
    for path in (disk[1], *foreign_files(tmp_path_factory.mktemp("foreign"), disk[0])):
        files[f"/{path.name}"] = File(size=0, etag=f'"{path.name}"')
        files[f"/{path.name}"].data = path.read_bytes()

    def handle(request, reply):
        status, headers, body = files[request.path].answer(request)
        reply.head(status, headers)
        for at in range(0, 0 if request.method == "HEAD" else len(body), 64 << 10):
            reply.send(body[at:at + (64 << 10)])
            if running.slow_s:
                reply.stall(running.slow_s)

    with FaultServer(handle,
                     bind=lambda: socket.create_server((os.environ["NODE_ADDRESS"], 0), backlog=64)) as running:
        running.slow_s = 0
        yield running


@pytest.fixture(scope="session", autouse=True)
def snapshot_controller(tmp_path_factory):
    """The cluster's, not the chart's."""
    with Daemon("snapshot-controller",
                ["snapshot-controller", "--kubeconfig", os.environ["KUBECONFIG"]],
                tmp_path_factory.mktemp("sidecars") / "snapshot-controller.log") as running:
        yield running
