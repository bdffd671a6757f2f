# SPDX-License-Identifier: Apache-2.0
"""DataImportCrons among other people: claims that are there already, DataSources that somebody deletes or
points elsewhere, and two crons that want the same one."""

import golden
import kubectl
import oci_image
from golden_cron import LABEL, SIZE, await_source, content, cron, import_name, imports, poll, poll_and_wait, source_of

CRON = "dataimportcron"
SOURCE = "datasource"


def test_a_claim_of_that_name_is_used_as_it_is_and_never_touched(images, server, disk, bytes_of):
    """Somebody has imported that version by hand: nothing is fetched, and it stays his."""
    digest = images.push("byhand:1.0.0", 401)
    claim = import_name("byhand", digest)
    kubectl.apply(golden.volume(claim, {"http": {"url": server.url("/disk.qcow2")}}))
    golden.await_phase(claim, "Succeeded")
    before = kubectl.get("pvc", claim)
    kubectl.apply(cron("byhand", images, "byhand", retentionPolicy="None", importsToKeep=1))
    await_source("byhand", claim)
    assert bytes_of(kubectl.await_bound(claim), 64 << 20) == disk["raw"], "his, not the registry's"
    second = images.push("byhand:1.0.1", 402)
    poll("byhand")
    await_source("byhand", import_name("byhand", second))
    poll_and_wait("byhand")  # whatever would be collected is by now
    assert imports("byhand") == [import_name("byhand", second)]
    kubectl.delete(CRON, "byhand")
    kubectl.until(lambda: not imports("byhand"), "its own go with it")
    now = kubectl.get("pvc", claim)
    assert (now["metadata"]["uid"], now["spec"]) == (before["metadata"]["uid"], before["spec"])
    assert now["metadata"].get("labels") == before["metadata"].get("labels")


def test_a_data_source_that_is_deleted_or_pointed_elsewhere_comes_back(images):
    digest = images.push("moved:1.0.0", 403)
    claim = import_name("moved", digest)
    kubectl.apply(cron("moved", images, "moved"))
    await_source("moved", claim)
    kubectl.run("patch", SOURCE, "moved", "--type=merge", "-p",
                '{"spec":{"source":{"pvc":null,"snapshot":{"namespace":"default","name":"old"}}}}')
    kubectl.until(lambda: source_of("moved") == claim, "pointed back")
    assert "snapshot" not in kubectl.get(SOURCE, "moved")["spec"]["source"]
    kubectl.delete(SOURCE, "moved", wait=False)
    kubectl.until(lambda: source_of("moved") == claim, "made again")
    owner = kubectl.get(SOURCE, "moved")["metadata"]["ownerReferences"]
    assert [(each["kind"], each["controller"]) for each in owner] == [("DataImportCron", True)]
    golden.await_reason(CRON, "moved", "UpToDate", "UpToDate")


def test_of_two_crons_for_one_data_source_the_second_waits_for_the_first_to_go(images, bytes_of):
    first = images.push("early:1.0.0", 404)
    second = images.push("late:1.0.0", 405)
    wishes = {name: cron(name, images, name, retentionPolicy="All") for name in ("early", "late")}
    for wish in wishes.values():
        wish["spec"]["managedDataSource"] = "one"
    kubectl.apply(wishes["early"])
    kubectl.until(lambda: source_of("one") == import_name("one", first), "in service")
    kubectl.apply(wishes["late"])
    kubectl.until(lambda: "is managed by DataImportCron 'early'" in golden.condition(CRON, "late", "UpToDate")[2],
                  "told")
    assert source_of("one") == import_name("one", first)
    kubectl.delete(CRON, "early")
    kubectl.until(lambda: source_of("one") == import_name("one", second), "its turn")
    assert kubectl.get(SOURCE, "one")["metadata"]["labels"][LABEL] == "late"
    assert content(bytes_of, import_name("one", first)) == oci_image.make_disk(404, SIZE), "kept (All)"


def test_none_but_the_current_one_is_kept_when_none_is_asked_for(images, bytes_of):
    """importsToKeep: 0, and what is in service stays all the same."""
    images.push("lean:1.0.0", 406)
    kubectl.apply(cron("lean", images, "lean", importsToKeep=0))
    kubectl.until(lambda: source_of("lean"), "in service")
    second = images.push("lean:1.0.1", 407)
    poll("lean")
    await_source("lean", import_name("lean", second))
    kubectl.until(lambda: imports("lean") == [import_name("lean", second)], "the older one is gone")
    assert content(bytes_of, import_name("lean", second)) == oci_image.make_disk(407, SIZE)


def test_a_cron_that_is_made_again_at_once_goes_on_with_what_is_there(images, populator):
    """Deleted and applied again while nobody looks, as a tool that replaces objects does it."""
    digest = images.push("replaced:1.0.0", 408)
    claim = import_name("replaced", digest)
    wish = cron("replaced", images, "replaced", retentionPolicy="All")
    kubectl.apply(wish)
    await_source("replaced", claim)
    uid = kubectl.get("pvc", claim)["metadata"]["uid"]
    kubectl.until(lambda: not kubectl.get(CRON, "replaced")["metadata"].get("finalizers"), "free to go")
    populator.kill()
    kubectl.delete(CRON, "replaced")
    kubectl.apply(wish)
    populator.start()
    await_source("replaced", claim)
    assert kubectl.get("pvc", claim)["metadata"]["uid"] == uid
    assert kubectl.get(CRON, "replaced")["status"]["lastImportedPVC"]["name"] == claim


def test_a_claim_of_another_namespace_needs_a_grant_to_be_looked_at(server, disk, bytes_of):
    """Without, it is not even told whether it is there; with one, it is cloned."""
    kubectl.apply(golden.volume("theirs", {"http": {"url": server.url("/disk.qcow2")}}, "other"))
    golden.await_phase("theirs", "Succeeded", "other")

    def copy_of(name):
        return golden.item("DataImportCron", f"copy-of-{name}", {
            "schedule": "@yearly",
            "managedDataSource": f"copy-of-{name}",
            "template": {"spec": {"source": {"pvc": {"name": name, "namespace": "other"}}, "storage": {}}},
        })

    kubectl.apply(copy_of("theirs"), copy_of("nothing"))
    told = {name: kubectl.until(lambda name=name: golden.condition(CRON, f"copy-of-{name}", "UpToDate")[2],
                                "told") for name in ("theirs", "nothing")}
    assert "ReferenceGrant" in told["theirs"]
    assert told["theirs"].replace("theirs", "nothing") == told["nothing"]
    assert "currentImports" not in kubectl.get(CRON, "copy-of-theirs")["status"]
    kubectl.apply(golden.grant("golden", "other", "default", "DataVolume", "PersistentVolumeClaim"))
    poll("copy-of-theirs")
    claim = kubectl.until(lambda: source_of("copy-of-theirs"), "cloned")
    assert bytes_of(kubectl.await_bound(claim), 64 << 20) == disk["raw"]
    kubectl.run("delete", "referencegrant", "golden", "-n", "other")
