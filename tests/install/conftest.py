# SPDX-License-Identifier: Apache-2.0
"""The chart as a user installs it: pods of images built here, on a real kubelet, with a real Ceph
that they reach over the network. The tests of this folder go on from each other, in their order."""

import os
import socket

import pytest

import sample_disk
from daemon import Daemon
from fault_server import FaultServer, File


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    return sample_disk.make(tmp_path_factory.mktemp("disk"))


@pytest.fixture(scope="session")
def server(disk):
    """Serves the qcow2 to pods; slow_s is how long it waits behind every 64 KiB."""
    file = File(size=0, etag='"one"')
    file.data = disk[1].read_bytes()

    def handle(request, reply):
        status, headers, body = file.answer(request)
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
