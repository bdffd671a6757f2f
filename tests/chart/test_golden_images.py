# SPDX-License-Identifier: Apache-2.0
"""Golden images out of the chart's values: what the populator is asked for. What it makes of that is
proven in tests/kube/test_golden_values.py."""

import json
import shutil

import pytest
import yaml

from chart import CHART, NAMESPACE, template

NAME = "imprint-golden-images"
KINDS = ("DataImportCron", "DataSource")
CUSTOM = {
    "metadata": {"name": "custom-image1"},
    "spec": {
        "schedule": "0 */12 * * *",
        "managedDataSource": "custom1",
        "source": {"registry": {"url": "docker://myprivateregistry/custom1"}},
    },
}


def found(documents, kind, name=NAME):
    return next(d for d in documents if (d["kind"], d["metadata"]["name"]) == (kind, name))


def asked(config_map):
    """{kind: {name: object}}."""
    objects = [entry["object"] for entry in json.loads(config_map["data"]["objects.json"])]
    return {kind: {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}
            for kind in KINDS}


def rendered(values, *arguments):
    status, documents = template(*arguments, values=values)
    assert status == 0, documents
    return documents


def golden(values):
    return asked(found(rendered(values), "ConfigMap"))


def test_common_images_are_off_and_their_data_sources_dangle():
    made = golden({"dataImportCronTemplates": [CUSTOM]})
    assert set(made["DataImportCron"]) == {"custom-image1"}, "custom ones are always on"
    assert made["DataImportCron"]["custom-image1"]["spec"]["schedule"] == "0 */12 * * *"
    assert {"fedora", "centos-stream9"} <= set(made["DataSource"])
    assert made["DataSource"]["fedora"]["spec"]["source"]["pvc"] == {
        "namespace": NAMESPACE, "name": "fedora"
    }


def test_common_images_are_looked_for_at_a_minute_that_the_populator_knows():
    made = golden({"enableCommonBootImageImport": True, "goldenImages": {"namespace": "golden"}})
    assert not [d for d in made["DataImportCron"].values() if "schedule" in d["spec"]]
    assert {d["metadata"]["namespace"] for kind in made.values() for d in kind.values()} == {"golden"}
    assert {d["spec"]["managedDataSource"] for d in made["DataImportCron"].values()} == \
        set(made["DataSource"])
    assert {d["spec"]["retentionPolicy"] for d in made["DataImportCron"].values()} == {"All"}


@pytest.mark.parametrize("arguments", [(), ("--api-versions", "cdi.kubevirt.io/v1beta1/DataImportCron")])
def test_without_a_cluster_the_same_is_rendered_each_time(arguments):
    """By helm template, as tools do that know no cluster, or know its kinds from elsewhere."""
    values = {"enableCommonBootImageImport": True, "dataImportCronTemplates": [CUSTOM]}
    first, second = (found(rendered(values, *arguments), "ConfigMap") for _ in range(2))
    assert first == second
    assert set(first["data"]) == {"objects.json"}, "nothing is chosen"
    assert not [d for d in rendered(values, *arguments) if d["kind"] in KINDS], "the populator's"


def test_the_populator_is_told_where_to_look():
    documents = rendered({})
    pod = found(documents, "Deployment", "imprint-controller")["spec"]["template"]["spec"]
    arguments = next(c["args"] for c in pod["containers"] if c["name"] == "imprint-populator")
    assert f"--golden-images={NAME}" in arguments
    assert found(documents, "ClusterRole")
    # where others serve the kinds there is nothing to make
    documents = rendered({"crds": {"cdi": False}})
    assert not [d for d in documents if d["metadata"]["name"] == NAME]
    assert f"--golden-images={NAME}" not in str(documents)


def test_turned_off_nothing_is_asked_for():
    """An empty list: what was made goes. No list would leave it."""
    made = golden({"enableCommonBootImageImport": True, "goldenImages": {"enabled": False},
                   "dataImportCronTemplates": [CUSTOM]})
    assert made == {"DataImportCron": {}, "DataSource": {}}


def test_the_minute_can_be_given():
    data = found(rendered({"goldenImages": {"minute": 0}}), "ConfigMap")["data"]
    assert data["minute"] == "0"
    assert template(values={"goldenImages": {"minute": 60}})[0] != 0


def test_labels_annotations_and_policies_of_a_template_are_taken_over():
    made = golden({"dataImportCronTemplates": [{
        "metadata": {"name": "x", "namespace": "there", "labels": {"mine": "yes"},
                     "annotations": {"note": "<&>"}},
        "spec": {**CUSTOM["spec"], "retentionPolicy": "None", "importsToKeep": 5},
    }]})["DataImportCron"]["x"]
    assert made["metadata"]["labels"]["mine"] == "yes"
    assert made["metadata"]["annotations"] == {"note": "<&>"}
    assert (made["metadata"]["namespace"], made["spec"]["retentionPolicy"]) == ("there", "None")
    assert made["spec"]["importsToKeep"] == 5


