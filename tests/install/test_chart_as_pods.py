# SPDX-License-Identifier: Apache-2.0
"""The quick start word for word, an upgrade under load, and the removal."""

import hashlib
import json
import os
import subprocess
import threading

import pytest

import kubectl
import quickstart

NAMESPACE = "imprint-system"
POOL = "vms"  # of the quick start
UPGRADE_CLAIMS = 20


def helm(*arguments):
    done = subprocess.run(["helm", *arguments, "--namespace", NAMESPACE],
                          cwd=quickstart.ROOT,
                          capture_output=True,
                          text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pods():
    return json.loads(kubectl.run("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]


def is_ready(pod):
    conditions = pod["status"].get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def what_ails_them():
    """For the reader of a failure: the pods that are not ready, and their last words."""
    lines = [kubectl.run("get", "pods", "-A", "-o", "wide")]
    for pod in pods():
        if is_ready(pod):
            continue
        name = pod["metadata"]["name"]
        lines += [f"{item['reason']}: {item['message']}" for item in events_of(name)]
        for container in pod["spec"]["containers"]:
            lines.append(f"--- {name} {container['name']}")
            lines.append(last_words(name, container["name"]))
    return "\n".join(lines)


def events_of(pod):
    return json.loads(
        kubectl.run("get", "events", "-n", NAMESPACE, "--field-selector", f"involvedObject.name={pod}",
                    "-o", "json"))["items"]


def last_words(pod, container):
    try:
        return kubectl.run("logs", "-n", NAMESPACE, pod, "-c", container, "--tail=5")
    except kubectl.Refused as refusal:
        return str(refusal)


@pytest.fixture(scope="module")
def followed(server):
    """The quick start up to its end, without the removal."""
    values = {"MONITORS": os.environ["MONITORS"], "IMAGE": server.url("/disk.qcow2")}
    assert sorted(values) == sorted(quickstart.variables())
    steps = quickstart.blocks()
    del steps[quickstart.YOURS]
    del steps[quickstart.REMOVAL]
    try:
        return [quickstart.run(commands, values) for commands in steps.values()]
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{what_ails_them()}") from None


def assert_pod_reads(content):
    said = kubectl.run("exec", "reader", "--", "sh", "-c", f"head -c {len(content)} /dev/disk | sha256sum")
    assert said.split()[0] == hashlib.sha256(content).hexdigest()


def assert_pod_writes(offset_mib):
    """Through to Ceph: a device that nobody serves any more fails it."""
    kubectl.run("exec", "reader", "--", "dd", "if=/dev/zero", "of=/dev/disk", "bs=1M", "count=1",
                f"seek={offset_mib}", "conv=fsync,notrunc")


def test_quick_start_leads_to_a_pod_with_the_images_bytes(followed, disk):
    assert_pod_reads(disk[0].read_bytes())
    claim = kubectl.get("pvc", "disk")
    assert claim["status"]["capacity"]["storage"] == "20Gi"


def test_every_pod_is_ready_and_none_was_restarted(followed):
    running = pods()
    assert len(running) == 3
    for pod in running:
        assert is_ready(pod), pod["metadata"]["name"]
        restarts = {item["name"]: item["restartCount"] for item in pod["status"]["containerStatuses"]}
        assert not any(restarts.values()), restarts


def golden_sources():
    return sorted(item["metadata"]["name"] for item in kubectl.get_all("datasources"))


def test_golden_images_of_the_values_are_there_after_the_first_install(followed):
    """Of kinds that the cluster learnt of in the same go."""
    kubectl.until(lambda: golden_sources() == ["centos-stream9", "fedora", "ubuntu2404"],
                  f"made: {golden_sources()}")


def test_programs_have_no_privileges_they_do_not_need(followed):
    name = next(pod["metadata"]["name"] for pod in pods() if "controller" in pod["metadata"]["name"])
    status = kubectl.run("exec", "-n", NAMESPACE, name, "-c", "imprint-populator", "--", "cat",
                         "/proc/1/status")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert fields["Uid"].split()[0] == "64045"
    assert int(fields["CapEff"], 16) == 0
    assert fields["NoNewPrivs"].strip() == "1"


def test_foreign_formats_are_read_in_a_pod(followed, server, disk, cluster):
    """By qemu-nbd in a jail, with what the profile of a pod leaves of system calls."""
    kubectl.apply(*(kubectl.image(name, {"http": server.url(f"/{name}.vmdk")}, storageClassName="vms")
                    for name in ("disk", "wanting")))
    kubectl.until(lambda: kubectl.state("vmim", "wanting") == "Error", "the other one is refused")
    assert "'/etc/passwd'" in kubectl.message("vmim", "wanting")
    kubectl.await_state("vmim", "disk", "Available")
    with cluster.volume(kubectl.await_bound("disk-image-pvc"), read_only=True) as volume:
        assert volume.read(0, 64 << 20) == disk[0].read_bytes()
    kubectl.delete("vmim", "disk", "wanting")


def test_the_whole_is_told_in_one_object(followed):
    """HyperCloudStorage, with a node as the requirements write it: a single one."""
    node = kubectl.get_all("nodes")[0]["metadata"]["name"]
    kubectl.apply({
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "HyperCloudStorage",
        "metadata": {"name": "hcs"},
        "spec": {"storage": {"replicas": 1, "nodes": {"hostname": node}}},
    })
    kubectl.until(lambda: kubectl.state("hypercloudstorage", "hcs") == "OK",
                  f"OK: {kubectl.message('hypercloudstorage', 'hcs')}")
    conditions = kubectl.get("hcs", "hcs")["status"]["conditions"]
    assert {item["status"] for item in conditions} == {"True"}, conditions
    kubectl.delete("hcs", "hcs")


def test_metrics_are_served(followed):
    name = next(pod["metadata"]["name"] for pod in pods() if "controller" in pod["metadata"]["name"])
    said = kubectl.run("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}:8080/proxy/metrics")
    assert 'imprint_objects{' in said


def percent(name):
    """How far an import is; 0 before it says so."""
    progress = (kubectl.get("vmim", name) or {}).get("status", {}).get("progress", "0%")
    return float(progress.rstrip("%"))


def test_upgrade_under_load_loses_nothing(followed, server, cluster):
    """Pods are replaced while an image is imported and claims are made."""
    server.slow_s = 0.3
    try:
        kubectl.apply(kubectl.image("second", {"http": server.url("/disk.qcow2")}, storageClassName="vms"))
        kubectl.until(lambda: 0 < percent("second") < 100, "the import is under way")

        def make_claims():
            for number in range(UPGRADE_CLAIMS):
                kubectl.apply(
                    kubectl.claim(f"busy-{number}",
                                  "64Mi",
                                  storage_class="vms",
                                  **kubectl.from_image("debian")))

        claims = threading.Thread(target=make_claims)
        claims.start()
        helm("upgrade", "imprint", "charts/imprint", "--reuse-values", "--set",
             "controller.podAnnotations.round=second", "--set", "node.podAnnotations.round=second",
             "--wait", "--timeout", "5m")
        claims.join()
    finally:
        server.slow_s = 0
    kubectl.await_state("vmim", "second", "Available", timeout_s=180)
    for number in range(UPGRADE_CLAIMS):
        kubectl.await_bound(f"busy-{number}", timeout_s=60)
    assert_pod_writes(200)  # its node plugin was replaced
    kubectl.delete("pvc", *[f"busy-{number}" for number in range(UPGRADE_CLAIMS)])
    kubectl.delete("vmim", "second")
    kubectl.until(lambda: len(cluster.images(POOL)) == 2, "the volumes are gone", 120)


def test_pod_goes_on_without_the_release_and_is_cleaned_up_by_the_next(followed, cluster):
    """What people own stays; whoever installs again goes on from there."""
    kept = helm("get", "values", "imprint", "-o", "json")
    helm("uninstall", "imprint", "--wait")
    kubectl.until(lambda: not golden_sources(), "golden images of the values go with it")
    assert kubectl.state("vmim", "debian") == "Available"
    assert len(cluster.images(POOL)) == 2  # the image and the disk
    assert_pod_writes(300)
    for kind in ("deployments", "daemonsets", "roles", "rolebindings", "secrets"):
        left = [item["metadata"]["name"] for item in kubectl.get_all(kind)
                if item["metadata"]["namespace"] == NAMESPACE
                and "helm" in item["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by", "").lower()]
        assert not left, f"{kind}: {left}"
    values = os.path.join(os.environ["SCRATCH"], "values.json")
    with open(values, "w", encoding="utf-8") as file:
        file.write(kept)
    helm("install", "imprint", "charts/imprint", "--values", values, "--wait", "--timeout", "5m")
    os.unlink(values)


def test_removal_leaves_nothing(followed, cluster):
    quickstart.run(quickstart.blocks()[quickstart.REMOVAL], {})
    kubectl.until(lambda: not cluster.images(POOL), f"left: {cluster.images(POOL)}")
    kubectl.until(lambda: not kubectl.get_all("pv"), "no volume left")
    for kind in ("storageclasses", "csidrivers", "clusterroles", "clusterrolebindings"):
        left = [item["metadata"]["name"] for item in json.loads(kubectl.run("get", kind, "-o", "json"))["items"]
                if "imprint" in item["metadata"]["name"]]
        assert not left, f"{kind}: {left}"
