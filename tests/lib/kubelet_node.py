# SPDX-License-Identifier: Apache-2.0
"""imprint-node for the kubelet that the group started (tests/env/kubelet.sh); $KUBELET_DIR is the
folder of that."""

import os
import subprocess

from controller import ROOT
from node import Node


class KubeletNode(Node):

    def __init__(self, ceph_dir, arguments=(), environment=None):
        super().__init__(ceph_dir, name=os.environ["KUBELET_NODE"], environment=environment)
        self.folder = os.environ["KUBELET_DIR"]
        self.kubelet_dir = os.path.realpath(os.path.join(self.folder, "kubelet"))
        self.registry = os.path.join(self.kubelet_dir, "plugins_registry")
        for option, value in (("--kubelet-dir", self.kubelet_dir),
                              ("--registration-dir", self.registry)):
            self.command[self.command.index(option) + 1] = value
        self.command += arguments

    def mounts(self):
        """Those of volumes: kubelet has others of its own."""
        return [point for point in super().mounts()
                if point.startswith(self.run_dir) or "kubernetes.io~csi" in point
                or "/plugins/kubernetes.io/csi/" in point]

    def restart_kubelet(self):
        subprocess.run([os.path.join(ROOT, "tests/env/kubelet.sh"), "kubelet_restart", self.folder],
                       check=True)
