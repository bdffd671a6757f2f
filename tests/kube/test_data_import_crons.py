# SPDX-License-Identifier: Apache-2.0
"""DataImportCrons on a real registry: new versions, old ones, and what goes wrong in between."""

import json
import os
import re
import socket
import time
import urllib.request

import golden
import kubectl
import oci_image
from certificates import Authority
from fault_server import File
from golden_cron import (LABEL, SIZE, await_source, content, cron, import_name, imports, poll, poll_and_wait,
                         source_of)
from nginx import Nginx
from registry import PASSWORD, USER, Foreign, Registry


def test_a_new_tag_is_imported_and_put_in_service(images, bytes_of):
    """Of several tags the highest version; each import a claim of its own."""
    env = ["INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE=u1.small", "PATH=/bin"]
    images.push("fedora:devel", 1)
    first = images.push("fedora:v9.0.1", 2, env)
    kubectl.apply(cron("fedora", images, "fedora"))
    await_source("fedora", import_name("fedora", first))
    assert content(bytes_of, import_name("fedora", first)) == oci_image.make_disk(2, SIZE)

    status = kubectl.get("dataimportcron", "fedora")["status"]
    assert status["lastImportedPVC"] == {
        "namespace": "default", "name": import_name("fedora", first)
    }
    assert status["currentImports"][0]["Digest"] == first
    assert status["lastImportTimestamp"] and status["lastExecutionTimestamp"]
    assert golden.condition("dataimportcron", "fedora", "Progressing")[:2] == ("False", "NoImport")
    volume = kubectl.get("datavolume", import_name("fedora", first))
    assert volume["spec"]["source"]["registry"]["url"].endswith(f"@{first}")
    claim = kubectl.get("pvc", import_name("fedora", first))
    source = kubectl.until(lambda: next((each for each in [kubectl.get("datasource", "fedora")]
                                         if len(each["metadata"]["labels"]) == 2), None), "labels")
    for each in (claim, source):
        assert each["metadata"]["labels"]["instancetype.kubevirt.io/default-instancetype"] == "u1.small"
        assert each["metadata"]["labels"][LABEL] == "fedora"
    owner = source["metadata"]["ownerReferences"]
    assert [(each["kind"], each["controller"]) for each in owner] == [("DataImportCron", True)]

    kubectl.apply(golden.volume("old", golden.by_reference("fedora")))
    golden.await_phase("old", "Succeeded")
    second = images.push("fedora:v10.0.0", 3)
    before = kubectl.get("pvc", import_name("fedora", first))
    poll("fedora")
    await_source("fedora", import_name("fedora", second))
    kubectl.apply(golden.volume("new", golden.by_reference("fedora")))
    golden.await_phase("new", "Succeeded")
    assert content(bytes_of, "old") == oci_image.make_disk(2, SIZE)
    assert content(bytes_of, "new") == oci_image.make_disk(3, SIZE)
    assert kubectl.get("pvc", import_name("fedora", first)) == before, "never changed"

    preference = "instancetype.kubevirt.io/default-preference"
    kubectl.run("label", "dataimportcron", "fedora", f"{preference}=fedora")
    kubectl.until(lambda: kubectl.get("datasource", "fedora")["metadata"]["labels"].get(preference)
                  == "fedora", "what is said of the cron later is carried too")


def test_within_one_poll_of_its_schedule(images):
    """Every minute: nobody asks for it."""
    first = images.push("minutely:1.0.0", 4)
    kubectl.apply(cron("minutely", images, "minutely", "* * * * *"))
    await_source("minutely", import_name("minutely", first))
    images.push_by_imprint("minutely:1.1.0", 5)
    kubectl.until(lambda: source_of("minutely") != import_name("minutely", first), "re-pointed", 120)
    assert len(imports("minutely")) == 2


