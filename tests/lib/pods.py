# SPDX-License-Identifier: Apache-2.0
"""Pods of the private Kubernetes, on its one node, with busybox in them."""

import os

import kubectl

FOREVER = "sleep 2147483647"


def claimed(name):
    return {"persistentVolumeClaim": {"claimName": name}}


def inline(read_only=False, **attributes):
    return {"csi": {"driver": "imprint.csi.hypercloud.tmaxanc.com", "readOnly": read_only,
                    "volumeAttributes": attributes}}


def pod(name, volume, is_block=False, script=FOREVER, namespace="default"):
    """Has the volume at /data, or its device at /dev/data."""
    place = ({"volumeDevices": [{"name": "data", "devicePath": "/dev/data"}]} if is_block else
             {"volumeMounts": [{"name": "data", "mountPath": "/data"}]})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "containers": [{
                "name": "main",
                "image": os.environ["KUBELET_BUSYBOX"],
                "imagePullPolicy": "Never",
                "command": ["/bin/sh", "-c", script],
                **place,
            }],
            "volumes": [{"name": "data", **volume}],
        },
    }


def await_running(*names, timeout_s=120):
    """Until all of them run."""

    def phases():
        return {name: (kubectl.get("pod", name) or {}).get("status", {}).get("phase")
                for name in names}

    try:
        kubectl.until(lambda: set(phases().values()) == {"Running"}, "pods run", timeout_s)
    except AssertionError as failure:
        waiting = [name for name, phase in phases().items() if phase != "Running"]
        raise AssertionError(f"{failure}: {[kubectl.events(name) for name in waiting]}") from None


def start(*pods):
    kubectl.apply(*pods)
    await_running(*(item["metadata"]["name"] for item in pods))


def sh(name, script):
    """What a command in the pod prints."""
    return kubectl.run("exec", name, "--", "/bin/sh", "-c", script)


def delete(*names):
    kubectl.delete("pod", *names)
