# SPDX-License-Identifier: Apache-2.0
"""The populator killed, several of them, and an API server that goes away."""

import os
import subprocess

import kubectl

KUBE_SH = os.path.realpath(
    os.path.join(os.path.dirname(__file__), "..", "env", "kube.sh"))


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
    subprocess.run([KUBE_SH, "kube_restart_apiserver", os.environ["KUBE_DIR"]], check=True,
                   stdout=subprocess.DEVNULL)
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