def test_the_fourth_import_collects_the_first_unless_it_is_cloned(images, bytes_of):
    """A claim that waits for its pod holds on to what was chosen for it."""
    digests = [images.push("kept:latest", 10)]
    kubectl.apply(cron("kept", images, "kept:latest"))
    await_source("kept", import_name("kept", digests[0]))
    kubectl.apply(golden.volume("waiting", golden.by_reference("kept"),
                                storage={"storageClassName": "rbd-late"}))
    golden.await_phase("waiting", "PendingPopulation")
    # those who may not clone it hold nothing back
    wanted = {"namespace": "default", "name": import_name("kept", digests[0])}
    beggar = kubectl.claim("beggar", "8Mi", namespace="other", **golden.from_data_source("kept", "default"))
    beggar["metadata"]["annotations"] = {
        "imprint.hypercloud.tmaxanc.com/cloned-from": f"PersistentVolumeClaim/default/{wanted['name']}"
    }
    kubectl.apply(beggar, golden.volume("begging", {"pvc": wanted}, "other", metadata={
        "annotations": {"imprint.hypercloud.tmaxanc.com/by-reference-grant": "true"}}))
    for seed in (11, 12, 13):
        digests.append(images.push("kept:latest", seed))
        poll("kept")
        await_source("kept", import_name("kept", digests[-1]))
    poll_and_wait("kept")  # whatever could be collected would be by now
    assert len(imports("kept")) == 4, "the first is being cloned"
    kubectl.run("annotate", "pvc", "waiting", "cdi.kubevirt.io/storage.bind.immediate.requested=true")
    golden.await_phase("waiting", "Succeeded")
    assert content(bytes_of, "waiting") == oci_image.make_disk(10, SIZE)
    kubectl.until(lambda: imports("kept") == sorted(import_name("kept", d) for d in digests[1:]),
                  "the first is collected")
    assert content(bytes_of, "waiting") == oci_image.make_disk(10, SIZE)

    # the tag moves back to what is still there: nothing is fetched, and it is not collected
    before = kubectl.get("pvc", import_name("kept", digests[1]))["metadata"]["uid"]
    images.foreign.copy(images.url(f"kept@{digests[1]}"), images.url("kept:latest"))
    poll("kept")
    await_source("kept", import_name("kept", digests[1]))
    poll_and_wait("kept")
    assert kubectl.get("pvc", import_name("kept", digests[1]))["metadata"]["uid"] == before
    assert len(imports("kept")) == 3


def test_volumes_made_meanwhile_are_of_one_version(images, bytes_of):
    """Either the old or the new one, whole, whenever they were made."""
    images.push("mixed:1.0.0", 14)
    second = import_name("mixed", images.push("mixed-next:1.0.0", 15))
    kubectl.apply(cron("mixed", images, "mixed"))
    kubectl.until(lambda: source_of("mixed"), "imported")
    images.push("mixed:1.0.1", 15)
    poll("mixed")
    made = 0
    while source_of("mixed") != second or made < 8:
        kubectl.apply(golden.volume(f"meanwhile-{made}", golden.by_reference("mixed")),
                      kubectl.claim(f"claimed-{made}", "16Mi", **golden.from_data_source("mixed")))
        made += 1
        assert made < 60
    kubectl.apply(golden.volume(f"meanwhile-{made}", golden.by_reference("mixed")))
    wanted = {oci_image.make_disk(14, SIZE): "old", oci_image.make_disk(15, SIZE): "new"}
    names = [f"{kind}-{i}" for i in range(made) for kind in ("meanwhile", "claimed")]
    found = [wanted.get(content(bytes_of, name), "a mix") for name in names]
    print(found)
    assert set(found) <= {"old", "new"}
    assert wanted[content(bytes_of, f"meanwhile-{made}")] == "new"


def test_an_import_that_is_killed_goes_on(server, populator, disk, bytes_of):
    kubectl.run("annotate", "storageclass", "rbd", "storageclass.kubevirt.io/is-default-virt-class=true")
    server.slow_s = 0.05
    try:
        kubectl.apply(golden.item("DataImportCron", "slow", {
            "source": {"http": {"url": server.url("/disk.qcow2")}},
            "schedule": "@yearly",
            "managedDataSource": "slow",
        }))
        kubectl.until(lambda: server.sent > 4 << 20, "the import runs")
        golden.await_reason("dataimportcron", "slow", "Progressing", "ImportProgressing")
        assert golden.condition("dataimportcron", "slow", "UpToDate")[:2] == \
            ("False", "ImportProgressing")
        assert source_of("slow") is None, "nothing is in service before it is complete"
        populator.kill()
        server.slow_s = 0
        populator.start()
        kubectl.until(lambda: source_of("slow"), "in service", 90)
        assert bytes_of(kubectl.await_bound(source_of("slow")), 64 << 20) == disk["raw"]
        assert server.sent < 2 * len(disk["qcow2"]), "it did not begin anew"
    finally:
        kubectl.run("annotate", "storageclass", "rbd", "storageclass.kubevirt.io/is-default-virt-class-")


