# SPDX-License-Identifier: Apache-2.0
"""A real server: TLS with a CA of its own, passwords, proxies."""

import gzip
import hashlib
import random

import pytest

import nginx as nginx_module
from certificates import Authority
from connect_proxy import ConnectProxy
from http_probe import PIECES, STREAM, probe
from nginx import Nginx

DATA = random.Random(7).randbytes(9_000_001)
SHA256 = hashlib.sha256(DATA).hexdigest()
MODES = pytest.mark.parametrize("mode", [STREAM, PIECES], ids=["stream", "pieces"])
CREDENTIALS = ("--user", nginx_module.USER, "--password", nginx_module.PASSWORD)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def nginx(authority, tmp_path_factory):
    certificate = authority.issue("nginx", "IP:127.0.0.1", "DNS:localhost")
    with Nginx(tmp_path_factory.mktemp("nginx"), certificate) as server:
        server.write("disk.img", DATA)
        server.write("empty", b"")
        yield server


@MODES
def test_plain(nginx, mode):
    outcome = probe(nginx.url("/disk.img"), *mode)
    assert outcome.sha256 == SHA256
    assert outcome.can_seek and outcome.identity.startswith('etag:"')


@MODES
def test_tls_with_a_ca_of_its_own(nginx, authority, mode):
    assert probe(nginx.url("/disk.img", tls=True), *mode, "--ca-bundle",
                 authority.bundle).sha256 == SHA256


