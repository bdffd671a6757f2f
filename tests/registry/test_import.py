# SPDX-License-Identifier: Apache-2.0
"""`imprint import` of container disks and archives into RBD: every byte as qemu-img reads it, nothing
left of what is not right, and a killed import goes on."""

import base64
import contextlib
import gzip
import json
import os
import subprocess
import tarfile
import time

import pytest

import imprint as command
import oci_image
from images import MIB, fill, qemu_img, same
from registry import PASSWORD, USER, Registry
from token_server import TokenServer

FLAGS = ["--insecure-registry", "--allow-local-addresses"]
SIZE = 16 * MIB  # of a disk
NOISE = 48 * MIB  # of one that takes a while


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("import")


@pytest.fixture(scope="module")
def raw(folder):
    return fill(folder / "disk.raw", SIZE)


@pytest.fixture(scope="module")
def disks(folder, raw):
    """The same disk as files of several formats: name to bytes."""
    made = {"raw": raw.read_bytes()}
    for name, flags in (("plain", []), ("zlib", ["-c"]), ("zstd", ["-c", "-o", "compression_type=zstd"])):
        path = folder / f"{name}.qcow2"
        qemu_img("convert", *flags, "-f", "raw", "-O", "qcow2", raw, path)
        made[name] = path.read_bytes()
    return made


@pytest.fixture
def imported(imprint, cluster, pool, folder, raw):
    """Imports, compares with the disk, and removes it again; what the command said."""

    def run(source, *flags, expected=raw, **options):
        done = imprint.run("import", source, f"{pool}/imported", "--json", *flags, **options)
        assert done.status == command.DONE, done
        check(cluster, pool, folder, expected)
        return done.result

    return run


def check(cluster, pool, folder, expected):
    """The image holds the disk; qemu reads both. It goes."""
    rbd = ["rbd", "--conf", cluster.conf]
    out = folder / "out.raw"
    subprocess.run([*rbd, "export", "--no-progress", f"{pool}/imported", out], check=True)
    assert same(out, expected)
    out.unlink()
    subprocess.run([*rbd, "rm", "--no-progress", f"{pool}/imported"], check=True)
    assert not left(cluster, pool)


def left(cluster, pool):
    """Images and records of imports."""
    with cluster.ioctx(pool) as ioctx:
        records = [item.key for item in ioctx.list_objects() if item.key.startswith("imprint.")]
    return records + [name for name in cluster.images(pool) if name == "imported"]


def push(foreign, registry, folder, name, image, *flags, combined=None, others=()):
    with contextlib.ExitStack() as stack:
        layout = folder / f"layout-{name.replace('/', '-').replace(':', '-')}"
        oci_image.layout(layout, image, *others, combined=combined)
        stack.callback(subprocess.run, ["rm", "-rf", layout], check=True)
        foreign.copy(f"oci:{layout}:latest", registry.url(name), "--preserve-digests", *flags)
    return registry.url(name)


# ---- what is imported

@pytest.mark.parametrize("format, compression", [
    ("raw", "none"), ("raw", "gzip"), ("raw", "zstd"), ("plain", "none"), ("plain", "gzip"),
    ("plain", "zstd"), ("zlib", "none"), ("zlib", "gzip"), ("zstd", "none"), ("zstd", "gzip"),
])
def test_a_layer_and_what_is_in_it(imported, foreign, real, folder, disks, format, compression):
    archive = oci_image.tar(("etc/x", b"y"), ("disk/a.img", disks[format]), ("etc/z", b"z" * 5000))
    url = push(foreign, real, folder, f"import/{format}-{compression}:1",
               oci_image.Image(archive, compression=compression))
    assert imported(url, *FLAGS)["virtualSize"] == SIZE


def test_layers_whiteouts_and_platforms(imported, foreign, real, folder, disks):
    wanted = oci_image.Image(oci_image.tar(("disk/old.img", b"old" * 1000)),
                             oci_image.tar(("disk/.wh.old.img", b""), ("disk/new.img", disks["zlib"])),
                             oci_image.tar(("usr/bin/tool", b"t" * 10_000)), architecture="arm64")
    other = oci_image.Image(oci_image.tar(("disk/other.img", b"other" * 1000)), architecture="amd64")
    url = push(foreign, real, folder, "import/index:1", other, "--all", others=[wanted],
               combined=oci_image.index(other, wanted))
    imported(url, "--platform=arm64", *FLAGS)
    imported(f"{url.rpartition(':')[0]}@{wanted.digest}", *FLAGS)


