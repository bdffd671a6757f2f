# SPDX-License-Identifier: Apache-2.0
"""Nodes of a control plane that has none: objects without a kubelet, of which the tests say what one
would say. Kubernetes takes a node for dead that has been silent for half a minute."""

import json
import threading
import time

import kubectl


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def patch_status(kind, name, status, namespace="default"):
    kubectl.run("patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", "-p",
                json.dumps({"status": status}))


def say(name, is_ready):
    patch_status("node", name, {"conditions": [
        {"type": "Ready", "status": str(is_ready), "lastHeartbeatTime": now()}]})


class Node:
    """With room for pods, or with a taint that keeps them away. In a with statement it stays alive."""

    def __init__(self, name, has_room=False):
        self.name = name
        self.is_ready = True
        self.stopping = threading.Event()
        taints = [] if has_room else [{"key": "made-up", "effect": "NoSchedule"}]
        kubectl.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                       "spec": {"taints": taints}})
        if has_room:
            room = {"cpu": "8", "memory": "16Gi", "pods": "50"}
            patch_status("node", name, {"allocatable": room, "capacity": room})
        self.thread = threading.Thread(target=self._beat)

    def _beat(self):
        while not self.stopping.wait(5):
            say(self.name, self.is_ready)

    def set_ready(self, is_ready):
        self.is_ready = is_ready
        say(self.name, is_ready)

    def __enter__(self):
        say(self.name, True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        kubectl.run("delete", "node", self.name)