def test_an_unknown_ca_is_refused_at_once(nginx):
    outcome = probe(nginx.url("/disk.img", tls=True), *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "CA bundle" in outcome.message
    assert outcome.seconds < 5


def test_another_ca_is_refused(nginx, tmp_path):
    other = Authority(tmp_path, name="Other CA")
    outcome = probe(nginx.url("/disk.img", tls=True), *STREAM, "--ca-bundle", other.bundle)
    assert outcome.error == "FAILED_PRECONDITION"


def test_a_certificate_for_another_name_is_refused(authority, tmp_path):
    with Nginx(tmp_path / "n", authority.issue("other", "DNS:elsewhere.example")) as server:
        server.write("disk.img", DATA)
        outcome = probe(server.url("/disk.img", tls=True), *STREAM, "--ca-bundle", authority.bundle)
    assert outcome.error == "FAILED_PRECONDITION"


@pytest.mark.parametrize("content, error", [
    (None, "NOT_FOUND"), (b"nonsense", "INVALID_ARGUMENT"),
    (b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n", "FAILED_PRECONDITION")
],
                         ids=["missing", "text", "broken"])
def test_a_bad_ca_bundle_is_told(nginx, tmp_path, content, error):
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_bytes(content)
    outcome = probe(nginx.url("/disk.img", tls=True), *STREAM, "--ca-bundle", bundle)
    assert outcome.error == error
    assert "CA bundle" in outcome.message


@MODES
def test_basic_authentication(nginx, mode):
    assert probe(nginx.url("/private/disk.img"), *mode, *CREDENTIALS).sha256 == SHA256


def test_credentials_in_the_url(nginx):
    url = nginx.url("/private/disk.img").replace("://", "://me:s3cret%3A%C3%BC@")
    outcome = probe(url, *PIECES)
    assert outcome.sha256 == SHA256
    assert outcome.label == nginx.url("/private/disk.img")


def test_wrong_and_missing_credentials(nginx):
    for credentials in ((), ("--user", "me", "--password", "wrong"), ("--bearer", "token")):
        outcome = probe(nginx.url("/private/disk.img"), *STREAM, *credentials)
        assert outcome.error == "UNAUTHENTICATED"
        assert "wrong" not in outcome.message.replace("or wrong", "")


def test_a_missing_file(nginx):
    outcome = probe(nginx.url("/missing"), *STREAM)
    assert outcome.error == "NOT_FOUND"
    assert outcome.message == f"{nginx.url('/missing')}: the server answered 404 (not found)"


def test_an_empty_file(nginx):
    outcome = probe(nginx.url("/empty"), *STREAM)
    assert outcome.is_good and outcome.bytes == 0 and outcome.is_size_known and outcome.size == 0


def test_nothing_is_packed_unless_it_was_asked_for(nginx):
    nginx.write("text", b"abc" * 100_000)
    outcome = probe(nginx.url("/packed/text"), *PIECES)
    assert outcome.bytes == 300_000
    assert hashlib.sha256(b"abc" * 100_000).hexdigest() == outcome.sha256


def test_packed_files_are_files(nginx):
    packed = gzip.compress(b"abc" * 100_000)
    nginx.write("text.gz", packed)
    assert probe(nginx.url("/text.gz"), *PIECES).sha256 == hashlib.sha256(packed).hexdigest()


def test_a_file_that_is_replaced_between_two_reads_fails(nginx):
    nginx.write("live", DATA)
    reader = probe(nginx.url("/live"), *STREAM)
    assert reader.sha256 == SHA256
    nginx.write("live", DATA[:-1])
    assert probe(nginx.url("/live"), *STREAM).identity != reader.identity


# Proxies.


@MODES
def test_plain_through_a_proxy(nginx, mode):
    with ConnectProxy() as proxy:
        assert probe(nginx.url("/disk.img"), *mode, "--proxy", proxy.url).sha256 == SHA256
    assert set(proxy.asked) == {f"GET {nginx.url('/disk.img')}"}


@MODES
def test_tls_through_a_proxy(nginx, authority, mode):
    with ConnectProxy() as proxy:
        outcome = probe(nginx.url("/private/disk.img", tls=True), *mode, *CREDENTIALS, "--proxy",
                        proxy.url, "--ca-bundle", authority.bundle)
    assert outcome.sha256 == SHA256
    assert set(proxy.asked) == {f"CONNECT 127.0.0.1:{nginx.tls}"}


def test_a_proxy_that_wants_credentials(nginx, authority):
    trust = ("--ca-bundle", authority.bundle)
    with ConnectProxy("px", "pw") as proxy:
        with_them = proxy.url.replace("://", "://px:pw@")
        assert probe(nginx.url("/disk.img", tls=True), *STREAM, *trust, "--proxy",
                     with_them).sha256 == SHA256
        assert probe(nginx.url("/disk.img"), *STREAM, "--proxy", with_them).sha256 == SHA256
        refused = probe(nginx.url("/disk.img"), *STREAM, "--proxy", proxy.url)
        assert refused.error == "UNAUTHENTICATED"
        assert "the proxy" in refused.message
        proxy.asked.clear()
        tunnel = probe(nginx.url("/disk.img", tls=True), *STREAM, *trust, "--proxy", proxy.url)
        assert tunnel.error == "UNAUTHENTICATED" and "the proxy answered 407" in tunnel.message
        assert len(proxy.asked) == 1  # it will not change its mind


@pytest.mark.parametrize("proxy", ["htp://px:secret@127.0.0.1:1", "http://px:secret@127.0.0.1:x"])
def test_what_is_no_proxy_is_not_quoted(nginx, proxy):
    """It may hold a password."""
    outcome = probe(nginx.url("/disk.img"), *STREAM, "--proxy", proxy)
    assert outcome.error == "INVALID_ARGUMENT"
    assert "proxy" in outcome.message and "secret" not in outcome.message


def test_the_proxy_of_the_environment(nginx, authority):
    with ConnectProxy() as proxy:
        environment = {"http_proxy": proxy.url, "https_proxy": proxy.url}
        probe(nginx.url("/disk.img"), *STREAM, environment=environment)
        probe(nginx.url("/disk.img", tls=True),
              *STREAM,
              "--ca-bundle",
              authority.bundle,
              environment=environment)
        assert [line.split()[0] for line in proxy.asked] == ["GET", "GET", "CONNECT"]
        proxy.asked.clear()
        for name in ("no_proxy", "NO_PROXY"):
            for value in ("127.0.0.1", "10.0.0.0/8, 127.0.0.0/8", "*"):
                outcome = probe(nginx.url("/disk.img"),
                                *STREAM,
                                environment={
                                    **environment, name: value
                                })
                assert outcome.sha256 == SHA256
        assert not proxy.asked


def test_a_proxy_that_is_not_there(nginx):
    outcome = probe(nginx.url("/disk.img"), *STREAM, "--proxy", "http://127.0.0.1:1", "--retries",
                    1)
    assert outcome.error == "UNAVAILABLE"
