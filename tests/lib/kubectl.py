# SPDX-License-Identifier: Apache-2.0
"""The private Kubernetes as a person uses it: kubectl. What tests ask again and again while they wait is asked
of the API server itself: starting kubectl each time would be most of the work of this machine."""

import http.client
import json
import os
import subprocess
import time

import kube_api

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


class Resources:
    """Where the server has the objects of a kind, under all of its names."""

    def __init__(self):
        self.api = kube_api.Api()
        self.places = {}

    def learn(self):
        for version, resource in self.api.resources():
            place = version, resource["name"], resource["namespaced"]
            for name in (resource["name"], resource["singularName"], *resource.get("shortNames", ())):
                self.places.setdefault(name.lower(), place)  # Kubernetes' own come first

    def ask(self, kind, namespace=None, name="", query=""):
        """None when it is not there."""
        try:
            if kind not in self.places:
                self.learn()
            version, resource, is_namespaced = self.places[kind]
            where = f"/namespaces/{namespace}" if is_namespaced and namespace else ""
            return self.api.get(f"{version}{where}/{resource}{name and '/' + name}{query}")
        except (kube_api.Refused, OSError, http.client.HTTPException) as failure:
            raise Refused(str(failure)) from failure


_resources = []


def ask(kind, *arguments, **more):
    if not _resources:
        _resources.append(Resources())
    return _resources[0].ask(kind, *arguments, **more)


def get(kind, name, namespace="default"):
    """The object, or None."""
    return ask(kind, namespace, name)


def get_all(kind):
    return ask(kind)["items"]


def delete(kind, *names, namespace="default", wait=True):
    run("delete", kind, *names, "-n", namespace, "--ignore-not-found", f"--wait={str(wait).lower()}")


def events(name, namespace="default"):
    """What is said about an object: "Reason: message" each."""
    items = ask("events", namespace, query=f"?fieldSelector=involvedObject.name%3D{name}")["items"]
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


def is_about_this_version(item):
    """Whether the status tells of the spec as it is now, not of the one before."""
    return all(condition.get("observedGeneration") == item["metadata"]["generation"]
               for condition in item["status"].get("conditions", []))


def await_state(kind, name, wanted, namespace="default", timeout_s=60):
    """Until it is in that state; fails at once when it ends in another."""

    def reached():
        item = get(kind, name, namespace) or {}
        now = item.get("status", {}).get("state", "")
        if now != wanted and now in ("Error", "Completed"):
            assert not is_about_this_version(item), f"{kind} {name} is {now}: {message(kind, name, namespace)}"
        return now == wanted

    until(reached, f"{kind} {name} {wanted}", timeout_s)
    return get(kind, name, namespace)


def await_error(name, *words):
    """An image that cannot be made says so, with these words, in its status and in an event. Its claim is deleted
    by then, and goes when Kubernetes takes its protection off it."""
    until(lambda: state("virtualmachineimage", name) == "Error", f"{name} in Error")
    text = message("virtualmachineimage", name)
    for word in words:
        assert word in text, text
    until(lambda: any(text[:60] in event for event in events(name)), f"an event of {name}")
    until(lambda: get("pvc", f"{name}-image-pvc") is None, "the claim is gone")


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
