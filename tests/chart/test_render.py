# SPDX-License-Identifier: Apache-2.0
"""The chart by itself: it renders, its values are checked and described, and it calls our programs by
flags that they have."""

import json
import os
import re
import subprocess

import pytest
import yaml

from chart import CHART, FULL, NAMESPACE, ROOT, template

OPTIONS = {
    "imprint-controller": "controllerplugin/options.c",
    "imprint-populator": "populator/program/options.c",
    "imprint-node": "nodeplugin/options.c",
}



def test_lint_finds_nothing():
    done = subprocess.run(["helm", "lint", "--strict", CHART], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout and "[ERROR]" not in done.stdout


def kinds(documents):
    return {(d["kind"], d["metadata"]["name"]) for d in documents}


def test_defaults_hold_what_is_needed(rendered):
    found = kinds(rendered)
    assert {("Deployment", "imprint-controller"), ("DaemonSet", "imprint-node"),
            ("CSIDriver", "imprint.csi.hypercloud.tmaxanc.com"), ("Secret", "imprint-clusters"),
            ("PodDisruptionBudget", "imprint-controller"), ("NetworkPolicy", "imprint-controller"),
            ("Service", "imprint-upload")} <= found
    # without a cluster to ask, nothing is made of kinds that it may not have
    assert not {kind for kind, _ in found} & {"VolumeSnapshotClass", "PrometheusRule", "PodMonitor"}
    containers = [c["name"] for d in rendered if d["kind"] == "Deployment"
                  for c in d["spec"]["template"]["spec"]["containers"]]
    assert containers == ["imprint-controller", "imprint-populator", "csi-provisioner",
                          "csi-snapshotter", "csi-resizer"]


def test_everything_on(rendered_full):
    found = kinds(rendered_full)
    assert {("StorageClass", "vms"), ("StorageClass", "late"), ("VolumeSnapshotClass", "imprint"),
            ("PrometheusRule", "imprint"), ("PodMonitor", "imprint-controller"),
            ("ConfigMap", "imprint-dashboard"), ("ClusterRole", "imprint-attacher")} <= found
    late = next(d for d in rendered_full if kinds([d]) == {("StorageClass", "late")})
    assert (late["allowVolumeExpansion"], late["reclaimPolicy"], late["volumeBindingMode"]) == (
        False, "Retain", "WaitForFirstConsumer")


def test_clusters_are_written_as_the_programs_read_them(rendered_full):
    secret = next(d for d in rendered_full if kinds([d]) == {("Secret", "imprint-clusters")})
    files = secret["stringData"]
    cluster, = json.loads(files["clusters.json"])["clusters"]
    assert cluster == {"clusterID": "prod", "monitors": ["10.0.0.1:6789"], "user": "imprint",
                       "keyFile": "/etc/imprint/key.prod"}
    assert files["key.prod"] == "AQ=="
    # every pod that reads it has it there
    for document in rendered_full:
        if document["kind"] not in ("Deployment", "DaemonSet"):
            continue
        pod = document["spec"]["template"]["spec"]
        volume = next(volume for volume in pod["volumes"] if volume["name"] == "clusters")
        assert volume["secret"]["secretName"] == "imprint-clusters"
        for container in pod["containers"]:
            if container["name"].startswith("imprint-"):
                assert {"name": "clusters", "mountPath": "/etc/imprint",
                        "readOnly": True} in container["volumeMounts"]


@pytest.mark.parametrize("program", OPTIONS)
def test_flags_are_those_of_the_program(rendered, rendered_full, program):
    with open(os.path.join(ROOT, OPTIONS[program]), encoding="utf-8") as file:
        known = set(re.findall(r'^ +\{"([a-z-]+)", (?:required|no)_argument', file.read(), re.M))
    used = {argument[2:].split("=")[0]
            for document in [*rendered, *rendered_full] if document["kind"] in ("Deployment", "DaemonSet")
            for container in document["spec"]["template"]["spec"]["containers"]
            if container["name"] == program for argument in container["args"]}
    assert used and used <= known


def test_pods_are_locked_down(rendered_full):
    deployment = next(d for d in rendered_full if d["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}}, container["name"]
    # no two listen on one port
    ports = [p["containerPort"] for c in pod["containers"] for p in c.get("ports", [])]
    assert len(ports) == len(set(ports))
    # the names of ports are used by the policy and the monitor
    names = {p["name"] for c in pod["containers"] for p in c.get("ports", [])}
    policy = next(d for d in rendered_full if d["kind"] == "NetworkPolicy")
    assert {p["port"] for rule in policy["spec"]["ingress"] for p in rule["ports"]} == names
    blocked = [peer["ipBlock"]["except"] for rule in policy["spec"]["egress"] for peer in rule.get("to", ())
               if "ipBlock" in peer]
    assert blocked == [["169.254.0.0/16"], ["fe80::/10", "fd00:ec2::254/128"]], "metadata services"
    monitor = next(d for d in rendered_full if d["kind"] == "PodMonitor")
    assert {e["port"] for e in monitor["spec"]["podMetricsEndpoints"]} == names - {"upload"}


def test_what_claims_are_filled_from_is_made_known(rendered_full):
    """Where the cluster has the kind for it."""
    assert not [d for d in rendered_full if d["kind"] == "VolumePopulator"]
    _, documents = template("--api-versions", "populator.storage.k8s.io/v1beta1/VolumePopulator")
    known = {d["sourceKind"]["kind"] for d in documents if d["kind"] == "VolumePopulator"}
    assert known == {"VirtualMachineImage", "VirtualMachinePvc", "VirtualMachineVolume", "DataSource", "DataVolume"}


def test_pods_that_read_files_of_nodes_are_locked_down(rendered, rendered_full):
    """They can read one folder, and say of images how far they are; nothing else."""
    assert not [d for d in rendered if "host-images" in d["metadata"]["name"]]
    daemon_set, = [d for d in rendered_full if kinds([d]) == {("DaemonSet", "imprint-host-images")}]
    pod = daemon_set["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]}}
    folder = "/var/lib/imprint/images"
    assert [v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v] == [folder]
    mount, = [m for m in container["volumeMounts"] if m["name"] == "images"]
    assert (mount["mountPath"], mount["readOnly"]) == (folder, True)
    assert f"--host-images={folder}" in container["args"]
    deployment = next(d for d in rendered_full if d["kind"] == "Deployment")
    populator = next(c for c in deployment["spec"]["template"]["spec"]["containers"]
                     if c["name"] == "imprint-populator")
    assert f"--host-images={folder}" in populator["args"]
    role, = [d for d in rendered_full if kinds([d]) == {("ClusterRole", "imprint-host-images")}]
    assert {(r, v) for rule in role["rules"] for r in rule["resources"] for v in rule["verbs"]} == {
        ("virtualmachineimages", "get"), ("virtualmachineimages", "list"),
        ("virtualmachineimages", "watch"), ("virtualmachineimages/status", "patch")}


@pytest.mark.parametrize("values, message", [
    ({"hostPathImages": {"folder": "/"}}, "/hostPathImages/folder"),
    ({"hostPathImages": {"folder": "images"}}, "/hostPathImages/folder"),
    ({"unknown": 1}, "unknown"),
    ({"node": {"mapper": "magic"}}, "/node/mapper"),
    ({"controller": {"replicas": 0}}, "/controller/replicas"),
    ({"clusters": [{"clusterID": "a b", "monitors": ["a"], "key": "k"}]}, "/clusters/0/clusterID"),
    ({"clusters": [{"clusterID": "a", "key": "k"}]}, "monitors"),
    ({"storageClasses": [{"name": "a", "parameters": {}}]}, "pool"),
    ({"csiDriver": {"fsGroupPolicy": "Sometimes"}}, "/csiDriver/fsGroupPolicy"),
    ({"crds": {"cdi": "maybe"}}, "/crds/cdi"),
    ({"node": {"resources": {"limit": {"memory": "1Gi"}}}}, "limit"),
    ({"populator": {"resources": {"limits": {"memory": {}}}}}, "/populator/resources/limits/memory"),
    ({"controller": {"nodeSelector": {"disk": True}}}, "/controller/nodeSelector/disk"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_wrong_values_are_refused_by_name(values, message):
    status, said = template(values=values)
    assert status != 0 and message in said


@pytest.mark.parametrize("values", [
    {"populator": {"upload": {"enabled": False}}},
    {"sidecars": {"snapshotter": {"enabled": False}, "resizer": {"enabled": False}}},
    {"controller": {"replicas": 1}},
    {"crds": {"install": False}},
    {"crds": {"cdi": False}},
    {"existingClustersSecret": "mine", "networkPolicy": {"enabled": False},
     "userRoles": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
], ids=str)
def test_parts_can_be_left_out(rendered, values):
    status, documents = template(values=values)
    assert status == 0, documents
    assert kinds(documents) < kinds(rendered) or documents != rendered


@pytest.mark.parametrize("crds, is_served", [
    ({"install": True, "cdi": "auto"}, True), ({"install": True, "cdi": False}, False),
    ({"install": False, "cdi": "auto"}, False), ({"install": False, "cdi": True}, True),
], ids=str)
def test_without_a_cluster_the_values_say_who_serves_cdi(crds, is_served):
    """As docs/chart.md tells."""
    status, documents = template(values={"crds": crds})
    assert status == 0, documents
    assert ("--without-cdi" not in str(documents)) is is_served


# ---- values are described -----------------------------------------------------------------------


# A table of values ends where the reader does not need more: an image is one thing.
WHOLE = {"repository", "requests", "grafana_dashboard"}


def leaves(values, prefix=""):
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and value and not set(value) & WHOLE:
            yield from leaves(value, path + ".")
        else:
            yield re.sub(r"^sidecars\.\w+", "sidecars.NAME", path)


def test_every_value_is_in_the_manual():
    with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as file:
        values = set(leaves(yaml.safe_load(file)))
    with open(os.path.join(ROOT, "docs", "chart.md"), encoding="utf-8") as file:
        told = re.findall(r"^\| `([\w.]+)` \|", file.read(), re.M)
    assert sorted(told) == sorted(values)


def test_schema_knows_every_value():
    """Whatever the chart's own values hold is in the schema; it refuses what it does not know."""
    with open(os.path.join(CHART, "values.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)

    def closed(part):
        part = schema["definitions"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        if "properties" in part:
            assert part["additionalProperties"] is False
            for child in part["properties"].values():
                closed(child)

    closed(schema)


# ---- monitoring ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rules(rendered_full):
    return next(d for d in rendered_full if d["kind"] == "PrometheusRule")["spec"]


def test_alerts_have_pages(rules):
    with open(os.path.join(ROOT, "docs", "alerts.md"), encoding="utf-8") as file:
        sections = {title.lower() for title in re.findall(r"^## (\w+)$", file.read(), re.M)}
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert {rule["alert"].lower() for rule in alerts} == sections
    for rule in alerts:
        assert rule["annotations"]["runbook_url"].endswith("#" + rule["alert"].lower())


def test_prometheus_takes_the_rules(rules, tmp_path):
    """promtool reads them, and each alert fires on the series of alerts.yaml."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    with open(os.path.join(os.path.dirname(__file__), "alerts.yaml"), encoding="utf-8") as file:
        cases = yaml.safe_load(file)
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    tested = {test["alertname"] for case in cases["tests"] for test in case["alert_rule_test"]
              if test["exp_alerts"]}
    assert tested == alerts
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(cases))
    for arguments in (["check", "rules", "rules.yaml"], ["test", "rules", "tests.yaml"]):
        done = subprocess.run(["promtool", *arguments], cwd=tmp_path, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_dashboard_is_one(rendered_full):
    config = next(d for d in rendered_full if kinds([d]) == {("ConfigMap", "imprint-dashboard")})
    dashboard = json.loads(config["data"]["imprint.json"])
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)) and dashboard["title"] == "Imprint"
    # panels do not lie on one another
    taken = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells


def test_names_follow_the_release():
    done = subprocess.run(["helm", "template", "other", CHART, "-n", NAMESPACE, "-f", "-"],
                          input=yaml.safe_dump(FULL), capture_output=True, text=True, check=True)
    documents = [d for d in yaml.safe_load_all(done.stdout) if d]
    assert ("Deployment", "other-controller") in kinds(documents)
    assert not [name for kind, name in kinds(documents)
                if name.startswith("imprint-") and kind != "VolumeSnapshotClass"]
