# SPDX-License-Identifier: Apache-2.0
"""Who may read and write: passwords, tokens, TLS; and that no secret goes where it must not."""

import base64
import json

import pytest

import oci_image
from fake_registry import FakeRegistry
from registry import PASSWORD, USER, Failure, Registry, tool
from token_server import TokenServer


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with Registry(tmp_path_factory.mktemp("guarded") / "r", "password") as running:
        yield running


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    with TokenServer(tmp_path_factory.mktemp("tokens")) as running:
        yield running


@pytest.fixture(scope="module")
def with_tokens(tmp_path_factory, tokens):
    with Registry(tmp_path_factory.mktemp("with-tokens") / "r", "token", tokens.realm,
                  tokens.certificate) as running:
        yield running


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    with Registry(tmp_path_factory.mktemp("encrypted") / "r", "tls", "password") as running:
        yield running


def push(foreign, registry, tmp_path, name, disk, *flags):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)))
    folder = oci_image.layout(tmp_path / "layout", image)
    foreign.copy(f"oci:{folder}:latest", registry.url(name), "--dest-creds", f"{USER}:{PASSWORD}",
                 "--preserve-digests", *flags)
    return registry.url(name)


def auth_file(tmp_path, host, **entry):
    path = tmp_path / "auth.json"
    if not entry:
        entry = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
    path.write_text(json.dumps({"auths": {host: entry, "elsewhere": {"auth": "eDp5"}}}))
    return path


# ---- passwords

def test_a_password(foreign, guarded, tmp_path, disk):
    url = push(foreign, guarded, tmp_path, "auth/disk:1", disk)
    assert tool("cat", url, user=USER, password=PASSWORD) == disk
    assert tool("cat", url, auth_file=auth_file(tmp_path, guarded.host)) == disk
    assert tool("tags", url, user=USER, password=PASSWORD).decode().split() == ["1"]
    with pytest.raises(Failure, match="^UNAUTHENTICATED: .*refuses the credentials"):
        tool("cat", url, user=USER, password="wrong")
    with pytest.raises(Failure, match="^UNAUTHENTICATED: .*wants credentials and none were given"):
        tool("cat", url)
    with pytest.raises(Failure, match="^UNAUTHENTICATED: .*none were given"):
        tool("cat", url, auth_file=auth_file(tmp_path, "other.host"))


def test_passwords_are_in_no_message(guarded):
    with pytest.raises(Failure) as failure:
        tool("cat", guarded.url("auth/none:1"), user=USER, password="do not tell")
    assert "do not tell" not in str(failure.value)


def test_a_push_with_a_password(guarded, tmp_path, other_disk):
    source = tmp_path / "disk.img"
    source.write_bytes(other_disk)
    url = guarded.url("auth/pushed:1")
    tool("push", url, source, user=USER, password=PASSWORD)
    assert tool("cat", url, user=USER, password=PASSWORD) == other_disk
    with pytest.raises(Failure, match="^UNAUTHENTICATED"):
        tool("push", url, source)


# ---- tokens

def test_a_token(foreign, with_tokens, tokens, tmp_path, disk):
    url = push(foreign, with_tokens, tmp_path, "auth/disk:1", disk)
    asked = tokens.asked
    assert tool("cat", url, user=USER, password=PASSWORD) == disk
    assert tokens.asked == asked + 1
    assert tool("cat", url, auth_file=auth_file(tmp_path, with_tokens.host)) == disk
    with pytest.raises(Failure, match="^UNAUTHENTICATED: .*ask for a token"):
        tool("cat", url, user=USER, password="wrong")


def test_a_push_with_a_token(with_tokens, tmp_path, other_disk):
    source = tmp_path / "disk.img"
    source.write_bytes(other_disk)
    url = with_tokens.url("auth/pushed:1")
    tool("push", url, source, user=USER, password=PASSWORD, gzip=True)
    assert tool("cat", url, user=USER, password=PASSWORD) == other_disk


