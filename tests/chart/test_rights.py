# SPDX-License-Identifier: Apache-2.0
"""What the service accounts of the chart may do, asked of a real API server; and what not."""

import glob
import os
import re
import time

import pytest

from chart import CHART, NAMESPACE

CONTROLLER = f"system:serviceaccount:{NAMESPACE}:imprint-controller"
NODE = f"system:serviceaccount:{NAMESPACE}:imprint-node"
OURS = ("virtualmachineimages", "virtualmachinevolumes", "virtualmachinepvcs",
        "virtualmachinevolumeexports", "virtualmachinevolumerollbacks")
HYPERCLOUD = "hypercloud.tmaxanc.com"
CDI = "cdi.kubevirt.io"
STORAGE = "storage.k8s.io"
SNAPSHOT = "snapshot.storage.k8s.io"


def ask(verbs, group, resource, namespace="default", name=""):
    """Questions as "verb resource": attributes; a subresource behind a slash."""
    resource, _, subresource = resource.partition("/")
    return [{"verb": verb, "group": group, "resource": resource, "subresource": subresource,
             "namespace": namespace, "name": name} for verb in verbs.split()]


NEEDED = [
    *(q for kind in OURS for q in ask("get list watch patch", HYPERCLOUD, kind)),
    *(q for kind in OURS for q in ask("patch", HYPERCLOUD, f"{kind}/status")),
    *ask("update", HYPERCLOUD, "virtualmachineimages/finalizers"),
    *ask("get list watch create patch delete", "", "persistentvolumeclaims"),
    *ask("update", "", "persistentvolumeclaims"),  # provisioner
    *ask("patch", "", "persistentvolumeclaims/status"),  # resizer
    *ask("get list watch create patch delete", "", "persistentvolumes", ""),
    *ask("get list watch", STORAGE, "storageclasses", ""),
    *ask("get list watch", STORAGE, "volumeattachments", ""),
    *ask("get", "", "nodes", ""),
    *ask("get", STORAGE, "csidrivers", ""),
    *ask("get", STORAGE, "csinodes", ""),
    *ask("get list watch patch", HYPERCLOUD, "hypercloudstorages"),
    *ask("patch", HYPERCLOUD, "hypercloudstorages/status"),
    *ask("list", "apps", "deployments", NAMESPACE),
    *ask("list", "apps", "daemonsets", NAMESPACE),
    *ask("get list watch", SNAPSHOT, "volumesnapshots"),
    *ask("get list watch patch", SNAPSHOT, "volumesnapshotcontents", ""),
    *ask("update patch", SNAPSHOT, "volumesnapshotcontents/status", ""),
    *ask("get list watch", SNAPSHOT, "volumesnapshotclasses", ""),
    *ask("get list watch", "gateway.networking.k8s.io", "referencegrants"),
    *ask("create patch", "", "events"),
    *ask("create", "authentication.k8s.io", "tokenreviews", ""),
    *ask("create", "authorization.k8s.io", "subjectaccessreviews", ""),
    *ask("get", "", "secrets", name="keys"),
    *ask("get", "", "configmaps", name="ca"),
    *ask("get list watch create update patch delete", "coordination.k8s.io", "leases", NAMESPACE),
    *ask("get list watch create patch delete", CDI, "datavolumes"),
    # those of the values: made, and taken back
    *ask("get list watch create patch delete", CDI, "datasources"),
    *ask("get list watch create patch delete", CDI, "dataimportcrons"),
    *ask("get list watch", "", "configmaps", NAMESPACE, "imprint-golden-images"),
    *ask("get", "rbac.authorization.k8s.io", "clusterroles", "", "imprint-golden-images"),
    *ask("get", "", "namespaces", "", "kube-system"),
    *ask("patch", CDI, "dataimportcrons/status"),
]

FORBIDDEN = [
    *ask("list watch create update patch delete", "", "secrets"),
    *ask("list", "", "secrets", NAMESPACE),
    *ask("list watch create update delete", "", "configmaps"),
    *ask("get list create delete", "", "pods"),
    *ask("create", "", "pods/exec"),
    *ask("create", "", "serviceaccounts/token", NAMESPACE),
    *ask("list watch update patch delete", "", "nodes", ""),
    *ask("list watch create update", STORAGE, "csinodes", ""),
    *ask("get watch update patch delete", "apps", "deployments", NAMESPACE),
    *ask("get list", "", "namespaces", ""),
    *ask("create update patch delete", STORAGE, "storageclasses", ""),
    *ask("create update patch delete", STORAGE, "volumeattachments", ""),
    *ask("update", "", "persistentvolumes", ""),
    *ask("deletecollection", "", "persistentvolumeclaims"),
    *ask("create delete", SNAPSHOT, "volumesnapshots"),
    *ask("create delete", SNAPSHOT, "volumesnapshotcontents", ""),
    *ask("create update patch", "gateway.networking.k8s.io", "referencegrants"),
    *(q for kind in OURS for q in ask("create delete", HYPERCLOUD, kind)),
    *ask("update deletecollection", CDI, "dataimportcrons"),
    *ask("update deletecollection", CDI, "datasources"),
    *ask("list watch patch", "", "configmaps", NAMESPACE),
    *ask("update patch delete", "", "configmaps", NAMESPACE, "imprint-golden-images"),
    *ask("get list", "rbac.authorization.k8s.io", "clusterroles", ""),
    *ask("get create", "coordination.k8s.io", "leases", "kube-system"),
    *ask("create", "rbac.authorization.k8s.io", "clusterrolebindings", ""),
    *ask("bind escalate", "rbac.authorization.k8s.io", "clusterroles", ""),
    *ask("impersonate", "", "users", ""),
    *ask("*", "*", "*", ""),
]


