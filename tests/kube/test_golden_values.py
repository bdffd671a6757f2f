# SPDX-License-Identifier: Apache-2.0
"""Golden images of the chart's values: rendered by helm, applied as tools do that know no cluster, and
made by the populator."""

import functools
import hashlib
import json
import time
import urllib.request

import pytest

import chart
import golden
import kubectl
import oci_image
from golden_cron import SIZE, content, import_name, imports, source_of

NAME = "imprint-golden-images"
LABEL = "imprint.hypercloud.tmaxanc.com/golden-images"
CRON = "dataimportcron"
SOURCE = "datasource"


@functools.lru_cache
def rendered(name, values):
    status, documents = chart.template("-s", f"templates/golden/{name}.yaml", values=json.loads(values))
    assert status == 0, documents
    return documents


def say(**values):
    """As `helm template | kubectl apply` does it."""
    values = {"goldenImages": {"namespace": "default"}, "commonDataImportCronTemplates": [], **values}
    kubectl.apply(*rendered("images", json.dumps(values)))


def allow():
    kubectl.apply(*rendered("rbac", "{}"))


def ours(kind):
    return sorted(item["metadata"]["name"] for item in kubectl.get_all(kind)
                  if item["metadata"].get("labels", {}).get(LABEL) == NAME)


@pytest.fixture(autouse=True)
def nothing_asked_for(populator):
    yield
    if populator.process is None:
        populator.start()
    say()
    kubectl.until(lambda: not ours(CRON) and not ours(SOURCE), "all is taken back")


def template(name, images=None, metadata=None, **spec):
    """Of a DataImportCron in the values; without images it looks at nothing that answers."""
    registry = {"url": "docker://127.0.0.1:1/nothing"}
    if images:
        registry = {"url": images.url(name), "certConfigMap": "registry-ca"}
    return {
        "metadata": {"name": f"{name}-cron", **(metadata or {})},
        "spec": {
            "managedDataSource": name,
            "template": {"spec": {"source": {"registry": registry}, "storage": {"storageClassName": "rbd"}}},
            **spec,
        },
    }


def yearly(name, images=None, metadata=None, **spec):
    return template(name, images, metadata, schedule="@yearly", **spec)


def made(kind, name, namespace="default"):
    return kubectl.until(lambda: kubectl.get(kind, name, namespace), f"{kind} {name} is there")


def owners(item):
    return [(each["kind"], each["controller"]) for each in item["metadata"].get("ownerReferences", [])]


def refusals():
    return [event for event in kubectl.events(NAME, chart.NAMESPACE) if event.startswith("GoldenImageRefused")]


def await_refusal(text):
    return kubectl.until(lambda: next((each for each in refusals() if text in each), None),
                         f"told: {text}; not: {refusals()}")


def metrics(populator):
    with urllib.request.urlopen(f"http://{populator.metrics}/metrics", timeout=10) as answer:
        return answer.read().decode().splitlines()


def test_common_images_begin_as_dangling_sources_and_are_imported_when_turned_on(images, populator, bytes_of):
    """The seed's way: opted in later, the cron adopts what the installation made."""
    digest = images.push("common:1.0.0", 301)
    common = {"commonDataImportCronTemplates": [template("common", images)]}
    say(**common)
    source = made(SOURCE, "common")
    assert owners(source) == [("ClusterRole", True)]
    assert source["spec"]["source"]["pvc"] == {"namespace": "default", "name": "common"}
    golden.await_reason(SOURCE, "common", "Ready", "NotFound")
    offered = 'imprint_data_source_not_ready{object_namespace="default",name="common"} 0'
    kubectl.until(lambda: offered in metrics(populator), "an offer is no reason for an alert")
    assert not kubectl.get_all(CRON)

    say(enableCommonBootImageImport=True, **common)
    cron = made(CRON, "common-cron")
    assert owners(cron) == [("ClusterRole", True)]
    uid = kubectl.get("namespace", "kube-system")["metadata"]["uid"]
    minute = int(hashlib.sha256(uid.encode()).hexdigest()[:8], 16) % 60
    assert cron["spec"]["schedule"] == f"{minute} */12 * * *"
    kubectl.until(lambda: source_of("common") == import_name("common", digest), "in service")
    assert content(bytes_of, import_name("common", digest)) == oci_image.make_disk(301, SIZE)
    assert kubectl.get(SOURCE, "common")["metadata"]["uid"] == source["metadata"]["uid"]

    say(enableCommonBootImageImport=True, goldenImages={"namespace": "default", "minute": 7}, **common)
    kubectl.until(lambda: kubectl.get(CRON, "common-cron")["spec"]["schedule"] == "7 */12 * * *", "given")

    # off again: what it leads to stays, and stays what it leads to
    say(**common)
    kubectl.until(lambda: not kubectl.get_all(CRON), "the cron is gone")
    assert imports("common-cron") == [import_name("common", digest)]
    # taken out: whoever uses the image keeps it, and it is not the release's any more
    say()
    kubectl.until(lambda: ours(SOURCE) == [], "given up")
    assert owners(kubectl.get(SOURCE, "common")) == []
    assert source_of("common") == import_name("common", digest)
    golden.await_reason(SOURCE, "common", "Ready", "Ready")
    say(**common)
    kubectl.until(lambda: ours(SOURCE) == ["common"], "and asked for again it is taken up")
    assert source_of("common") == import_name("common", digest)