class Tokens:
    """A token server inside the fake registry; each token is good until the next one is made."""

    def __init__(self, fake, **answer):
        self.fake, self.answer, self.count = fake, answer, 0
        self.queries, self.credentials = [], []
        fake.tokens = set()
        fake.token_answer = self.make
        fake.challenge = f'Bearer realm="http://{fake.host}/token",service="the service",scope="x"'

    def make(self, query, credentials):
        self.count += 1
        self.queries.append(query)
        self.credentials.append(credentials)
        self.fake.tokens = {f"token{self.count}"}
        return 200, {"token": f"token{self.count}", **self.answer}


def test_what_a_token_is_asked_for_with(fake, disk):
    tokens = Tokens(fake)
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    assert tool("cat", fake.url(), user="me", password="secret") == disk
    assert tokens.queries[0] == {"service": ["the service"], "scope": ["repository:t/disk:pull"]}
    assert tokens.credentials[0] == "me:secret"
    # … and the password itself never reaches the registry.
    assert all("Basic" not in headers.get("Authorization", "") for _, path, headers in fake.requests
               if not path.startswith("/token"))


def test_nobody_gets_a_token_too(fake, disk):
    tokens = Tokens(fake)
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    assert tool("cat", fake.url()) == disk
    assert tokens.credentials[0] == ""


def test_an_identity_token(fake, tmp_path, disk):
    tokens = Tokens(fake)
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    file = auth_file(tmp_path, fake.host, identitytoken="refresh/me=")
    assert tool("cat", fake.url(), auth_file=file) == disk
    assert tokens.queries[0]["refresh_token"] == ["refresh/me="]
    assert tokens.queries[0]["grant_type"] == ["refresh_token"]


def test_a_token_of_the_users_own(fake, tmp_path, disk):
    fake.tokens = {"mine"}
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    assert tool("cat", fake.url(), bearer="mine") == disk
    assert tool("cat", fake.url(), auth_file=auth_file(tmp_path, fake.host, registrytoken="mine")) \
        == disk
    with pytest.raises(Failure, match="^UNAUTHENTICATED: .*refuses the credentials"):
        tool("cat", fake.url(), bearer="other")


def test_access_token_is_another_name(fake, disk):
    fake.tokens = {"t"}
    fake.token_answer = lambda query, credentials: (200, {"access_token": "t"})
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    assert tool("cat", fake.url()) == disk


def test_a_token_that_expires_amid_a_blob(fake, disk):
    """The connection breaks, and what takes it up again is refused."""
    tokens = Tokens(fake)
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk)), compression="none"), "latest")
    layer = oci_image.digest(image.layers[0])
    fake.break_after[layer] = [2_000_000, 500_000]
    fake.on_break = lambda: fake.tokens.clear()
    content = tool("cat", fake.url(), user="me", password="secret")
    assert content == disk
    assert tokens.count == 3


def test_tokens_that_are_never_taken(fake, disk):
    fake.tokens = {"another"}
    fake.token_answer = lambda query, credentials: (200, {"token": "t"})
    fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    with pytest.raises(Failure, match="^UNAUTHENTICATED"):
        tool("cat", fake.url())
    assert fake.count("GET", "/token") < 5


@pytest.mark.parametrize("status, answer", [
    (200, {}), (200, {"token": ""}), (200, {"token": 1}), (200, []), (403, {}), (404, {}),
    (200, {"token": "a\r\nX: y"})])
def test_token_servers_that_make_no_sense(fake, status, answer):
    fake.tokens = {"another"}
    fake.token_answer = lambda query, credentials: (status, answer)
    with pytest.raises(Failure, match="^[A-Z_]+: "):
        tool("cat", fake.url())