def metric(populator, name, cron_name):
    with urllib.request.urlopen(f"http://{populator.metrics}/metrics", timeout=10) as answer:
        found = re.search(rf'^{name}{{object_namespace="default",name="{cron_name}"}} (\d+)$',
                          answer.read().decode(), re.M)
    return found and int(found.group(1))


def test_a_registry_that_is_down_leaves_the_old_image_in_service(images, populator, bytes_of):
    first = images.push("down:1.0.0", 20)
    kubectl.apply(cron("down", images, "down"))
    await_source("down", import_name("down", first))
    images.stop()
    try:
        poll("down")
        status, reason, message = golden.await_reason("dataimportcron", "down", "UpToDate",
                                                      "NoDigest", timeout_s=90)
        assert status == "False" and "Unable to reach docker://" in message
        assert golden.condition("datasource", "down", "Ready")[0] == "True"
        assert metric(populator, "imprint_data_import_cron_outdated", "down") == 1
        assert metric(populator, "imprint_data_import_cron_failed_polls", "down") >= 1
        assert metric(populator, "imprint_data_import_cron_image_age_seconds", "down") < 600
        assert metric(populator, "imprint_data_source_not_ready", "down") == 0
        kubectl.apply(golden.volume("meanwhile", golden.by_reference("down")))
        golden.await_phase("meanwhile", "Succeeded")
        assert content(bytes_of, "meanwhile") == oci_image.make_disk(20, SIZE)
    finally:
        images.go_on()
    second = images.push("down:1.0.1", 21)
    await_source("down", import_name("down", second), 120)  # by itself
    assert metric(populator, "imprint_data_import_cron_outdated", "down") == 0


def test_killed_between_the_version_and_the_import(images, populator, bytes_of, refusals):
    """No DataVolume can be made until it is killed."""
    first = images.push("killed:1.0.0", 30)
    probe = json.dumps(golden.volume("probe", {"blank": {}}, storage=golden.size("1Mi")))
    refusals.add("no-imports", "cdi.kubevirt.io", "v1beta1", "datavolumes", ["CREATE"], "false",
                 lambda: kubectl.run("create", "--dry-run=server", "-f", "-", stdin=probe))
    kubectl.apply(cron("killed", images, "killed"))
    kubectl.until(lambda: (kubectl.get("dataimportcron", "killed") or {}).get("status", {})
                  .get("currentImports"), "the version is known")
    populator.kill()
    assert not kubectl.get_all("datavolumes") and source_of("killed") is None
    refusals.lift()
    populator.start()
    await_source("killed", import_name("killed", first), 90)
    assert content(bytes_of, import_name("killed", first)) == oci_image.make_disk(30, SIZE)


def test_what_is_being_imported_is_put_in_service_first(images, populator):
    """A new version that is found meanwhile waits for its turn."""
    first = images.push("busy:1.0.0", 31)
    kubectl.apply(cron("busy", images, "busy"))
    kubectl.until(lambda: golden.phase(import_name("busy", first)), "begun")
    populator.kill()
    if golden.phase(import_name("busy", first)) != "Succeeded":
        kubectl.run("patch", "datavolume", import_name("busy", first), "--subresource=status",
                    "--type=merge", "-p", '{"status":{"phase":"ImportInProgress"}}')
    second = images.push("busy:1.0.1", 32)
    poll("busy")
    populator.start()
    await_source("busy", import_name("busy", second), 90)
    told = kubectl.events("busy")
    for digest in (first, second):
        assert any(f"leads to '{import_name('busy', digest)}' now" in event for event in told), told


def test_a_version_that_vanishes_is_told_and_the_next_one_comes(images, bytes_of):
    """The tag is there, what it stands for is not."""
    digest = images.push("gone:1.0.0", 40)
    path = images.blob_path(digest)
    os.rename(path, path + ".away")
    kubectl.apply(cron("gone", images, "gone"))
    kubectl.until(lambda: golden.condition("dataimportcron", "gone", "UpToDate")[2] not in
                  ("", "no version is known yet"), "told")
    assert golden.condition("dataimportcron", "gone", "UpToDate")[0] == "False"
    second = images.push("gone:1.0.1", 41)
    poll("gone")
    await_source("gone", import_name("gone", second), 90)
    assert imports("gone") == [import_name("gone", second)]


