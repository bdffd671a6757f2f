# SPDX-License-Identifier: Apache-2.0
"""Runs csi-sanity on the controller and reports every spec.

A spec that is not run needs a line in sanity_skips.txt that says why; one without such a line is a
failure, and so is a line that no spec needs any more. What csi-sanity leaves behind in the pool is
a failure too.

usage: sanity.py CSI_SANITY
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import process  # noqa: E402
import results  # noqa: E402
import sanity_report  # noqa: E402
import volumes  # noqa: E402
from ceph import Cluster  # noqa: E402
from controller import Controller  # noqa: E402

# Specs that would test the stand-in and not the driver.
NEEDS_NODE = "Node Service|volume lifecycle"


def run(program, folder, controller):
    """Runs all specs; the JUnit file."""
    inputs = {
        "parameters.yaml": f"clusterID: {volumes.CLUSTER_ID}\npool: {volumes.POOL}\n",
        "mutable.yaml": 'rbd_qos_iops_limit: "500"\n',
    }
    for name, text in inputs.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    node_socket = os.path.join(folder, "node.sock")
    node = subprocess.Popen(
        [
            sys.executable,
            os.path.join(HERE, "..", "lib", "node_stand_in.py"),
            node_socket,
            controller.socket,
        ],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    pid_file = process.record(f"node.{node.pid}", node.pid)
    try:
        volumes.wait_until(lambda: os.path.exists(node_socket))
        subprocess.run(
            [
                program,
                "-csi.endpoint",
                f"unix://{node_socket}",
                "-csi.controllerendpoint",
                f"unix://{controller.socket}",
                "-csi.testvolumeparameters",
                os.path.join(folder, "parameters.yaml"),
                "-csi.testvolumemutableparameters",
                os.path.join(folder, "mutable.yaml"),
                "-csi.junitfile",
                os.path.join(folder, "sanity.xml"),
                "-ginkgo.no-color",
                "-ginkgo.skip",
                NEEDS_NODE,
            ],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=open(os.path.join(folder, "sanity.log"), "w"),
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    finally:
        node.terminate()
        node.wait(30)
        process.forget(pid_file)
    return os.path.join(folder, "sanity.xml")


def main(program):
    folder = os.path.join(os.environ["SCRATCH"], "sanity")
    os.makedirs(folder)
    with Cluster(os.environ["CEPH_DIR"]) as cluster:
        with Controller(cluster.dir, workdir=os.path.join(folder, "controller")) as controller:
            junit = run(program, folder, controller)
            # while it runs: what is deleted is in the trash, and somebody has to empty that
            left = [line for pool in volumes.POOLS for line in cluster.wait_empty(pool)]
        sanity_report.report(junit, os.path.join(HERE, "sanity_skips.txt"))
        results.report(
            "fail" if left else "pass",
            "csi-sanity leaves nothing behind",
            None,
            "",
            "\n".join(left),
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
