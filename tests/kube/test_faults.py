# SPDX-License-Identifier: Apache-2.0
"""The populator killed, several of them, and an API server that goes away."""

import json
import subprocess
import time

import golden
import kubectl
from control_plane import restart_api_server, start_api_server, stop_api_server


def begin_slow_import(server, name="slow"):
    server.slow_s = 0.05
    kubectl.apply(kubectl.image(name, {"http": server.url("/disk.qcow2")}))
    kubectl.until(lambda: server.sent > 4 << 20, "the import runs")


def test_an_import_goes_on_behind_a_killed_populator(server, populator, disk, bytes_of):
    begin_slow_import(server)
    populator.kill()
    server.slow_s = 0
    populator.start()
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=90)
    assert bytes_of(kubectl.await_bound("slow-image-pvc"), 64 << 20) == disk["raw"]
    print(f"{server.sent} bytes sent of {len(disk['qcow2'])}")
    assert server.sent < 2 * len(disk["qcow2"])


def test_a_snapshot_that_is_not_on_record_is_found_again(server, populator, cluster):
    """As it is when the populator is killed before it could say so; nothing is left behind the test."""
    names = ("deleted", "changed")
    kubectl.apply(*(kubectl.image(name, {"http": server.url("/disk.qcow2")}) for name in names))
    for name in names:
        kubectl.await_state("virtualmachineimage", name, "Available")
    populator.kill()
    for name in names:
        kubectl.run("patch", "virtualmachineimage", name, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"snapshotHandle": None, "state": "Creating"}}))
    kubectl.delete("virtualmachineimage", "deleted", wait=False)
    kubectl.run("patch", "virtualmachineimage", "changed", "--type=merge", "-p",
                json.dumps({"spec": {"source": {"http": server.url("/other.raw")}}}))
    populator.start()
    image = kubectl.await_state("virtualmachineimage", "changed", "Available")
    assert image["status"]["size"] == "4Mi"
    kubectl.until(lambda: kubectl.get("virtualmachineimage", "deleted") is None, "it is gone")


def test_another_populator_takes_over(server, populator, second_populator, disk, bytes_of):
    """What is imported was changed meanwhile: the other one had it as it was before."""
    server.slow_s = 1
    kubectl.apply(kubectl.image("slow", {"http": server.url("/other.raw")}))
    kubectl.until(lambda: server.sent > 256 << 10, "the first import runs")
    before = server.sent
    begin_slow_import(server)
    kubectl.until(lambda: server.sent > before + (8 << 20), "the import runs")
    lease = kubectl.until(
        lambda: next((item for item in kubectl.get_all("leases")
                      if item["metadata"]["name"].startswith("image-")), None), "a lease")
    holder = lease["spec"]["holderIdentity"]
    {"first": populator, "second": second_populator}[holder].kill()
    server.slow_s = 0
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=90)
    assert bytes_of(kubectl.await_bound("slow-image-pvc"), 64 << 20) == disk["raw"]
    assert server.sent < 2 * len(disk["qcow2"])