@pytest.mark.parametrize("kind", ["oci-archive", "docker-archive"])
def test_archives(imported, foreign, folder, disks, kind):
    layout = oci_image.layout(folder / kind, oci_image.Image(oci_image.tar(("disk/a", disks["plain"]))))
    path = folder / f"{kind}.tar"
    foreign.copy(f"oci:{layout}:latest", f"{kind}:{path}:a/b:1")
    imported(f"{kind}:{path}")


def test_plain_archives(imported, folder, disks):
    inside = folder / "inside"
    inside.mkdir()
    (inside / "disk.qcow2").write_bytes(disks["zlib"])
    (inside / "disk.raw.gz").write_bytes(gzip.compress(disks["raw"], compresslevel=1))
    for suffix in ("", "gz", "xz"):
        path = folder / f"one.tar{suffix}"
        with tarfile.open(path, f"w:{suffix}") as archive:
            archive.add(inside / "disk.qcow2", "somewhere/disk.qcow2")
        imported(path)
    both = folder / "both.tar"
    with tarfile.open(both, "w") as archive:
        archive.add(inside, "here")
    for name in ("disk.qcow2", "disk.raw.gz"):
        imported(both, f"--path=here/{name}")


def test_an_archive_with_two_disks(imprint, cluster, pool, folder):
    both = folder / "two.tar"
    with tarfile.open(both, "w") as archive:
        for name in ("a", "b"):
            (folder / name).write_bytes(name.encode() * 100_000)
            archive.add(folder / name, name)
    done = imprint.run("import", both, f"{pool}/imported")
    assert done.status == command.REFUSED
    assert "'/a', '/b'" in done.stderr
    assert not left(cluster, pool)


# ---- who may

