# SPDX-License-Identifier: Apache-2.0
"""KubeVirt's kinds (cdi.kubevirt.io) as the tests write and read them."""

import kubectl

GROUP = "cdi.kubevirt.io"


def item(kind, name, spec, namespace="default", **metadata):
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }


def volume(name, source, namespace="default", storage=None, metadata=None, **more):
    """A DataVolume; source {"sourceRef": …} or what stands in spec.source."""
    spec = {"storage": {"storageClassName": "rbd", **(storage or {})}, **more}
    spec.update(source if "sourceRef" in source else {"source": source})
    return item("DataVolume", name, spec, namespace, **(metadata or {}))


def by_reference(name, namespace=None):
    reference = {"kind": "DataSource", "name": name}
    if namespace:
        reference["namespace"] = namespace
    return {"sourceRef": reference}


def size(text):
    return {"resources": {"requests": {"storage": text}}}


def data_source(name, source, namespace="default", **metadata):
    return item("DataSource", name, {"source": source}, namespace, **metadata)


def from_data_source(name, namespace=None):
    """dataSourceRef of a claim."""
    reference = {"apiGroup": GROUP, "kind": "DataSource", "name": name}
    if namespace:
        reference["namespace"] = namespace
    return {"dataSourceRef": reference}


def condition(kind, name, which, namespace="default"):
    """(status, reason, message), or three empty texts."""
    found = kubectl.get(kind, name, namespace) or {}
    for each in found.get("status", {}).get("conditions", []):
        if each["type"] == which:
            return each["status"], each.get("reason", ""), each.get("message", "")
    return "", "", ""


def phase(name, namespace="default"):
    return (kubectl.get("datavolume", name, namespace) or {}).get("status", {}).get("phase", "")


def await_phase(name, wanted, namespace="default", timeout_s=60):
    """Until it is in that phase; fails at once when it ends in another."""

    def reached():
        now = phase(name, namespace)
        assert now == wanted or now not in ("Succeeded", "Failed"), \
            f"{name} is {now}: {condition('datavolume', name, 'Ready', namespace)}"
        return now == wanted

    kubectl.until(reached, f"DataVolume {name} {wanted}", timeout_s)
    return kubectl.get("datavolume", name, namespace)


def await_reason(kind, name, which, reason, namespace="default", timeout_s=60):
    kubectl.until(lambda: condition(kind, name, which, namespace)[1] == reason,
                  f"{kind} {name} {which}: {reason}, not {condition(kind, name, which, namespace)}",
                  timeout_s)
    return condition(kind, name, which, namespace)


def grant(name, namespace, from_namespace, from_kind, to_kind, to_name=None):
    groups = {"PersistentVolumeClaim": "", "VolumeSnapshot": "snapshot.storage.k8s.io"}
    target = {"group": groups.get(to_kind, GROUP), "kind": to_kind}
    if to_name:
        target["name"] = to_name
    return {
        "apiVersion": "gateway.networking.k8s.io/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "from": [{
                "group": groups.get(from_kind, GROUP),
                "kind": from_kind,
                "namespace": from_namespace
            }],
            "to": [target],
        },
    }


def snapshot(name, claim):
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name},
        "spec": {
            "volumeSnapshotClassName": "rbd",
            "source": {"persistentVolumeClaimName": claim},
        },
    }