@pytest.mark.parametrize("spec", [{"managedDataSource": "x"}, {"schedule": "@daily"},
                                  {"managedDataSource": "x", "schedule": ""}])
def test_a_custom_image_without_its_schedule_is_refused(spec):
    status, message = template(values={"dataImportCronTemplates": [{"metadata": {"name": "x"},
                                                                   "spec": spec}]})
    assert status != 0 and "dataImportCronTemplates" in message


def test_two_templates_of_one_name_are_refused():
    status, message = template(values={"dataImportCronTemplates": [CUSTOM, CUSTOM]})
    assert status != 0 and f"another template has the name {NAMESPACE}/custom-image1" in message
    elsewhere = {**CUSTOM, "metadata": {**CUSTOM["metadata"], "namespace": "other"}}
    assert template(values={"dataImportCronTemplates": [CUSTOM, elsewhere]})[0] == 0


def manifest(installed, *arguments):
    text = installed.helm("get", "manifest", "imprint", "-n", NAMESPACE, *arguments)
    return [d for d in yaml.safe_load_all(text) if d]


def test_a_first_install_asks_for_all_of_it(installed):
    """The kinds come with it: an object of them could not be in its manifest."""
    first = manifest(installed, "--revision", "1")
    assert not [d for d in first if d["kind"] in KINDS]
    assert set(asked(found(first, "ConfigMap"))["DataSource"]) == {"fedora", "centos-stream9", "ubuntu2404"}
    live = installed.json("-n", NAMESPACE, "get", "configmap", NAME)
    assert live["data"] == found(first, "ConfigMap")["data"]


# What an older chart had in its place.
OLD_TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: imprint-golden-images
  namespace: {{ .Release.Namespace }}
data: {minute: "17", schedule: "17 */12 * * *"}
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataSource
metadata:
  name: fedora
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "imprint.labels" . | nindent 4 }}
spec:
  source:
    pvc: {namespace: {{ .Release.Namespace }}, name: fedora}
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataImportCron
metadata:
  name: fedora-image-cron
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "imprint.labels" . | nindent 4 }}
spec:
  managedDataSource: fedora
  retentionPolicy: All
  schedule: "17 */12 * * *"
  source: {registry: {url: "docker://quay.io/containerdisks/fedora:latest"}}
"""


@pytest.fixture
def old_release(installed, tmp_path):
    """An older chart, whose objects Helm itself made."""
    folder = tmp_path / "imprint"
    shutil.copytree(CHART, folder)
    shutil.rmtree(folder / "templates" / "golden")
    (folder / "templates" / "golden.yaml").write_text(OLD_TEMPLATE, encoding="utf-8")
    installed.helm("upgrade", "imprint", str(folder), "-n", NAMESPACE, "--reuse-values")
    yield installed
    installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reset-values", "--set",
                   "storageClasses[0].name=vms,storageClasses[0].parameters.pool=vms")
    installed("delete", "dataimportcron,datasource", "--all", "-n", NAMESPACE)


def test_what_helm_made_outlives_the_upgrade_and_the_minute_is_kept(old_release):
    """It is rendered once more, to be kept; from then on it is the populator's."""

    def objects():
        return {(item["kind"], item["metadata"]["name"]): item
                for item in old_release.json("-n", NAMESPACE, "get", "dataimportcron,datasource")["items"]}

    before = objects()
    assert len(before) == 2
    # somebody has pointed it elsewhere meanwhile
    old_release("patch", "datasource", "fedora", "-n", NAMESPACE, "--type=merge", "-p",
                '{"spec":{"source":{"pvc":{"name":"fedora-0123456789ab"}}}}')
    for rendered_here in (2, 0):
        old_release.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values", "--set",
                         "enableCommonBootImageImport=true")
        assert len([d for d in manifest(old_release) if d["kind"] in KINDS]) == rendered_here
        now = objects()
        assert set(now) == set(before)
        for key, item in now.items():
            assert item["metadata"]["uid"] == before[key]["metadata"]["uid"]
            assert item["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert now["DataSource", "fedora"]["spec"]["source"]["pvc"]["name"] == "fedora-0123456789ab"
        assert now["DataImportCron", "fedora-image-cron"]["spec"] == \
            before["DataImportCron", "fedora-image-cron"]["spec"]
        data = old_release.json("-n", NAMESPACE, "get", "configmap", NAME)["data"]
        assert data["minute"] == "17"
        assert len(asked({"data": data})["DataImportCron"]) == 3