@pytest.mark.parametrize("challenge, message", [
    ('Bearer service="x"', "UNAUTHENTICATED: .*does not say whose"),
    ('Bearer realm="ftp://127.0.0.1/"', "INVALID_ARGUMENT: "),
    ('Bearer realm="nonsense', "UNAUTHENTICATED: "),
    ("Negotiate", "UNAUTHENTICATED: "),
    ("", "UNAUTHENTICATED: "),
])
def test_challenges_that_make_no_sense(fake, challenge, message):
    fake.tokens = set()
    fake.challenge = challenge or " "
    with pytest.raises(Failure, match="^" + message):
        tool("cat", fake.url(), user="me", password="secret")


# ---- where secrets go

def test_redirects_get_no_credentials(fake, disk):
    """Blobs of large registries lie in object stores elsewhere."""
    tokens = Tokens(fake)
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    with FakeRegistry() as store:
        store.blobs = image.blobs
        fake.redirect_to = store.host
        assert tool("cat", fake.url(), user="me", password="secret") == disk
        assert store.requests
        assert not [headers for _, _, headers in store.requests if "Authorization" in headers]
    assert tokens.count == 1


def test_uploads_elsewhere_get_no_credentials(fake, tmp_path, other_disk):
    Tokens(fake)
    source = tmp_path / "disk.img"
    source.write_bytes(other_disk)
    with FakeRegistry() as store:
        store.uploads, store.blobs = fake.uploads, fake.blobs
        fake.upload_host = store.host
        tool("push", fake.url(), source, user="me", password="secret")
        assert store.count("PATCH", "/uploads/")
        assert not [headers for _, _, headers in store.requests if "Authorization" in headers]
    fake.upload_host = None
    assert tool("cat", fake.url(), user="me", password="secret") == other_disk


def test_uploads_to_the_same_server_by_another_spelling(fake, tmp_path, other_disk):
    """Hosts have no case: the token goes with it."""
    Tokens(fake)
    source = tmp_path / "disk.img"
    source.write_bytes(other_disk)
    url = fake.url().replace("127.0.0.1", "localhost")
    fake.upload_host = fake.host.replace("127.0.0.1", "LOCALHOST")
    tool("push", url, source, user="me", password="secret")
    patches = [headers for method, _, headers in fake.requests if method == "PATCH"]
    assert patches and all("Authorization" in headers for headers in patches)


# ---- TLS

def test_tls_with_a_ca_of_ones_own(foreign, encrypted, tmp_path, disk):
    url = push(foreign, encrypted, tmp_path, "auth/disk:1", disk)
    options = {"insecure": False, "user": USER, "password": PASSWORD}
    assert tool("cat", url, ca=encrypted.ca, **options) == disk
    with pytest.raises(Failure, match="^FAILED_PRECONDITION: .*certificate"):
        tool("cat", url, **options)
    source = tmp_path / "disk.img"
    source.write_bytes(disk)
    tool("push", encrypted.url("auth/pushed:1"), source, ca=encrypted.ca, **options)
    assert tool("cat", encrypted.url("auth/pushed:1"), ca=encrypted.ca, **options) == disk


def test_without_tls_only_when_asked_for(real, encrypted):
    with pytest.raises(Failure, match="^[A-Z_]+: .*https://"):
        tool("cat", real.url("auth/x:1"), insecure=False)
    with pytest.raises(Failure, match="^[A-Z_]+: "):
        tool("cat", encrypted.url("auth/x:1"), user=USER, password=PASSWORD)


def test_a_password_is_not_sent_in_the_clear_elsewhere(tmp_path_factory, tokens):
    """A registry with TLS that names a token server without."""
    with Registry(tmp_path_factory.mktemp("mixed") / "r", "tls", "token", tokens.realm,
                  tokens.certificate) as mixed:
        asked = tokens.asked
        with pytest.raises(Failure, match="^FAILED_PRECONDITION: .*a server without TLS"):
            tool("cat", mixed.url("x/y:1"), insecure=False, ca=mixed.ca, user=USER,
                 password=PASSWORD)
        assert tokens.asked == asked
