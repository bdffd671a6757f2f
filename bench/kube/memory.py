# SPDX-License-Identifier: Apache-2.0
"""The populator's memory: at rest, and with imports queued that a server keeps waiting."""

import time

import kubectl
from claims import SPACE
from subject import status_mib

QUEUED = 20
AT_REST_S = 3


def resident_mib(populator):
    return status_mib(populator.pid)[0]


def at_rest(populator):
    time.sleep(AT_REST_S)
    return resident_mib(populator)


def queued(populator, server, count=QUEUED):
    """With so many images that are being imported or wait for it. All of them are gone behind it."""
    names = [f"queued-{i}" for i in range(count)]
    server.is_held = True
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
                  kubectl.storage_class("rbd"))
    kubectl.apply(*(kubectl.image(name, {"http": server.url(f"/{name}.qcow2")}, SPACE) for name in names))

    def are_creating():
        items = kubectl.get_all("virtualmachineimage")
        return sum(item.get("status", {}).get("state") == "Creating" for item in items) == count

    kubectl.until(are_creating, "the imports are queued")
    used = at_rest(populator)
    kubectl.run("delete", "virtualmachineimage", *names, "-n", SPACE, "--timeout=110s")
    server.is_held = False
    return used