def secrets_in(done):
    return [text for text in (PASSWORD, base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
            if text in done.stderr or text in done.stdout.decode()]


def test_passwords_tokens_and_tls(imprint, sandboxed, imported, foreign, folder, disks, pool, cluster):
    image = oci_image.Image(oci_image.tar(("disk/a", disks["zlib"])))
    creds = ["--dest-creds", f"{USER}:{PASSWORD}"]
    password = {"IMPRINT_USER": USER, "IMPRINT_PASSWORD": PASSWORD}
    local = "--allow-local-addresses"
    with contextlib.ExitStack() as stack:
        tokens = stack.enter_context(TokenServer(folder))
        guarded = stack.enter_context(Registry(folder / "guarded", "tls", "password"))
        by_token = stack.enter_context(
            Registry(folder / "token", "token", tokens.realm, tokens.certificate))
        url = push(foreign, guarded, folder, "import/tls:1", image, *creds)
        auth = folder / "auth.json"
        entry = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        auth.write_text(json.dumps({"auths": {guarded.host: entry}}))
        imported(url, local, f"--ca-bundle={guarded.ca}", environment=password)
        imported(url, local, f"--ca-bundle={guarded.ca}", f"--auth-file={auth}")
        imported(url, local, f"--ca-bundle={guarded.ca}", environment={"REGISTRY_AUTH_FILE": auth})
        (folder / ".docker").mkdir()
        (folder / "containers").mkdir()
        (folder / ".docker" / "config.json").write_text(auth.read_text())
        for env, status in (({"HOME": folder}, command.DONE),
                            ({"HOME": "/nowhere", "DOCKER_CONFIG": folder / ".docker"}, command.DONE),
                            ({"HOME": "/nowhere"}, command.NOT_ALLOWED),
                            ({"HOME": folder, "IMPRINT_USER": "x"}, command.NOT_ALLOWED)):
            env["XDG_RUNTIME_DIR"] = folder  # where there is none
            done = sandboxed.run("inspect", url, local, f"--ca-bundle={guarded.ca}", environment=env)
            assert done.status == status, done
            assert status == command.DONE or not secrets_in(done)
        for flags, env, status in (
                ([f"--ca-bundle={guarded.ca}"], {}, command.NOT_ALLOWED),
                ([f"--ca-bundle={guarded.ca}"], {**password, "IMPRINT_PASSWORD": "x" + PASSWORD},
                 command.NOT_ALLOWED),
                ([], password, command.WRONG_STATE)):
            done = imprint.run("import", url, f"{pool}/imported", local, *flags, environment=env)
            assert done.status == status
            assert not secrets_in(done)
        url = push(foreign, by_token, folder, "import/token:1", image, *creds)
        imported(url, *FLAGS, environment=password)
        assert tokens.asked > 0
        # tokens come from another port of the same host
        assert sandboxed.run("inspect", url, *FLAGS, environment=password).status == command.DONE
        done = imprint.run("import", url, f"{pool}/imported", *FLAGS)
        assert done.status == command.NOT_ALLOWED
    assert not left(cluster, pool)


# ---- what is not right

@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("position", [100_000, -1])
def test_a_wrong_byte_leaves_no_image(imprint, cluster, pool, fake, disks, compression, position):
    archive = oci_image.tar(("disk/a.img", disks["plain"]), ("etc/x", b"y" * 2000))
    image = fake.add(oci_image.Image(archive, compression=compression), "latest")
    layer = oci_image.digest(image.layers[0])
    at = position % len(image.layers[0])
    fake.change[layer] = lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    done = imprint.run("import", fake.url(), f"{pool}/imported", *FLAGS)
    assert done.status in (command.DAMAGED, command.REFUSED), done
    assert not left(cluster, pool)


def test_a_checksum_of_the_disk(imprint, imported, cluster, pool, fake, disks):
    for compression in ("none", "gzip"):
        fake.add(oci_image.Image(oci_image.tar(("disk/a", disks["zlib"])), compression=compression),
                 "latest")
        imported(fake.url(), f"--checksum={oci_image.digest(disks['zlib'])}", *FLAGS)
        done = imprint.run("import", fake.url(), f"{pool}/imported", *FLAGS,
                           f"--checksum={oci_image.digest(b'other')}")
        assert done.status == command.DAMAGED
        assert not left(cluster, pool)


# ---- killed

def wait_for_checkpoint(cluster, pool, running, timeout_s=60):
    """Until the second one: then the first has surely something in it."""
    seen, deadline = set(), time.monotonic() + timeout_s
    while len(seen) < 2:
        assert running.popen.poll() is None, "it ended too soon"
        assert time.monotonic() < deadline
        with cluster.ioctx(pool) as ioctx:
            for item in ioctx.list_objects():
                if item.key.startswith("imprint.checkpoint."):
                    seen.add(ioctx.read(item.key, 1 << 20))
        time.sleep(0.1)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd", "zstd frames"])
def test_a_killed_import_goes_on(imprint, imported, cluster, pool, fake, folder, compression):
    """kill -9 in the middle of a layer: little is fetched twice, and every byte is right."""
    noise = folder / "noise.raw"
    noise.write_bytes(os.urandom(NOISE))
    archive = oci_image.tar(("disk/a.img", noise.read_bytes()))
    image = fake.add(oci_image.Image(archive, compression=compression), "latest")
    size = len(image.layers[0])
    fake.bytes_per_second = 5 * MIB
    running = imprint.start("import", fake.url(), f"{pool}/imported", "--jobs=1", *FLAGS)
    wait_for_checkpoint(cluster, pool, running)
    running.kill()
    first = fake.sent
    assert first < size
    fake.bytes_per_second = None
    fake.sent = 0
    said = imported(fake.url(), *FLAGS, expected=noise)
    twice = first + fake.sent - size
    print(f"{compression}: {first} bytes, killed, {fake.sent} bytes of {size}: {twice} twice")
    assert said["resumedAt"] > 0
    # Three seconds of that pace, what the kernel takes ahead, and a chunk or two.
    assert twice < 3 * 5 * MIB + 24 * MIB
    assert fake.sent < size
