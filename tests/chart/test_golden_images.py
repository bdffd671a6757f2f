# SPDX-License-Identifier: Apache-2.0
"""Golden images out of the chart's values."""

import json
import re

import pytest

from chart import CHART, NAMESPACE, template

CUSTOM = {
    "metadata": {"name": "custom-image1"},
    "spec": {
        "schedule": "0 */12 * * *",
        "managedDataSource": "custom1",
        "source": {"registry": {"url": "docker://myprivateregistry/custom1"}},
    },
}


def golden(values):
    status, documents = template(values={"goldenImages": {"enabled": True}, **values})
    assert status == 0, documents
    return {kind: {d["metadata"]["name"]: d for d in documents if d["kind"] == kind}
            for kind in ("DataImportCron", "DataSource")}


def test_common_images_are_off_and_their_data_sources_dangle():
    made = golden({"dataImportCronTemplates": [CUSTOM]})
    assert set(made["DataImportCron"]) == {"custom-image1"}, "custom ones are always on"
    assert made["DataImportCron"]["custom-image1"]["spec"]["schedule"] == "0 */12 * * *"
    assert {"fedora", "centos-stream9"} <= set(made["DataSource"])
    assert made["DataSource"]["fedora"]["spec"]["source"]["pvc"] == {
        "namespace": NAMESPACE, "name": "fedora"
    }


def test_common_images_are_looked_for_twice_a_day_at_one_minute():
    made = golden({"enableCommonBootImageImport": True, "goldenImages": {"enabled": True,
                                                                        "namespace": "golden"}})
    schedules = {d["spec"]["schedule"] for d in made["DataImportCron"].values()}
    assert len(schedules) == 1 and re.fullmatch(r"[1-5]?\d \*/12 \* \* \*", *schedules)
    assert {d["metadata"]["namespace"] for kind in made.values() for d in kind.values()} == {"golden"}
    assert {d["spec"]["managedDataSource"] for d in made["DataImportCron"].values()} == \
        set(made["DataSource"])


@pytest.mark.parametrize("spec", [{"managedDataSource": "x"}, {"schedule": "@daily"}])
def test_a_custom_image_without_its_schedule_is_refused(spec):
    status, message = template(values={"dataImportCronTemplates": [{"metadata": {"name": "x"},
                                                                   "spec": spec}]})
    assert status != 0 and "dataImportCronTemplates" in message


def test_the_minute_is_kept_and_turning_the_import_on_keeps_the_data_source(installed):
    def values():
        return json.loads(installed("get", "configmap", "imprint-golden-images", "-n", NAMESPACE, "-o",
                                    "json"))["data"]

    first = values()
    installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values")
    uid = json.loads(installed("get", "datasource", "fedora", "-n", NAMESPACE, "-o",
                               "json"))["metadata"]["uid"]
    installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values", "--set",
                   "enableCommonBootImageImport=true")
    assert values() == first
    crons = json.loads(installed("get", "dataimportcron", "-n", NAMESPACE, "-o", "json"))["items"]
    assert {cron["spec"]["schedule"] for cron in crons} == {first["schedule"]}
    assert json.loads(installed("get", "datasource", "fedora", "-n", NAMESPACE, "-o",
                                "json"))["metadata"]["uid"] == uid
    installed.helm("upgrade", "imprint", CHART, "-n", NAMESPACE, "--reuse-values", "--set",
                   "enableCommonBootImageImport=false")
    assert installed("get", "dataimportcron", "-n", NAMESPACE, "-o", "name").strip() == ""
    assert values() == first
