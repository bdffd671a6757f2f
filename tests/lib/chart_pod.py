# SPDX-License-Identifier: Apache-2.0
"""What the chart's pod runs beside the controller: the sidecars and the populator, as processes of
this machine, with the rights of the chart's service account ($IMPRINT_KUBECONFIG)."""

import os
import socket
import time
import urllib.error
import urllib.request

from certificates import Authority
from daemon import Daemon

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"))
WORKER = os.path.join(BUILD, "cli", "imprint")

COMMON = ["--kube-api-qps=50", "--kube-api-burst=100"]
ARGUMENTS = {
    "csi-provisioner": ["--extra-create-metadata"],
    "csi-snapshotter": [],
    "csi-resizer": ["--handle-volume-inuse-error=false", "--feature-gates=VolumeAttributesClass=false"],
}


def sidecars(csi_socket, folder, names=tuple(ARGUMENTS)):
    """Daemons that are not started."""
    return [
        Daemon(name, [name, "--kubeconfig", os.environ["IMPRINT_KUBECONFIG"], "--csi-address", csi_socket,
                      *COMMON, *ARGUMENTS[name]], os.path.join(folder, f"{name}.log")) for name in names
    ]


def snapshot_controller(folder):
    """The cluster's, not the chart's."""
    return Daemon("snapshot-controller", ["snapshot-controller", "--kubeconfig", os.environ["KUBECONFIG"]],
                  os.path.join(folder, "snapshot-controller.log"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Populator(Daemon):

    def __init__(self, csi_socket, clusters, folder, identity, *arguments, log_level="debug"):
        self.metrics = f"127.0.0.1:{free_port()}"
        self.upload = f"127.0.0.1:{free_port()}"
        self.authority = Authority(folder)
        self.certificate = self.authority.issue("server", "IP:127.0.0.1")
        super().__init__(
            f"populator-{identity}",
            [
                os.path.join(BUILD, "populator", "program", "imprint-populator"), "--endpoint",
                f"unix://{csi_socket}", "--config", clusters, "--worker", WORKER, "--kubeconfig",
                os.environ["IMPRINT_KUBECONFIG"], "--allow-local-addresses", "--identity", identity,
                "--log-level", log_level, "--metrics-listen", self.metrics, "--upload-listen", self.upload,
                "--upload-certificate", self.certificate[0], "--upload-key", self.certificate[1],
                "--upload-url", f"https://{self.upload}", "--host-images", os.environ["HOST_IMAGES"],
                "--golden-images", "imprint-golden-images", *arguments
            ], os.path.join(folder, f"populator-{identity}.log"))

    def wait_ready(self, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while not self.is_ready():
            assert self.process.poll() is None, f"the populator has ended:\n{self.log_text()[-2000:]}"
            assert time.monotonic() < deadline, f"the populator is not ready:\n{self.log_text()[-2000:]}"
            time.sleep(0.05)
        return self

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.metrics}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


class NodePopulator(Daemon):
    """One that reads files of a node, with the rights of the chart's DaemonSet."""

    def __init__(self, clusters, folder, node):
        super().__init__(f"populator-{node}", [
            os.path.join(BUILD, "populator", "program", "imprint-populator"), "--node", node,
            "--host-images", os.environ["HOST_IMAGES"], "--config", clusters, "--worker", WORKER,
            "--kubeconfig", os.environ["HOST_IMAGES_KUBECONFIG"], "--identity", f"host-images-{node}",
            "--log-level", "debug", "--metrics-listen", f"127.0.0.1:{free_port()}"
        ], os.path.join(folder, f"populator-{node}.log"))