def test_a_version_whose_data_is_gone_leaves_the_old_one_in_service(images, bytes_of):
    """Its manifest is there, its layer is not; then it is."""
    first = images.push("torn:1.0.0", 42)
    kubectl.apply(cron("torn", images, "torn"))
    await_source("torn", import_name("torn", first))
    second = images.push("torn:1.0.1", 43)
    layer = images.layer_path(second)
    os.rename(layer, layer + ".away")
    poll("torn")
    golden.await_reason("dataimportcron", "torn", "UpToDate", "Outdated")
    assert golden.condition("dataimportcron", "torn", "UpToDate")[0] == "False"
    golden.await_phase(import_name("torn", second), "Failed")
    assert source_of("torn") == import_name("torn", first)
    kubectl.apply(golden.volume("meanwhile", golden.by_reference("torn")))
    golden.await_phase("meanwhile", "Succeeded")
    assert content(bytes_of, "meanwhile") == oci_image.make_disk(42, SIZE)
    os.rename(layer + ".away", layer)
    await_source("torn", import_name("torn", second), 90)  # by itself, long before its schedule
    assert kubectl.get("dataimportcron", "torn")["status"]["failedImports"] >= 1
    assert content(bytes_of, import_name("torn", second)) == oci_image.make_disk(43, SIZE)


def test_two_owners(images):
    """As the example of the requirement: who made it controls it; it stays until both are gone."""
    kubectl.apply({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ssp-cr", "namespace": "default"},
    })
    ssp = kubectl.get("configmap", "ssp-cr")["metadata"]["uid"]
    owners = [{
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "ssp-cr",
        "uid": ssp,
        "controller": True,
        "blockOwnerDeletion": False,
    }]
    for order in (("dataimportcron", "configmap"), ("configmap", "dataimportcron")):
        kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "ssp-cr", "namespace": "default"}})
        owners[0]["uid"] = kubectl.get("configmap", "ssp-cr")["metadata"]["uid"]
        images.push("shared:1.0.0", 50)
        kubectl.apply(golden.data_source("shared", {"pvc": {"namespace": "default", "name": "shared"}},
                                         ownerReferences=owners), cron("shared", images, "shared"))
        kubectl.until(lambda: source_of("shared") != "shared", "adopted and pointed at the import")
        found = kubectl.get("datasource", "shared")["metadata"]["ownerReferences"]
        assert [(each["kind"], each["controller"], each["blockOwnerDeletion"]) for each in found] == [
            ("ConfigMap", True, False), ("DataImportCron", False, False)
        ]
        names = {"dataimportcron": "shared", "configmap": "ssp-cr"}
        kubectl.delete(order[0], names[order[0]])

        def owners_left():
            return kubectl.get("datasource", "shared")["metadata"]["ownerReferences"]

        kubectl.until(lambda: len(owners_left()) == 1, "the garbage collector has seen to it")
        assert owners_left()[0]["name"] == names[order[1]]
        kubectl.delete(order[1], names[order[1]])
        kubectl.until(lambda: kubectl.get("datasource", "shared") is None, "gone with both")


def test_what_stays_behind_a_cron(images):
    first = images.push("stays:1.0.0", 51)
    for policy, has_source, has_import in (("All", True, True), ("None", False, False)):
        kubectl.apply(cron("stays", images, "stays", retentionPolicy=policy))
        await_source("stays", import_name("stays", first))
        if policy == "All":  # a chart that is removed takes the populator along
            kubectl.until(lambda: not kubectl.get("dataimportcron", "stays")["metadata"].get("finalizers"),
                          "nothing is left to be done for it")
        kubectl.delete("dataimportcron", "stays")
        if not has_import:
            kubectl.until(lambda: not imports("stays"), "the imports are gone")
            kubectl.until(lambda: kubectl.get("datasource", "stays") is None, "the source is gone")
        else:
            time.sleep(5)
            assert imports("stays") == [import_name("stays", first)]
            assert not kubectl.get("datasource", "stays")["metadata"].get("ownerReferences")
    # one that was there before, and was nobody's, is not the cron's to take along
    kubectl.apply(golden.data_source("stays", {}), cron("stays", images, "stays"))
    await_source("stays", import_name("stays", first))
    kubectl.delete("dataimportcron", "stays")
    time.sleep(2)
    assert not kubectl.get("datasource", "stays")["metadata"].get("ownerReferences")