def words(question):
    resource = question["resource"] + ("/" + question["subresource"] if question["subresource"] else "")
    where = f" in {question['namespace']}" if question["namespace"] else ""
    return f"{question['verb']} {resource}{where}"


def test_controller_may_do_what_it_needs(installed):
    answers = installed.allowed(CONTROLLER, NEEDED)
    assert [words(q) for q, answer in zip(NEEDED, answers) if not answer] == []


def test_controller_may_do_no_more(installed):
    answers = installed.allowed(CONTROLLER, FORBIDDEN)
    assert [words(q) for q, answer in zip(FORBIDDEN, answers) if answer] == []


def test_node_may_do_nothing(installed):
    questions = [*NEEDED, *FORBIDDEN]
    answers = installed.allowed(NODE, questions)
    # what any authenticated user may ask is not among them
    assert [words(q) for q, answer in zip(questions, answers) if answer] == []


def test_kubectl_says_the_same(installed):
    """`kubectl auth can-i` answers by its exit status; here through the same words as people use."""
    assert installed("auth", "can-i", "patch", "virtualmachineimages", "--subresource=status",
                     f"--as={CONTROLLER}", "-n", "default").strip() == "yes"
    with pytest.raises(Exception, match="no"):
        installed("auth", "can-i", "list", "secrets", f"--as={CONTROLLER}", "-n", "default")


def test_secrets_can_be_narrowed_to_namespaces(rendered_full):
    """FULL names one namespace: nothing else may be read."""
    rules = [rule for d in rendered_full if d["kind"] == "ClusterRole" for rule in d["rules"]]
    assert not [rule for rule in rules if "secrets" in rule["resources"]]
    roles = [d for d in rendered_full
             if d["kind"] == "Role" and d["metadata"]["name"] == "imprint-populator-secrets"]
    assert [role["metadata"]["namespace"] for role in roles] == ["default"]


# Kubernetes' own role for a namespace, and what it gets from the chart.
PEOPLE = [
    ("view", ask("get list watch", HYPERCLOUD, "virtualmachineimages"), True),
    ("view", ask("create delete", HYPERCLOUD, "virtualmachineimages"), False),
    ("view", ask("update", HYPERCLOUD, "virtualmachineimages/upload"), False),
    ("edit", ask("get create update patch delete", HYPERCLOUD, "virtualmachinevolumeexports"), True),
    ("edit", ask("update", HYPERCLOUD, "virtualmachineimages/upload"), True),
    ("edit", ask("create", CDI, "datavolumes/source"), True),
    ("edit", ask("update", CDI, "datavolumes/upload"), True),
    ("view", ask("update", CDI, "datavolumes/upload"), False),
    ("edit", ask("create", HYPERCLOUD, "virtualmachinevolumeexports/download"), True),
    ("view", ask("create", HYPERCLOUD, "virtualmachinevolumeexports/download"), False),
    ("edit", ask("patch update", HYPERCLOUD, "virtualmachineimages/status"), False),
    ("edit", ask("create delete", HYPERCLOUD, "hypercloudstorages"), False),
    ("admin", ask("create delete", CDI, "dataimportcrons"), True),
]


def test_people_get_rights_with_kubernetes_own_roles(installed):
    for role in ("view", "edit", "admin"):
        installed("create", "rolebinding", f"a-{role}", f"--clusterrole={role}", f"--user=a-{role}",
                  "-n", "default")
    # roles are joined by a controller, soon after they are made
    deadline = time.monotonic() + 30
    while not all(installed.allowed("a-admin", ask("delete", CDI, "dataimportcrons"))):
        assert time.monotonic() < deadline, "the roles were not joined"
    for role, questions, wanted in PEOPLE:
        answers = installed.allowed(f"a-{role}", questions)
        assert answers == [wanted] * len(questions), (role, [words(q) for q in questions], answers)


@pytest.mark.parametrize(
    "path", [p for p in glob.glob(os.path.join(CHART, "templates", "*", "*.yaml"))
             if re.search(r"^kind: (Cluster)?Role$", open(p, encoding="utf-8").read(), re.M)],
    ids=lambda path: os.path.relpath(path, CHART))
def test_every_rule_says_why(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("{{")]
    unexplained = [lines[i + 1] for i, line in enumerate(lines)
                   if line.startswith("- apiGroups:") and not lines[i - 1].startswith("#")]
    assert unexplained == []
