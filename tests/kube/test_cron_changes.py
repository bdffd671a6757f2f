# SPDX-License-Identifier: Apache-2.0
"""DataImportCrons that are changed, robbed of their imports or deleted while they are at it."""

import json
import socket
import time
import urllib.request

import pytest

import golden
import kubectl
import oci_image
from fault_server import File
from golden_cron import LABEL, SIZE, await_source, content, cron, import_name, imports, poll, poll_and_wait, \
    source_of

CRON = "dataimportcron"


def patch(name, spec, *arguments):
    kubectl.run("patch", CRON, name, "--type=merge", "-p", json.dumps({"spec": spec}), *arguments)


def at(url):
    """A template's part."""
    return {"template": {"spec": {"source": {"registry": {"url": url}}}}}


def up_to_date(name):
    return next(each for each in kubectl.get(CRON, name)["status"]["conditions"]
                if each["type"] == "UpToDate")


@pytest.fixture
def silent():
    """The address of a host that takes connections and never says a word."""
    with socket.create_server(("127.0.0.9", 0)) as listening:
        yield f"127.0.0.9:{listening.getsockname()[1]}"


def test_what_is_changed_is_looked_at_at_once(images, silent, bytes_of):
    """Not at the schedule's next time, which is in January; nor behind the answer of a host that is not
    asked any more."""
    first = images.push("edited:1.0.0", 110)
    second = images.push("edited-next:1.0.0", 111)
    wish = cron("edited", images, "edited")
    wish["spec"]["template"]["spec"]["source"]["registry"]["url"] = f"docker://{silent}/dead/image"
    kubectl.apply(wish)
    kubectl.until(lambda: kubectl.get("datasource", "edited"), "it is at it")
    patch("edited", at(images.url("edited")))
    await_source("edited", import_name("edited", first), 15)
    before = up_to_date("edited")
    patch("edited", {"importsToKeep": 1})
    poll("edited")
    patch("edited", at(images.url("edited-next")))
    await_source("edited", import_name("edited", second), 15)
    kubectl.until(lambda: imports("edited") == [import_name("edited", second)], "only one is kept")
    assert content(bytes_of, import_name("edited", second)) == oci_image.make_disk(111, SIZE)
    assert before["status"] == "True"


def test_a_look_that_finds_nothing_new_changes_nothing(images):
    """Whoever waits for UpToDate never sees it go; a clock that was wrong once does not count."""
    digest = images.push("steady:1.0.0", 112)
    kubectl.apply(cron("steady", images, "steady"))
    await_source("steady", import_name("steady", digest))
    before = up_to_date("steady")
    time.sleep(1.1)  # the time stamps' unit
    kubectl.run("patch", CRON, "steady", "--subresource=status", "--type=merge", "-p", json.dumps({
        "status": {"lastExecutionTimestamp": "2099-01-01T00:00:00Z"}
    }))
    kubectl.until(lambda: kubectl.get(CRON, "steady")["status"]["lastExecutionTimestamp"] < "2099",
                  "asked again")
    poll_and_wait("steady")
    assert up_to_date("steady") == before


def test_without_a_schedule_it_looks_when_it_is_asked_to(images, populator):
    digest = images.push("asked:1.0.0", 113)
    kubectl.apply(cron("asked", images, "asked", ""))
    golden.await_reason(CRON, "asked", "UpToDate", "NoDigest")
    patch("asked", {"importsToKeep": 2})
    golden.await_reason("datasource", "asked", "Ready", "NoSource")
    assert "lastExecutionTimestamp" not in kubectl.get(CRON, "asked")["status"]
    with urllib.request.urlopen(f"http://{populator.metrics}/metrics", timeout=10) as answer:
        assert 'cron_outdated{object_namespace="default",name="asked"} 0' in answer.read().decode()
    poll("asked")
    await_source("asked", import_name("asked", digest))


def test_an_import_whose_claim_is_gone_is_made_again(images, bytes_of):
    """Somebody deletes the claim alone; the DataVolume of it is complete for good."""
    digest = images.push("robbed:1.0.0", 114)
    claim = import_name("robbed", digest)
    kubectl.apply(cron("robbed", images, "robbed"))
    await_source("robbed", claim)
    before = kubectl.get("pvc", claim)["metadata"]["uid"]
    kubectl.delete("pvc", claim)

    def is_new():
        return (kubectl.get("pvc", claim) or {"metadata": {"uid": before}})["metadata"]["uid"] != before

    kubectl.until(is_new, "there is another one")
    assert content(bytes_of, claim) == oci_image.make_disk(114, SIZE)
    await_source("robbed", claim)
    golden.await_reason("datasource", "robbed", "Ready", "Ready")