def test_changed_values_reach_a_cron_and_other_peoples_fields_stay():
    say(dataImportCronTemplates=[yearly("kept", importsToKeep=2, garbageCollect="Never",
                                        metadata={"labels": {"team": "one"}, "annotations": {"a": "1"}})])
    uid = made(CRON, "kept-cron")["metadata"]["uid"]
    kubectl.run("label", CRON, "kept-cron", "theirs=yes")
    kubectl.run("annotate", CRON, "kept-cron", "their/note=yes")
    kubectl.run("patch", CRON, "kept-cron", "--type=merge", "-p", '{"spec":{"createdBy":"them"}}')
    say(dataImportCronTemplates=[yearly("kept", importsToKeep=5, metadata={"labels": {"band": "two"}})])
    kubectl.until(lambda: kubectl.get(CRON, "kept-cron")["spec"].get("importsToKeep") == 5, "changed")
    now = kubectl.get(CRON, "kept-cron")
    assert now["metadata"]["uid"] == uid
    assert "garbageCollect" not in now["spec"] and now["spec"]["createdBy"] == "them"
    labels, annotations = now["metadata"]["labels"], now["metadata"]["annotations"]
    assert "team" not in labels and (labels["band"], labels["theirs"], labels[LABEL]) == ("two", "yes", NAME)
    assert "a" not in annotations and annotations["their/note"] == "yes"
    # what the values say is put back
    kubectl.run("patch", CRON, "kept-cron", "--type=merge", "-p", '{"spec":{"importsToKeep":1}}')
    kubectl.until(lambda: kubectl.get(CRON, "kept-cron")["spec"]["importsToKeep"] == 5, "put back")
    # another source in place of the first: the API server takes one only
    say(dataImportCronTemplates=[{"metadata": {"name": "kept-cron"}, "spec": {
        "schedule": "@yearly", "managedDataSource": "kept",
        "source": {"http": {"url": "http://127.0.0.1:1/x"}}}}])
    kubectl.until(lambda: "source" in kubectl.get(CRON, "kept-cron")["spec"], "changed")
    assert "template" not in kubectl.get(CRON, "kept-cron")["spec"]
    kubectl.delete(CRON, "kept-cron", wait=False)
    kubectl.until(lambda: (kubectl.get(CRON, "kept-cron") or now)["metadata"]["uid"] != uid, "made again")


def test_both_owners_of_a_data_source_count(images):
    """A cron with a share in it is an owner beside the installation; the source stays until both are gone."""
    images.push("shared:1.0.0", 302)
    common = {"commonDataImportCronTemplates": [template("shared")]}
    say(**common)
    made(SOURCE, "shared")
    # somebody's own cron adopts it
    kubectl.apply(golden.item("DataImportCron", "theirs", yearly("shared", images)["spec"]))
    kubectl.until(lambda: owners(kubectl.get(SOURCE, "shared")) ==
                  [("ClusterRole", True), ("DataImportCron", False)], "adopted")
    kubectl.until(lambda: source_of("shared") != "shared", "re-pointed")
    uid = kubectl.get(SOURCE, "shared")["metadata"]["uid"]
    # the template goes: it is the cron's alone
    say()
    kubectl.until(lambda: owners(kubectl.get(SOURCE, "shared")) == [("DataImportCron", False)], "given up")
    say(**common)
    kubectl.until(lambda: ours(SOURCE) == ["shared"], "taken up again")
    assert kubectl.get(SOURCE, "shared")["metadata"]["uid"] == uid
    # the cron goes: it is the installation's alone
    kubectl.delete(CRON, "theirs")
    kubectl.until(lambda: owners(kubectl.get(SOURCE, "shared")) == [("ClusterRole", True)], "left")
    assert kubectl.get(SOURCE, "shared")["metadata"]["uid"] == uid


