# SPDX-License-Identifier: Apache-2.0
"""What the sandbox is for goes on inside: librbd, libcurl, libnbd."""

import functools
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import pytest

import nbd
import tls
from sandbox import NOBODY, PROGRAM

BODY = b"imprint" * 100000


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return tls.make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def ceph_files(cluster):
    """Configuration and keyring where any user can read them: without capabilities root is one, too."""
    with tempfile.TemporaryDirectory(prefix="imprint-test-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        conf, keyring = os.path.join(folder, "ceph.conf"), os.path.join(folder, "keyring")
        shutil.copy(cluster.conf, conf)
        shutil.copy(os.path.join(cluster.dir, "imprint.keyring"), keyring)
        for path in (conf, keyring):
            os.chmod(path, 0o644)
        yield conf, keyring


# RBD: the cluster's addresses are learnt inside.

def rbd_arguments(files, pool):
    conf, keyring = files
    return "--unsealed", "--read", conf, "--read", keyring, "rbd", conf, keyring, pool


@pytest.mark.parametrize("options", [[], ["--uid", NOBODY]])
def test_rbd_image_is_written_and_read(probe, cluster, ceph_files, pool, options):
    outcome = probe(*options, *rbd_arguments(ceph_files, pool))
    assert outcome.is_allowed
    assert outcome.log == ""
    assert cluster.images(pool) == []


def test_rbd_without_its_keyring(probe, ceph_files, pool):
    conf, keyring = ceph_files
    outcome = probe("--unsealed", "--read", conf, "rbd", conf, keyring, pool)
    assert outcome.is_refused


def take_address(address, timeout_s=60):
    """Listens there, so that nobody else can; connections of who was there before may still end."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return socket.create_server(address)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_rbd_goes_on_when_an_osd_comes_back_elsewhere(cluster, ceph_files, pool):
    """A restarted OSD has another port: the worker connects to it anew, after the policy was sealed."""
    conf, keyring = ceph_files
    before = cluster.osd_addresses()
    process = subprocess.Popen(
        [PROGRAM, "--unsealed", "--read", conf, "--read", keyring, "rbd-slowly", conf, keyring, pool],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert process.stdout.readline() == "writing\n"
    cluster.osd_stop()
    try:
        taken = [take_address(address) for address in before]
    finally:
        cluster.osd_start()
    for here in taken:
        here.close()
    output, log = process.communicate(timeout=120)
    assert output == "allowed\n", log
    assert cluster.osd_addresses() != before


# HTTPS.

@pytest.fixture
def web_server(certificates, tmp_path):
    (tmp_path / "body").write_bytes(BODY)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server-cert.pem", certificates / "server-key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_https_is_fetched(probe, web_server, certificates):
    bundle = certificates / "ca-cert.pem"
    outcome = probe("--allow", f"127.0.0.1:{web_server}", "--read", bundle, "fetch",
                    f"https://localhost:{web_server}/body", bundle)
    assert outcome.is_allowed
    assert outcome.output[0].startswith(f"{len(BODY)} bytes")


def test_https_certificate_is_verified(probe, web_server):
    outcome = probe("--allow", f"127.0.0.1:{web_server}", "fetch",
                    f"https://localhost:{web_server}/body", "-")
    assert outcome.is_refused
    assert "certificate" in outcome.output[0]


def test_https_elsewhere_is_not_fetched(probe, web_server, certificates):
    bundle = certificates / "ca-cert.pem"
    outcome = probe("--read", bundle, "fetch", f"https://localhost:{web_server}/body", bundle)
    assert outcome.is_refused
    assert outcome.output[0].startswith("0 bytes")


# NBD.

@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "disk"
    path.write_bytes(BODY[:512 * 1000])
    return path


def test_nbd_on_a_unix_socket(probe, disk, tmp_path):
    with nbd.QemuNbd(disk, tmp_path) as server:
        uri = f"nbd+unix:///?socket={server.socket}"
        assert probe("--socket", server.socket, "nbd", uri, "-").is_allowed
        assert probe("nbd", uri, "-").is_refused


def test_nbd_over_tls(probe, disk, tmp_path, certificates):
    port = nbd.free_port()
    options = ["--object", f"tls-creds-x509,id=tls0,endpoint=server,dir={certificates},verify-peer=no",
               "--tls-creds", "tls0"]
    with nbd.QemuNbd(disk, tmp_path, options, port=port):
        arguments = ("--read", certificates, "nbd", f"nbds://localhost:{port}", certificates)
        assert probe("--allow", f"127.0.0.1:{port}", *arguments).is_allowed
        assert probe(*arguments).is_refused
