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
