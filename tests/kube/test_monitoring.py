# SPDX-License-Identifier: Apache-2.0
"""What Prometheus and kubelet ask the populator."""

import re
import socket
import subprocess
import urllib.error
import urllib.request

import kubectl


def ask(populator, path):
    try:
        with urllib.request.urlopen(f"http://{populator.metrics}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as failure:
        return failure.code, failure.read().decode()
    except urllib.error.URLError as failure:
        return 0, str(failure)


def metrics(populator):
    """{name with labels: value}, after promtool found nothing to say against it."""
    status, text = ask(populator, "/metrics")
    assert status == 200
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                             text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return {name: int(value) for name, value in re.findall(r"^([^#\s]+) (\d+)$", text, re.M)}


def test_metrics_tell_what_was_done(server, populator):
    kubectl.until(lambda: ask(populator, "/readyz")[0] == 200, "ready")
    before = metrics(populator)
    kubectl.apply(kubectl.image("good", {"http": server.url("/disk.qcow2")}),
                  kubectl.image("bad", {"http": server.url("/nothing")}))
    kubectl.await_state("virtualmachineimage", "good", "Available")
    kubectl.until(lambda: kubectl.state("virtualmachineimage", "bad") == "Error", "Error")
    kubectl.until(lambda: 'imprint_objects{kind="VirtualMachineImage",state="Error"}' in
                  metrics(populator), "counted")
    after = metrics(populator)

    def grown(name):
        return after.get(name, 0) - before.get(name, 0)

    assert after['imprint_objects{kind="VirtualMachineImage",state="Available"}'] == 1
    assert after['imprint_objects{kind="VirtualMachineImage",state="Error"}'] == 1
    assert grown('imprint_transfers_total{verb="import",result="ok"}') == 1
    assert grown('imprint_transfers_total{verb="inspect",result="ok"}') == 1
    assert grown('imprint_transfers_total{verb="inspect",result="error"}') == 1
    assert grown('imprint_transfer_bytes_total{verb="import"}') >= 24 << 20
    assert grown('imprint_reconciles_total{controller="image",result="ok"}') > 0
    assert after['imprint_transfers{state="running"}'] == 0
    assert after['imprint_watch_cut_off_seconds{kind="VirtualMachineImage"}'] == 0


def test_transfers_under_way_are_counted(server, populator):
    """One place is left for other servers."""
    server.slow_s = 0.2

    def counted():
        now = metrics(populator)
        return now['imprint_transfers{state="running"}'], now['imprint_transfers{state="waiting"}']

    url = server.url("/disk.qcow2")
    kubectl.apply(*(kubectl.image(f"slow-{i}", {"http": url}) for i in range(4)))
    kubectl.until(lambda: counted() == (3, 1), "three run, one waits")
    elsewhere = url.replace("127.0.0.1", "localhost")
    kubectl.apply(*(kubectl.image(f"far-{i}", {"http": elsewhere}) for i in range(2)))
    kubectl.until(lambda: counted() == (4, 2), "four run, two wait")


def test_health_and_readiness(populator, controller):
    assert ask(populator, "/healthz")[0] == 200
    kubectl.until(lambda: ask(populator, "/readyz")[0] == 200, "ready")
    controller.kill()
    try:
        status, text = ask(populator, "/readyz")
        assert status == 503 and "controller" in text
        assert ask(populator, "/healthz")[0] == 200
    finally:
        controller.start()
    kubectl.until(lambda: ask(populator, "/readyz")[0] == 200, "ready again")


def test_nothing_else_is_there(populator):
    host, port = populator.metrics.split(":")
    for request_line, status in (("GET /../etc/passwd", 404), ("POST /metrics", 405), ("GET /", 404)):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"{request_line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert int(connection.recv(4096).split()[1]) == status


def test_a_worker_that_cannot_be_run_is_told_at_the_start(populator):
    for worker in ("imprint", "/nowhere/imprint"):
        done = subprocess.run([populator.command[0], "--worker", worker], capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and "--worker" in done.stderr and f"'{worker}'" in done.stderr
