# SPDX-License-Identifier: Apache-2.0
"""The private Kubernetes as a person uses it: kubectl."""

import json
import os
import subprocess
import time

GROUP = "hypercloud.tmaxanc.com"
DRIVER = f"imprint.csi.{GROUP}"


class Refused(Exception):
    """What kubectl said."""


def run(*arguments, stdin=None):
    done = subprocess.run(["kubectl", *arguments],
                         input=stdin,
                         capture_output=True,
                         text=True,
                         timeout=120)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    return done.stdout


def apply(*objects):
    run("apply", "-f", "-", stdin="\n---\n".join(json.dumps(item) for item in objects))


def get(kind, name, namespace="default"):
    """The object, or None."""
    try:
        return json.loads(run("get", kind, name, "-n", namespace, "-o", "json"))
    except Refused as failure:
        if "NotFound" in str(failure):
            return None
        raise


def get_all(kind):
    return json.loads(run("get", kind, "-A", "-o", "json"))["items"]


def delete(kind, *names, namespace="default", wait=True):
    run("delete", kind, *names, "-n", namespace, "--ignore-not-found", f"--wait={str(wait).lower()}")


def events(name, namespace="default"):
    """What is said about an object: "Reason: message" each."""
    items = json.loads(
        run("get", "events", "-n", namespace, "--field-selector", f"involvedObject.name={name}",
                "-o", "json"))["items"]
    return [f"{item['reason']}: {item['message']}" for item in items]


def until(condition, what, timeout_s=60):
    """Waits for condition() to be true; its value."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.1)


def state(kind, name, namespace="default"):
    item = get(kind, name, namespace)
    return (item or {}).get("status", {}).get("state", "")


def message(kind, name, namespace="default"):
    conditions = (get(kind, name, namespace) or {}).get("status", {}).get("conditions", [])
    return conditions[0]["message"] if conditions else ""


def await_state(kind, name, wanted, namespace="default", timeout_s=60):
    """Until it is in that state; fails at once when it ends in another."""

    def reached():
        now = state(kind, name, namespace)
        assert now in ("", wanted) or now not in ("Error", "Completed"), \
            f"{kind} {name} is {now}: {message(kind, name, namespace)}"
        return now == wanted

    until(reached, f"{kind} {name} {wanted}", timeout_s)
    return get(kind, name, namespace)


def await_bound(name, namespace="default", timeout_s=60):
    """The CSI handle of the claim's volume."""

    def bound():
        claim = get("pvc", name, namespace) or {}
        return claim.get("status", {}).get("phase") == "Bound" and claim["spec"]["volumeName"]

    volume = until(bound, f"claim {name} bound: {events(name, namespace)}", timeout_s)
    return get("pv", volume)["spec"]["csi"]["volumeHandle"]


def image(name, source, namespace="default", **spec):
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "VirtualMachineImage",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"storageClassName": "rbd", "source": source, **spec},
    }


def claim(name, size, namespace="default", storage_class="rbd", **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "storageClassName": storage_class,
            "volumeMode": "Block",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def from_image(name, namespace=None):
    """dataSourceRef of a claim."""
    reference = {"apiGroup": GROUP, "kind": "VirtualMachineImage", "name": name}
    if namespace:
        reference["namespace"] = namespace
    return {"dataSourceRef": reference}


def storage_class(name, **more):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "parameters": {"clusterID": os.environ["CLUSTER_ID"], "pool": os.environ["POOL"]},
        "allowVolumeExpansion": True,
        **more,
    }