def slow(name, server):
    """A cron whose import takes its time."""
    server.files["/slow.raw"] = File(size=8 << 20, seed=115, etag='"slow"')
    server.slow_s = 0.1
    return golden.item("DataImportCron", name, {
        "schedule": "@yearly",
        "managedDataSource": name,
        "template": {
            "spec": {
                "source": {"http": {"url": server.url("/slow.raw")}},
                "storage": {"storageClassName": "rbd"},
            }
        },
    })


def test_who_cannot_ask_still_puts_in_service_what_comes(server):
    """The schedule is spoilt while it imports: the conditions tell of both."""
    kubectl.apply(slow("spoilt", server))
    kubectl.until(lambda: server.sent > 1 << 20, "the import runs")
    patch("spoilt", {"schedule": "0 25 * * *"})
    kubectl.until(lambda: "hour: 25" in golden.condition(CRON, "spoilt", "UpToDate")[2], "told")
    assert golden.condition(CRON, "spoilt", "Progressing")[:2] == ("True", "ImportProgressing")
    server.slow_s = 0
    kubectl.until(lambda: source_of("spoilt"), "in service")
    assert golden.condition(CRON, "spoilt", "UpToDate")[0] == "False"
    patch("spoilt", {"schedule": "@yearly"})
    golden.await_reason(CRON, "spoilt", "UpToDate", "UpToDate")


def test_a_cron_takes_an_import_along_that_is_not_complete(server):
    """Whatever its policy says: nobody could use it."""
    wish = slow("gone", server)
    wish["spec"]["retentionPolicy"] = "All"
    kubectl.apply(wish)
    kubectl.until(lambda: server.sent > 1 << 20, "the import runs")
    kubectl.delete(CRON, "gone")
    kubectl.until(lambda: not kubectl.get_all("datavolumes") and not imports("gone"), "gone with it")
    golden.await_reason("datasource", "gone", "Ready", "NoSource")


def test_a_cron_that_keeps_all_waits_for_nobody_when_it_goes(server, populator):
    """As with a release that is removed while an image is being imported: the cron goes at once. What is not
    complete is gone on with for one that is made again, and removed if there is none."""
    wish = slow("left", server)
    wish["spec"]["retentionPolicy"] = "All"
    kubectl.apply(wish)
    kubectl.until(lambda: server.sent > 1 << 20, "the import runs")
    populator.kill()
    uid = kubectl.get_all("datavolumes")[0]["metadata"]["uid"]
    kubectl.delete(CRON, "left")
    kubectl.apply(wish)
    populator.start()
    before = server.sent
    kubectl.until(lambda: server.sent > before, "it goes on")
    assert [item["metadata"]["uid"] for item in kubectl.get_all("datavolumes")] == [uid]
    populator.terminate()
    kubectl.delete(CRON, "left")
    assert [item["metadata"]["uid"] for item in kubectl.get_all("datavolumes")] == [uid]
    populator.start()
    kubectl.until(lambda: not kubectl.get_all("datavolumes") and not imports("left"), "gone behind it")
    # the lease of a transfer that nobody takes up again is swept up ten minutes later
    kubectl.run("delete", "leases", "-n", "imprint-system", "-l", "app.kubernetes.io/managed-by=imprint-populator")


def test_imports_of_a_former_name_are_collected(images, bytes_of):
    """The DataSource that was managed before stays as it is, with what it leads to."""
    first = images.push("renamed:1.0.0", 116)
    wish = cron("renamed", images, "renamed", importsToKeep=1)
    wish["spec"]["retentionPolicy"] = "All"
    kubectl.apply(wish)
    await_source("renamed", import_name("renamed", first))
    patch("renamed", {"managedDataSource": "later"})
    kubectl.until(lambda: source_of("later") == import_name("later", first), "the other one leads there")
    images.push("renamed:1.0.1", 117)
    second = images.push("renamed:1.0.2", 118)
    poll_and_wait("renamed")
    kubectl.until(lambda: source_of("later") == import_name("later", second), "re-pointed")
    former = import_name("renamed", first)
    kubectl.until(lambda: imports("renamed") == sorted([former, import_name("later", second)]),
                  f"what nobody leads to is gone: {imports('renamed')}")
    assert source_of("renamed") == former
    assert content(bytes_of, former) == oci_image.make_disk(116, SIZE)
    # somebody copies an import, label and all: it is his
    copied = golden.volume("mine-0123456789ab", {"pvc": {"name": former, "namespace": "default"}},
                           metadata={"labels": {LABEL: "renamed"}})
    kubectl.apply(copied)
    golden.await_phase("mine-0123456789ab", "Succeeded")
    kubectl.delete("datasource", "renamed")
    poll_and_wait("renamed")
    kubectl.until(lambda: imports("renamed") == [import_name("later", second), "mine-0123456789ab"],
                  f"and it goes with its DataSource: {imports('renamed')}")
    kubectl.delete(CRON, "renamed")
    assert source_of("later") == import_name("later", second)