def test_a_lost_lease_is_no_failure(server, populator, disk, bytes_of):
    """As behind an API server that was away: what was imported is gone on with, without an attempt counted."""
    server.slow_s = 0.05
    kubectl.apply(kubectl.image("slow", {"http": server.url("/disk.qcow2")}, retry={"limit": 0}))
    kubectl.until(lambda: server.sent > 4 << 20, "the import runs")
    lease = next(item["metadata"] for item in kubectl.get_all("leases")
                 if item["metadata"]["name"].startswith("image-"))
    kubectl.run("patch", "lease", lease["name"], "-n", lease["namespace"], "--type=merge", "-p",
                json.dumps({"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 1}}))
    kubectl.until(lambda: "was lost" in populator.log_text(), "it was lost", 10)
    server.slow_s = 0
    image = kubectl.await_state("virtualmachineimage", "slow", "Available")
    assert "attempts" not in image["status"]
    assert bytes_of(kubectl.await_bound("slow-image-pvc"), 64 << 20) == disk["raw"]
    assert server.sent < 2 * len(disk["qcow2"])


def test_the_api_server_goes_away_and_comes_back(server, populator, disk, bytes_of):
    begin_slow_import(server)
    restart_api_server()
    server.slow_s = 0
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=120)
    for words in ("virtualmachineimages cannot be followed", "virtualmachineimages are followed again"):
        # more than once while a server that has just started takes its time, and not with every attempt
        assert 1 <= populator.log_text().count(words) <= 10
    kubectl.apply(kubectl.claim("copy", "64Mi", **kubectl.from_image("slow")))
    assert bytes_of(kubectl.await_bound("copy"), 64 << 20) == disk["raw"]


def test_an_osd_restarts_during_an_import(server, populator, disk, bytes_of, cluster):
    begin_slow_import(server)
    cluster.osd_stop()
    cluster.osd_start()
    server.slow_s = 0
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=120)
    assert bytes_of(kubectl.await_bound("slow-image-pvc"), 64 << 20) == disk["raw"]


def test_one_fault_after_another(server, populator, disk, bytes_of, cluster):
    """Imports of every kind, more than run at once, and a claim that waits: the populator is killed while there is no
    API server to come back to, and the OSD goes when both are back."""
    server.slow_s = 0.05
    names = [f"tried-{i}" for i in range(3)]
    kubectl.apply(*(kubectl.image(name, {"http": server.url("/disk.qcow2")}) for name in names),
                  golden.volume("tried", {"http": {"url": server.url("/disk.qcow2")}}),
                  golden.volume("later", {"http": {"url": server.url("/disk.raw")}}),
                  kubectl.claim("copy", "64Mi", **kubectl.from_image("tried-0")))
    kubectl.until(lambda: server.sent > 8 << 20, "the imports run")
    stop_api_server()
    populator.kill()
    populator.start()
    start_api_server()
    sent = server.sent
    kubectl.until(lambda: server.sent > sent + (2 << 20), "the imports go on", 120)
    cluster.osd_stop()
    cluster.osd_start()
    server.slow_s = 0
    for claim in [*(f"{name}-image-pvc" for name in names), "tried", "later", "copy"]:
        assert bytes_of(kubectl.await_bound(claim, timeout_s=180), 64 << 20) == disk["raw"], claim
    print(f"{server.sent} bytes sent of {4 * len(disk['qcow2']) + len(disk['raw'])}")
    assert server.sent < 2 * (4 * len(disk["qcow2"]) + len(disk["raw"]))


def test_claims_are_made_while_the_api_server_restarts(server, populator, disk, bytes_of, cluster):
    """Between any two requests of a claim: all are bound, none has two volumes."""
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    kubectl.apply(*(kubectl.claim(f"copy-{i}", "64Mi", **kubectl.from_image("base")) for i in range(40)))
    restart_api_server()
    handles = {kubectl.await_bound(f"copy-{i}", timeout_s=120) for i in range(40)}
    assert len(handles) == 40 and len(cluster.images("imprint")) == 41
    for handle in sorted(handles)[::13]:
        assert bytes_of(handle, 64 << 20) == disk["raw"]


def test_claims_are_made_while_the_populator_is_killed(server, populator, disk, bytes_of, cluster):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}))
    kubectl.await_state("virtualmachineimage", "base", "Available")
    kubectl.apply(*(kubectl.claim(f"copy-{i}", "64Mi", **kubectl.from_image("base")) for i in range(40)))
    for made in (3, 15, 30):
        kubectl.until(lambda made=made: len(cluster.images("imprint")) > made, "some are made")
        populator.kill()
        populator.start()
    handles = {kubectl.await_bound(f"copy-{i}", timeout_s=120) for i in range(40)}
    assert len(handles) == 40 and len(cluster.images("imprint")) == 41
    for handle in sorted(handles)[::13]:
        assert bytes_of(handle, 64 << 20) == disk["raw"]


class ImageChanges:
    """Counts how often images are written."""

    def __enter__(self):
        self.watch = subprocess.Popen(["kubectl", "get", "virtualmachineimages", "--watch-only", "-o", "name"],
                                      stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.watch.terminate()
        self.count = len(self.watch.communicate()[0].splitlines())


def test_two_populators_share_the_work(server, populator, second_populator, disk, bytes_of):
    """Six imports, four places each: both have some, and nothing is fetched twice."""
    server.slow_s = 0.02
    names = [f"shared-{i}" for i in range(6)]
    started = time.monotonic()
    kubectl.apply(*(kubectl.image(name, {"http": server.url("/disk.qcow2")}) for name in names))
    holders = set()

    def both():
        holders.update(item["spec"]["holderIdentity"] for item in kubectl.get_all("leases")
                       if item["metadata"]["name"].startswith("image-"))
        return len(holders) == 2

    with ImageChanges() as changes:
        kubectl.until(both, "both work")
        time.sleep(3)  # with those that wait beside those that run
        server.slow_s = 0
        for name in names:
            kubectl.await_state("virtualmachineimage", name, "Available", timeout_s=120)
    seconds = time.monotonic() - started
    print(f"{changes.count} changes of {len(names)} images in {seconds:.1f} s")
    assert changes.count < len(names) * (20 + seconds), "more than each step and each look at its progress"
    for name in names:
        assert bytes_of(kubectl.await_bound(f"{name}-image-pvc"), 64 << 20) == disk["raw"]
    twice = server.sent - len(names) * len(disk["qcow2"])
    print(f"{twice} bytes sent beyond one copy each")
    assert twice < len(names) * (2 << 20), "more than looking at each"
