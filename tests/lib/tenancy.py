# SPDX-License-Identifier: Apache-2.0
"""Pools of a test's own in the common Ceph, and a Ceph user who sees no others: controllers of
several tenancies run side by side and have nothing to do with each other."""

import contextlib
import json
import os

import rbd

import volumes

PLACEMENT_GROUPS = 8


def mon_command(cluster, prefix, **arguments):
    command = json.dumps({"prefix": prefix, **arguments})
    status, answer, message = cluster.rados.mon_command(command, b"")
    assert status == 0, f"{command}: {message}"
    return answer.decode()


class Tenancy:
    """`folder` gets clusters.json, so it is what a Controller takes as its Ceph's folder."""

    namespace = volumes.NAMESPACE

    def __init__(self, cluster, name, folder):
        self.cluster = cluster
        self.dir = str(folder)
        self.pool, self.data_pool = self.pools = (name, f"{name}-data")
        os.makedirs(self.dir, exist_ok=True)
        for pool in self.pools:
            self._make_pool(pool)
        with cluster.ioctx(self.pool) as ioctx, contextlib.suppress(rbd.ImageExists):
            rbd.RBD().namespace_create(ioctx, self.namespace)
        self._make_user(name)

    def _make_pool(self, pool):
        numbers = {"pg_num": PLACEMENT_GROUPS, "pgp_num": PLACEMENT_GROUPS}
        mon_command(self.cluster, "osd pool create", pool=pool, **numbers)
        with self.cluster.ioctx(pool) as ioctx:
            rbd.RBD().pool_init(ioctx, True)

    def _make_user(self, name):
        osd = ", ".join(f"profile rbd pool={pool}" for pool in self.pools)
        caps = ["mon", "profile rbd", "mgr", "profile rbd", "osd", osd]
        key = mon_command(
            self.cluster, "auth get-or-create-key", entity=f"client.{name}", caps=caps
        )
        key_file = os.path.join(self.dir, "key")
        with open(key_file, "w", encoding="ascii") as file:
            file.write(key)
        entry = {
            "clusterID": volumes.CLUSTER_ID,
            "confFile": self.cluster.conf,
            "user": name,
            "keyFile": key_file,
        }
        with open(os.path.join(self.dir, "clusters.json"), "w", encoding="ascii") as file:
            json.dump({"clusters": [entry]}, file)

    def parameters(self, **more):
        return volumes.parameters(**{"pool": self.pool, **more})

    def leftovers(self):
        return [line for pool in self.pools for line in self.cluster.leftovers(pool)]

    def assert_nothing_left(self):
        volumes.assert_nothing_left(self.cluster, self.pools)

    def scrub(self):
        for pool in self.pools:
            volumes.scrub(self.cluster, pool)
