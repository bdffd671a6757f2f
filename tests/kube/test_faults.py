# SPDX-License-Identifier: Apache-2.0
"""The populator killed, several of them, and an API server that goes away."""

import os
import subprocess

import golden
import kubectl

KUBE_SH = os.path.realpath(
    os.path.join(os.path.dirname(__file__), "..", "env", "kube.sh"))


def kube(function):
    """Of kube.sh."""
    subprocess.run([KUBE_SH, function, os.environ["KUBE_DIR"]], check=True, stdout=subprocess.DEVNULL)


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


def test_another_populator_takes_over(server, populator, second_populator, disk, bytes_of):
    begin_slow_import(server)
    lease = kubectl.until(
        lambda: next((item for item in kubectl.get_all("leases")
                      if item["metadata"]["name"].startswith("image-")), None), "a lease")
    holder = lease["spec"]["holderIdentity"]
    {"first": populator, "second": second_populator}[holder].kill()
    server.slow_s = 0
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=90)
    assert bytes_of(kubectl.await_bound("slow-image-pvc"), 64 << 20) == disk["raw"]
    assert server.sent < 2 * len(disk["qcow2"])


def test_the_api_server_goes_away_and_comes_back(server, populator, disk, bytes_of):
    begin_slow_import(server)
    kube("kube_restart_apiserver")
    server.slow_s = 0
    kubectl.await_state("virtualmachineimage", "slow", "Available", timeout_s=120)
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
    kube("kube_stop_apiserver")
    populator.kill()
    populator.start()
    kube("kube_start_apiserver")
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
    kube("kube_restart_apiserver")
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


def test_two_populators_share_the_work(server, populator, second_populator, disk, bytes_of):
    """Six imports, four places each: both have some, and nothing is fetched twice."""
    server.slow_s = 0.02
    names = [f"shared-{i}" for i in range(6)]
    kubectl.apply(*(kubectl.image(name, {"http": server.url("/disk.qcow2")}) for name in names))
    holders = set()

    def both():
        holders.update(item["spec"]["holderIdentity"] for item in kubectl.get_all("leases")
                       if item["metadata"]["name"].startswith("image-"))
        return len(holders) == 2

    kubectl.until(both, "both work")
    server.slow_s = 0
    for name in names:
        kubectl.await_state("virtualmachineimage", name, "Available", timeout_s=120)
        assert bytes_of(kubectl.await_bound(f"{name}-image-pvc"), 64 << 20) == disk["raw"]
    twice = server.sent - len(names) * len(disk["qcow2"])
    print(f"{twice} bytes sent beyond one copy each")
    assert twice < len(names) * (2 << 20), "more than looking at each"
