# SPDX-License-Identifier: Apache-2.0
"""Exports that are kept in the cluster, and fetched: spec.destination.local."""

import os
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import kubectl
import process

EXPORT = "virtualmachinevolumeexport"
MB = 1 << 20


@pytest.fixture
def copy(server):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
                  kubectl.claim("copy", "64Mi", **kubectl.from_image("base")))
    return kubectl.await_bound("copy")


def kept(name, **spec):
    return {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolumeExport",
        "metadata": {"name": name},
        "spec": {"destination": {"local": {}}, **spec},
    }


@pytest.fixture
def curl(populator, tokens):
    """curl(url, *arguments) as an editor: what subprocess.run() says."""

    def run(url, *arguments, token="editor"):
        return subprocess.run([
            "curl", "--silent", "--show-error", "--cacert", populator.authority.bundle, "--header",
            f"Authorization: Bearer {tokens.get(token, token)}", *map(str, arguments), url
        ], capture_output=True, text=True, timeout=120)

    return run


def status_of(done):
    return int(done.stdout.rsplit("\n", 1)[1])


def fetch(curl, name, path):
    """Fetches it, and looks at it as a person would."""
    url = kubectl.get(EXPORT, name)["status"]["url"]
    done = curl(url, "--fail", "--output", path, "--dump-header", f"{path}.head")
    assert done.returncode == 0, done.stderr
    subprocess.run(["qemu-img", "check", "-f", "qcow2", path], check=True)
    with open(f"{path}.head", encoding="ascii") as file:
        return file.read()


def assert_equal(path, disk, form="qcow2"):
    subprocess.run(["qemu-img", "compare", "-f", form, "-F", "raw", path, disk["raw_path"]],
                   check=True)


def test_one_that_ceph_does_not_serve_yet_waits_and_says_so(copy, controller):
    controller.kill()
    try:
        kubectl.apply(kept("out", pvcName="copy"))
        kubectl.until(lambda: kubectl.state(EXPORT, "out") == "Pending", "it waits")
        assert kubectl.message(EXPORT, "out")
        kubectl.until(lambda: any("VmvExportIsInPending" in event for event in kubectl.events("out")), "told")
    finally:
        controller.start()
    kubectl.await_state(EXPORT, "out", "Completed")


def test_an_export_is_fetched(copy, curl, disk, tmp_path):
    kubectl.apply(kept("out", pvcName="copy"))
    export = kubectl.await_state(EXPORT, "out", "Completed")
    condition, = export["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "VmvExportIsReady")
    assert export["status"]["size"] == "64Mi"
    assert export["status"]["url"] in kubectl.run("get", EXPORT, "out")
    head = fetch(curl, "out", tmp_path / "out.qcow2")
    assert 'filename="out.qcow2"' in head and "chunked" in head.lower()
    assert_equal(tmp_path / "out.qcow2", disk)
    # again, and only its head
    fetch(curl, "out", tmp_path / "again.qcow2")
    assert (tmp_path / "again.qcow2").read_bytes() == (tmp_path / "out.qcow2").read_bytes()
    done = curl(export["status"]["url"], "--head", "--fail")
    assert done.returncode == 0 and "out.qcow2" in done.stdout, done


def test_the_operators_form(server, curl, disk, tmp_path):
    """By the VirtualMachineVolume, as on clusters of the operator."""
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}), {
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolume",
        "metadata": {"name": "myrootdisk"},
        "spec": {"virtualMachineImage": {"name": "base"}, "capacity": {"storage": "64Mi"}},
    }, kept("disk-export", virtualMachineVolume={"name": "myrootdisk"}))
    kubectl.await_state(EXPORT, "disk-export", "Completed")
    fetch(curl, "disk-export", tmp_path / "disk.qcow2")
    assert_equal(tmp_path / "disk.qcow2", disk)


def test_the_format_is_as_asked_for(copy, curl, cluster, tmp_path):
    with cluster.volume(copy) as volume:
        volume.write(b"x" * (8 * MB), 0)  # the rest is noise, which nothing makes smaller
        data = volume.read(0, 64 * MB)
    kubectl.apply(kept("plain", pvcName="copy"), kept("raw", pvcName="copy", format="raw"),
                  kept("small", pvcName="copy", compress=True))
    for name in ("plain", "raw", "small"):
        kubectl.await_state(EXPORT, name, "Completed")
    fetch(curl, "plain", tmp_path / "plain")
    fetch(curl, "small", tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "plain").stat().st_size - 7 * MB
    done = curl(kubectl.get(EXPORT, "raw")["status"]["url"], "--fail", "-o", tmp_path / "raw")
    assert done.returncode == 0 and (tmp_path / "raw").read_bytes() == data
    for name in ("plain", "small"):
        assert_equal(tmp_path / name, {"raw_path": tmp_path / "raw"})


def test_it_is_of_its_moment_whatever_becomes_of_the_volume(copy, curl, disk, cluster, tmp_path):
    kubectl.apply(kept("out", pvcName="copy"))
    kubectl.await_state(EXPORT, "out", "Completed")
    with cluster.volume(copy) as volume:
        volume.write(b"\xff" * MB, 0)
        volume.resize(96 * MB)
    fetch(curl, "out", tmp_path / "changed.qcow2")
    assert_equal(tmp_path / "changed.qcow2", disk)
    kubectl.delete("pvc", "copy")
    kubectl.until(lambda: len(kubectl.get_all("pv")) == 1, "the volume is gone")  # the image's
    fetch(curl, "out", tmp_path / "deleted.qcow2")
    assert_equal(tmp_path / "deleted.qcow2", disk)