def test_a_template_that_is_taken_away_takes_what_nobody_touched():
    names = ("dangling", "pointed", "foreign")
    kubectl.apply(golden.data_source("foreign", {"pvc": {"namespace": "default", "name": "foreign"}}))
    say(commonDataImportCronTemplates=[template(name) for name in names])
    kubectl.until(lambda: ours(SOURCE) == ["dangling", "pointed"], "made; one was there")
    kubectl.run("patch", SOURCE, "pointed", "--type=merge", "-p", '{"spec":{"source":{"pvc":{"name":"mine"}}}}')
    kubectl.delete(SOURCE, "foreign", wait=False)
    kubectl.until(lambda: ours(SOURCE) == sorted(names), "the place is free")
    say(commonDataImportCronTemplates=[template("dangling")], goldenImages={"namespace": "other"})
    made(SOURCE, "dangling", "other")
    kubectl.until(lambda: ours(SOURCE) == ["dangling"] and not kubectl.get(SOURCE, "dangling"), "moved there")
    say()
    kubectl.until(lambda: not ours(SOURCE), "taken back")
    left = [item["metadata"]["name"] for item in kubectl.get_all(SOURCE)]
    assert left == ["pointed"], "somebody's by now"


@pytest.fixture
def late_namespace():
    """A name; the namespace is not there yet."""
    name = f"not-yet-{time.time_ns()}"
    yield name
    kubectl.run("delete", "namespace", name, "--ignore-not-found", "--wait=false")


def test_what_cannot_be_made_is_told_and_tried_again(populator, late_namespace):
    def refused():
        return int(next(line for line in metrics(populator)
                        if line.startswith("imprint_golden_images_refused")).split()[1])

    def ask_for(keep):
        say(dataImportCronTemplates=[
            yearly("bad", importsToKeep=keep),
            yearly("away", metadata={"namespace": late_namespace}),
            yearly("taken"),
            yearly("good"),
        ])

    kubectl.apply(golden.item("DataImportCron", "taken-cron", yearly("theirs")["spec"]))
    ask_for(keep=-1)
    made(CRON, "good-cron")
    bad = await_refusal("dataImportCronTemplates 'bad-cron'")
    assert "importsToKeep" in bad
    assert "dataImportCronTemplates 'away-cron'" in await_refusal(f'namespaces "{late_namespace}" not found')
    assert "somebody else made" in await_refusal("dataImportCronTemplates 'taken-cron'")
    assert "dataImportCronTemplates 'bad-cron'" in populator.log_text()
    kubectl.until(lambda: refused() == 3, f"counted: {refused()}")
    assert kubectl.get(CRON, "taken-cron")["spec"]["managedDataSource"] == "theirs"

    # each of them is mended
    kubectl.run("create", "namespace", late_namespace)
    kubectl.until(lambda: kubectl.get(CRON, "away-cron", late_namespace), "made by itself")
    kubectl.delete(CRON, "taken-cron", wait=False)
    ask_for(keep=1)
    kubectl.until(lambda: len(ours(CRON)) == 4, f"made: {ours(CRON)}")
    kubectl.until(lambda: refused() == 0, "nothing is refused")


def test_a_list_that_cannot_be_read_changes_nothing():
    say(dataImportCronTemplates=[yearly("first")])
    uid = made(CRON, "first-cron")["metadata"]["uid"]
    twice = [{"from": f"values '{n}'", "object": golden.item("DataImportCron", "first-cron", yearly("first")["spec"])}
             for n in (1, 2)]
    for text, told in (("[{", "not JSON"), ('[{"from": "x"}]', "entry 0 has no kind"),
                       (json.dumps(twice), "values '2': another template has the name 'first-cron'")):
        kubectl.run("patch", "configmap", NAME, "-n", chart.NAMESPACE, "--type=merge", "-p",
                    json.dumps({"data": {"objects.json": text}}))
        await_refusal(told)
    # an older chart's, and none at all: neither takes anything back
    kubectl.run("patch", "configmap", NAME, "-n", chart.NAMESPACE, "--type=merge", "-p",
                '{"data":{"objects.json":null}}')
    time.sleep(1)
    kubectl.delete("configmap", NAME, namespace=chart.NAMESPACE)
    time.sleep(1)
    assert kubectl.get(CRON, "first-cron")["metadata"]["uid"] == uid


def test_values_that_change_while_nobody_is_there(populator):
    say(dataImportCronTemplates=[yearly("going"), yearly("staying", importsToKeep=2)])
    kubectl.until(lambda: len(ours(CRON)) == 2, "made")
    populator.kill()
    say(dataImportCronTemplates=[yearly("coming"), yearly("staying", importsToKeep=4)])
    kubectl.run("annotate", CRON, "staying-cron", "a=b")
    populator.start()
    kubectl.until(lambda: ours(CRON) == ["coming-cron", "staying-cron"], "as asked for")
    kubectl.until(lambda: kubectl.get(CRON, "staying-cron")["spec"]["importsToKeep"] == 4, "changed")