def test_http_by_its_etag(server, disk, bytes_of):
    """The short form, without a template."""
    server.files["/golden.raw"] = File(size=2 << 20, seed=60, etag='"one"')
    spec = {
        "source": {"http": {"url": server.url("/golden.raw")}},
        "schedule": "@yearly",
        "managedDataSource": "web",
    }
    kubectl.run("annotate", "storageclass", "rbd", "storageclass.kubevirt.io/is-default-virt-class=true")
    try:
        kubectl.apply(golden.item("DataImportCron", "web", spec))
        kubectl.until(lambda: source_of("web"), "imported")
        first = source_of("web")
        pinned = kubectl.get("datavolume", first)["metadata"]["annotations"]
        assert pinned["imprint.hypercloud.tmaxanc.com/source-identity"].startswith('etag:"one"')
        poll("web")
        golden.await_reason("dataimportcron", "web", "UpToDate", "UpToDate")
        assert source_of("web") == first
        server.files["/golden.raw"] = File(size=2 << 20, seed=61, etag='"two"')
        poll("web")
        kubectl.until(lambda: source_of("web") != first, "re-pointed")
        assert bytes_of(kubectl.await_bound(source_of("web")), 2 << 20) == \
            server.files["/golden.raw"].data
    finally:
        kubectl.run("annotate", "storageclass", "rbd", "storageclass.kubevirt.io/is-default-virt-class-")


def test_http_by_its_date_where_there_is_no_etag(tmp_path, bytes_of):
    """nginx with etag off; and a server that tells neither, of which no version can be known."""

    def of(name, path):
        return golden.item("DataImportCron", name, {
            "schedule": "@yearly",
            "managedDataSource": name,
            "template": {
                "spec": {
                    "source": {"http": {"url": nginx.url(path)}},
                    "storage": {"storageClassName": "rbd"},
                }
            },
        })

    certificate = Authority(tmp_path).issue("server", "IP:127.0.0.1")
    with Nginx(tmp_path / "nginx", certificate) as nginx:
        nginx.write("golden.raw", oci_image.make_disk(95, SIZE), 1_000_000_000)
        kubectl.apply(of("dated", "/dated/golden.raw"), of("undated", "/undated/golden.raw"))
        first = kubectl.until(lambda: source_of("dated"), "imported")
        assert kubectl.get("dataimportcron", "dated")["status"]["currentImports"][0]["Digest"] == \
            f"modified:Sun, 09 Sep 2001 01:46:40 GMT size:{SIZE}"
        assert content(bytes_of, first) == oci_image.make_disk(95, SIZE)
        asked = kubectl.get("dataimportcron", "dated")["status"]["lastExecutionTimestamp"]
        time.sleep(1)  # the time stamps' unit
        poll("dated")
        kubectl.until(lambda: kubectl.get("dataimportcron", "dated")["status"]
                      ["lastExecutionTimestamp"] > asked, "asked again")
        assert (source_of("dated"), imports("dated")) == (first, [first]), "the same version"
        nginx.write("golden.raw", oci_image.make_disk(96, SIZE), 1_000_000_001)
        poll("dated")
        second = kubectl.until(lambda: source_of("dated") != first and source_of("dated"), "re-pointed")
        assert content(bytes_of, second) == oci_image.make_disk(96, SIZE)

        kubectl.until(lambda: "neither ETag nor Last-Modified" in
                      golden.condition("dataimportcron", "undated", "UpToDate")[2], "told")
        status, reason, message = golden.condition("dataimportcron", "undated", "UpToDate")
        assert (status, reason) == ("False", "NoDigest") and "Unable to reach" not in message
        assert not imports("undated") and source_of("undated") is None


def test_a_password_of_the_crons_own_namespace(tmp_path, bytes_of):
    """The Secret as DataVolumes have it; it comes after the cron."""
    with Registry(tmp_path / "closed", "tls", "password") as closed:
        image = oci_image.Image(oci_image.tar(("disk/disk.img", oci_image.make_disk(80, SIZE))))
        layout = oci_image.layout(tmp_path / "layout", image)
        Foreign(tmp_path).copy(f"oci:{layout}:latest", closed.url("closed:1.0.0"),
                               f"--dest-creds={USER}:{PASSWORD}")
        with open(closed.ca, encoding="ascii") as file:
            kubectl.apply({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "closed-ca", "namespace": "default"},
                "data": {"ca.crt": file.read()},
            })
        kubectl.apply(golden.item("DataImportCron", "closed", {
            "schedule": "@daily",
            "managedDataSource": "closed",
            "template": {
                "spec": {
                    "source": {
                        "registry": {
                            "url": closed.url("closed"),
                            "certConfigMap": "closed-ca",
                            "secretRef": "closed-login"
                        }
                    },
                    "storage": {"storageClassName": "rbd"},
                }
            },
        }))
        kubectl.until(
            lambda: "closed-login" in golden.condition("dataimportcron", "closed", "UpToDate")[2], "told")
        kubectl.apply({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "closed-login", "namespace": "default"},
            "stringData": {"accessKeyId": USER, "secretKey": PASSWORD},
        })
        await_source("closed", import_name("closed", image.digest))
        assert content(bytes_of, import_name("closed", image.digest)) == oci_image.make_disk(80, SIZE)
        kubectl.delete("secret", "closed-login")


