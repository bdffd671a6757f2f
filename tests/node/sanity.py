# SPDX-License-Identifier: Apache-2.0
"""Runs csi-sanity on the node plugin, with the controller beside it, and reports every spec.

Specs of the controller alone are run by tests/csi. What csi-sanity leaves behind, on the machine or
in the pool, is a failure.

usage: sanity.py CSI_SANITY
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import results  # noqa: E402
import sanity_report  # noqa: E402
import volumes  # noqa: E402
from ceph import Cluster  # noqa: E402
from controller import Controller  # noqa: E402
from node import Node  # noqa: E402

FOCUS = "Node Service|volume lifecycle|Identity"


def run(program, folder, controller, node):
    """Runs the specs; the JUnit file."""
    parameters = os.path.join(folder, "parameters.yaml")
    with open(parameters, "w", encoding="utf-8") as file:
        file.write(f"clusterID: {volumes.CLUSTER_ID}\npool: {volumes.POOL}\n")
    with open(os.path.join(folder, "sanity.log"), "w", encoding="utf-8") as log:
        subprocess.run(
            [program, "-csi.endpoint", f"unix://{node.socket}",
             "-csi.controllerendpoint", f"unix://{controller.socket}",
             "-csi.testvolumeparameters", parameters,
             "-csi.testvolumesize", str(64 * volumes.MIB),
             "-csi.testvolumeexpandsize", str(128 * volumes.MIB),
             "-csi.stagingdir", os.path.join(node.kubelet_dir, "sanity-staging"),
             "-csi.mountdir", os.path.join(node.kubelet_dir, "sanity-target"),
             "-csi.junitfile", os.path.join(folder, "sanity.xml"),
             "-ginkgo.no-color", "-ginkgo.focus", FOCUS],
            check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    return os.path.join(folder, "sanity.xml")


def main(program):
    folder = os.path.join(os.environ["SCRATCH"], "node-sanity")
    os.makedirs(folder)
    with Cluster(os.environ["CEPH_DIR"]) as cluster:
        with Controller(cluster.dir, os.path.join(folder, "controller")) as controller, Node(
                cluster.dir) as node:
            junit = run(program, folder, controller, node)
            # while it runs: what is deleted is in the trash, and somebody has to empty that
            left = node.leftovers() + [line for pool in volumes.POOLS for line in cluster.wait_empty(pool)]
    sanity_report.report(junit, os.path.join(HERE, "sanity_skips.txt"), FOCUS)
    results.report("fail" if left else "pass", "csi-sanity leaves nothing behind", None, "",
                   "\n".join(left))


if __name__ == "__main__":
    main(*sys.argv[1:])
