# SPDX-License-Identifier: Apache-2.0
"""Where a run happens: the cluster, the programs, the scratch folder."""

import os
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Place:

    def __init__(self):
        self.conf = os.path.join(os.environ["CEPH_DIR"], "ceph.conf")
        self.pool = os.environ["POOL"]
        self.imprint = os.path.join(ROOT, "build", "release", "cli", "imprint")
        self.floor = os.path.join(ROOT, "build", "release", "bench", "data_floor")
        self.peers = os.environ["PEERS"]
        self.has_cdi = os.access(f"{self.peers}/cdi-import.sh", os.X_OK)

    @staticmethod
    def scratch(name):
        return os.path.join(os.environ["SCRATCH"], name)

    def remove(self, image):
        """Waits until its space is free."""
        subprocess.run(["rbd", "-c", self.conf, "rm", "--no-progress", f"{self.pool}/{image}"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