def test_two_populators_agree(second_populator):
    """Each change is seen by both; none undoes what the other has done, and then all is quiet."""
    second_populator.wait_ready()
    for count in (4, 0, 5):
        say(dataImportCronTemplates=[yearly(f"both-{i}", importsToKeep=count) for i in range(count)],
            commonDataImportCronTemplates=[template(f"both-{i}") for i in range(count, 6)])
        crons = [f"both-{i}-cron" for i in range(count)]
        kubectl.until(lambda: ours(CRON) == crons, f"{crons}")  # pylint: disable=cell-var-from-loop

    def versions():
        return {item["metadata"]["uid"]: (item["metadata"]["name"], item["metadata"]["generation"],
                                          item["metadata"]["annotations"], owners(item))
                for item in kubectl.get_all(CRON)}

    time.sleep(1)
    before = versions()
    time.sleep(3)
    assert versions() == before and len(before) == 5
    assert not [event for event in refusals() if "both-" in event]


def helms(kind, name, spec):
    """As a chart before this one made it."""
    return golden.item(kind, name, spec, labels={
        "app.kubernetes.io/name": "imprint", "app.kubernetes.io/instance": "imprint",
        "app.kubernetes.io/managed-by": "Helm"})


def test_what_helm_made_is_taken_over(images, bytes_of):
    """From an older chart to this one: nothing is made anew, and nobody finds nothing meanwhile."""
    say(goldenImages={"enabled": False})
    digest = images.push("before:1.0.0", 303)
    claim = import_name("before", digest)
    wish = template("before", images, schedule="17 */12 * * *", retentionPolicy="All", importsToKeep=2)
    kubectl.apply(helms("DataSource", "before", {"source": {"pvc": {"namespace": "default", "name": "before"}}}),
                  helms("DataImportCron", "before-cron", wish["spec"]))
    kubectl.until(lambda: source_of("before") == claim, "in service")
    before = [kubectl.get(kind, name)["metadata"]["uid"]
              for kind, name in ((CRON, "before-cron"), (SOURCE, "before"), ("pvc", claim))]
    say(commonDataImportCronTemplates=[template("before", images)], enableCommonBootImageImport=True,
        goldenImages={"namespace": "default", "minute": 17})
    kubectl.until(lambda: ours(CRON) == ["before-cron"] and ours(SOURCE) == ["before"], "taken over")
    kubectl.until(lambda: "importsToKeep" not in kubectl.get(CRON, "before-cron")["spec"], "as the values say")
    assert before == [kubectl.get(kind, name)["metadata"]["uid"]
                      for kind, name in ((CRON, "before-cron"), (SOURCE, "before"), ("pvc", claim))]
    assert kubectl.get(CRON, "before-cron")["spec"]["schedule"] == "17 */12 * * *"
    for kind, name in ((CRON, "before-cron"), (SOURCE, "before")):
        assert owners(kubectl.get(kind, name)) == [("ClusterRole", True)]
    assert source_of("before") == claim
    assert content(bytes_of, claim) == oci_image.make_disk(303, SIZE)


def test_all_of_it_goes_with_the_release_and_comes_back_with_the_next(images, bytes_of):
    """helm uninstall removes the role that they belong to; what was imported stays, and is found again."""
    digest = images.push("leaving:1.0.0", 304)
    claim = import_name("leaving", digest)
    kubectl.apply(golden.item("DataImportCron", "somebodys", yearly("somebodys")["spec"]))
    values = {
        "commonDataImportCronTemplates": [template("leaving", images), template("elsewhere", metadata={
            "namespace": "other"})],
        "enableCommonBootImageImport": True,
    }
    say(**values)
    kubectl.until(lambda: source_of("leaving") == claim, "in service")
    made(SOURCE, "elsewhere", "other")
    golden.await_reason(CRON, "leaving-cron", "UpToDate", "UpToDate")
    uid = kubectl.get("pvc", claim)["metadata"]["uid"]
    try:
        kubectl.run("delete", "clusterrole", NAME)
        kubectl.until(lambda: not ours(CRON) and not ours(SOURCE), "gone, in both namespaces")
        assert [item["metadata"]["name"] for item in kubectl.get_all(CRON)] == ["somebodys"]
        assert kubectl.get("pvc", claim)["metadata"]["uid"] == uid
        time.sleep(2)  # nobody makes them again
        assert not ours(CRON) and not ours(SOURCE)
    finally:
        allow()
    kubectl.until(lambda: source_of("leaving") == claim, "it leads there again")
    assert kubectl.get("pvc", claim)["metadata"]["uid"] == uid
    assert content(bytes_of, claim) == oci_image.make_disk(304, SIZE)