def test_s3_by_its_etag(s3, bytes_of):
    def put(seed):
        s3["client"].put_object(Bucket="vm-images", Key="golden.raw", Body=oci_image.make_disk(seed, SIZE))

    put(90)
    kubectl.apply({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "golden-keys", "namespace": "default"},
        "stringData": {"accessKeyId": s3["access_key"], "secretKey": s3["secret_key"]},
    }, golden.item("DataImportCron", "stored", {
        "schedule": "@daily",
        "managedDataSource": "stored",
        "template": {
            "spec": {
                "source": {
                    "s3": {"url": f"{s3['endpoint']}/vm-images/golden.raw", "secretRef": "golden-keys"}
                },
                "storage": {"storageClassName": "rbd"},
            }
        },
    }))
    first = kubectl.until(lambda: source_of("stored"), "imported")
    assert content(bytes_of, first) == oci_image.make_disk(90, SIZE)
    put(91)
    poll("stored")
    second = kubectl.until(lambda: source_of("stored") != first and source_of("stored"), "re-pointed")
    assert content(bytes_of, second) == oci_image.make_disk(91, SIZE)


def test_what_is_wrong_with_a_cron_is_told(images):
    kubectl.apply(cron("hours", images, "x", "0 25 * * *"),
                  cron("zone", images, "x", "CRON_TZ=Nowhere/City 0 0 * * *"),
                  cron("day", images, "x", "0 0 31 2 *"),
                  cron("away", images, "nothing-here", "@daily"))
    for name, text in (("zone", "Nowhere/City"), ("day", "never comes")):
        kubectl.until(lambda name=name, text=text:
                      text in golden.condition("dataimportcron", name, "UpToDate")[2], f"{name}: told")
    kubectl.until(lambda: "hour: 25" in golden.condition("dataimportcron", "hours", "UpToDate")[2],
                  "told")
    kubectl.until(lambda: "nothing-here" in golden.condition("dataimportcron", "away", "UpToDate")[2],
                  "told")


def test_fifty_crons_are_spread_and_an_outage_blocks_none_of_the_others(images, populator):
    """Twenty of a host that takes connections and never says a word, thirty of one that answers."""
    images.push("many:1.0.0", 70)
    silent = socket.create_server(("127.0.0.9", 0))
    images_of = {"registry": {"url": images.url("many"), "certConfigMap": "registry-ca"}}
    dead = {"registry": {
        "url": f"docker://127.0.0.9:{silent.getsockname()[1]}/dead/image", "certConfigMap": "registry-ca"
    }}
    started = time.monotonic()
    kubectl.apply(*(golden.item("DataImportCron", f"many-{i}", {
        "schedule": "* * * * *",
        "managedDataSource": f"many-{i}",
        "source": dead if i % 5 < 2 else images_of,
    }) for i in range(50)))

    def known():
        return sum(1 for item in kubectl.get_all("dataimportcrons")
                   if item.get("status", {}).get("currentImports"))

    kubectl.until(lambda: known() == 30, "all that can be asked were", 90)
    print(f"30 of 50 known after {time.monotonic() - started:.1f} s")
    executed = [item["status"]["lastExecutionTimestamp"] for item in kubectl.get_all("dataimportcrons")
                if item.get("status", {}).get("currentImports")]

    def asked_again():
        now = [item["status"]["lastExecutionTimestamp"] for item in kubectl.get_all("dataimportcrons")
               if item.get("status", {}).get("currentImports")]
        return now if all(new > old for new, old in zip(now, executed)) else None

    again = kubectl.until(asked_again, "asked again by the schedule", 150)
    seconds = {re.search(r":(\d\d)Z", text).group(1) for text in again}
    print(f"{len(seconds)} different seconds of 30: {sorted(seconds)}")
    assert len(seconds) >= 10, "spread over half a minute"
    silent.close()