def test_only_who_may_fetch_does(copy, curl, populator):
    kubectl.apply(kept("out", pvcName="copy"),
                  kept("elsewhere", pvcName="nothing"))
    url = kubectl.await_state(EXPORT, "out", "Completed")["status"]["url"]
    tell = ("--write-out", "\n%{http_code}")
    assert status_of(curl(url, *tell, token="made-up")) == 401
    assert status_of(curl(url, *tell, token="viewer")) == 403
    assert status_of(curl(url.replace("default", "other"), *tell)) == 403
    assert status_of(curl(url.replace("/out", "/nothing"), *tell)) == 404
    assert status_of(curl(url, *tell, "--request", "PUT", "--data", "x")) == 405
    assert status_of(curl(url, *tell, "--http1.0")) == 405
    kubectl.until(lambda: kubectl.state(EXPORT, "elsewhere") == "Pending", "it waits")
    assert "nothing" in kubectl.message(EXPORT, "elsewhere")
    waiting = curl(url.replace("/out", "/elsewhere"), *tell, "--include")
    assert status_of(waiting) == 503 and "retry-after" in waiting.stdout.lower()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, context=ssl.create_default_context(
            cafile=populator.authority.bundle))
    assert refused.value.code == 401


class Slow:
    """A client who has begun, and takes no more."""

    def __init__(self, populator, token, path):
        host, port = populator.upload.split(":")
        context = ssl.create_default_context(cafile=populator.authority.bundle)
        plain = socket.create_connection((host, int(port)), timeout=60)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        self.socket = context.wrap_socket(plain, server_hostname=host)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n"
                            f"Authorization: Bearer {token}\r\n\r\n".encode())
        self.head = self.socket.recv(1024)

    def rest(self):
        """All that still comes; None when the connection broke."""
        data = b""
        try:
            while piece := self.socket.recv(1 << 20):
                data += piece
        except OSError:
            return None
        return data

    def close(self):
        self.socket.close()


@pytest.fixture
def large(cluster):
    """A claim of 256 MB full of data: more than fits into any buffer on the way."""
    kubectl.apply(kubectl.claim("large", "256Mi"))
    handle = kubectl.await_bound("large")
    with cluster.volume(handle) as volume:
        for at in range(0, 256, 4):
            volume.write(bytes([at % 250 + 1]) * (4 * MB), at * MB)
    kubectl.apply(kept("big", pvcName="large"))
    kubectl.await_state(EXPORT, "big", "Completed")
    return "/v1/namespaces/default/exports/big"


def workers(populator):
    """Processes of the worker that the populator runs."""
    return process.children(populator.pid, "imprint export")


def test_a_part_is_never_taken_for_the_whole(large, populator, tokens, curl, tmp_path):
    """The worker is killed, the export deleted, the populator killed: all amid a download."""
    first, second = (Slow(populator, tokens["editor"], large) for _ in range(2))
    os.kill(workers(populator)[0], signal.SIGKILL)
    kubectl.delete(EXPORT, "big", wait=False)
    time.sleep(1)
    for client in (first, second):
        data = client.rest()
        assert data is None or not data.endswith(b"0\r\n\r\n")
    kubectl.until(lambda: kubectl.get(EXPORT, "big") is None, "the export is gone")
    kubectl.apply(kept("big", pvcName="large"))
    url = kubectl.await_state(EXPORT, "big", "Completed")["status"]["url"]
    fetching = subprocess.Popen([
        "curl", "--silent", "--cacert", populator.authority.bundle, "--limit-rate", "20M",
        "--header", f"Authorization: Bearer {tokens['editor']}", "--output",
        tmp_path / "part", url
    ])
    kubectl.until(lambda: (tmp_path / "part").exists() and (tmp_path / "part").stat().st_size > MB,
                  "it is under way")
    populator.kill()
    assert fetching.wait(30) in (18, 56), "curl took a part for the whole"


def test_an_export_deleted_while_its_client_takes_nothing(large, populator, tokens):
    client = Slow(populator, tokens["editor"], large)
    kubectl.delete(EXPORT, "big", wait=False)
    kubectl.until(lambda: kubectl.get(EXPORT, "big") is None, "nobody waits for the client", 15)
    kubectl.until(lambda: not workers(populator), "no worker", 15)
    data = client.rest()
    assert data is None or not data.endswith(b"0\r\n\r\n")


def test_so_many_at_once(large, populator, tokens, curl):
    """--max-transfers of them, 4 unless said; the next one is told to come again. The work for those
    who go ends."""
    clients = [Slow(populator, tokens["editor"], large) for _ in range(4)]
    try:
        assert all(b"200 OK" in client.head for client in clients)
        assert len(workers(populator)) == 4
        done = curl(f"https://{populator.upload}{large}", "--include", "--write-out",
                    "\n%{http_code}")
        assert status_of(done) == 503 and "retry-after" in done.stdout.lower(), done.stdout
    finally:
        for client in clients:
            client.close()
    kubectl.until(lambda: not workers(populator), "no worker", 20)
    with urllib.request.urlopen(f"http://{populator.metrics}/metrics") as answer:
        text = answer.read().decode()
    assert 'imprint_transfers_total{verb="download",result="error"}' in text
    assert 'imprint_transfer_bytes_total{verb="download"}' in text
