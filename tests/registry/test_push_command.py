# SPDX-License-Identifier: Apache-2.0
"""`imprint push` and `imprint export … docker://`: container disks of files and of RBD images, as
skopeo, buildah and `imprint import` read them; and that nothing is sent twice."""

import gzip
import io
import json
import os
import signal
import subprocess
import tarfile
import time

import pytest

import imprint as command
import oci_image
from images import MIB, fill, qemu_img, same
from registry import PASSWORD, USER, Registry

FLAGS = ["--insecure-registry", "--allow-local-addresses"]
SIZE = 24 * MIB


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("push")


@pytest.fixture(scope="module")
def raw(folder):
    return fill(folder / "disk.raw", SIZE)


@pytest.fixture(scope="module")
def source(cluster, pool, raw):
    """An RBD image that holds the disk, and a snapshot of it."""
    cluster.put_image(pool, "pushed", raw)
    cluster.rbd("snap", "create", f"{pool}/pushed@one")
    yield f"{pool}/pushed"
    cluster.rbd("snap", "rm", f"{pool}/pushed@one")
    cluster.remove_image(pool, "pushed")


@pytest.fixture
def push(imprint):

    def run(verb, *arguments, **options):
        done = imprint.run(verb, *arguments, "--json", *FLAGS, **options)
        assert done.status == command.DONE, done
        return done.result

    return run


def fetched(foreign, url, tmp_path, *flags):
    """What skopeo fetches: (manifest, config, the disk's tar entry, its bytes)."""
    target = tmp_path / "fetched"
    subprocess.run(["rm", "-rf", target], check=True)
    foreign.copy(url, f"dir:{target}", *flags)
    manifest = json.loads((target / "manifest.json").read_bytes())
    config = json.loads((target / manifest["config"]["digest"].partition(":")[2]).read_bytes())
    (layer,) = manifest["layers"]
    data = (target / layer["digest"].partition(":")[2]).read_bytes()
    if layer["mediaType"].endswith("gzip"):
        data = gzip.decompress(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        directory, disk = archive.getmembers()
        assert (directory.name, directory.uid, directory.gid) == ("disk", 107, 107)
        return manifest, config, disk, archive.extractfile(disk).read()


def is_gzip(manifest):
    return manifest["layers"][0]["mediaType"].endswith("gzip")


def check_import(imprint, cluster, pool, url, tmp_path, expected):
    done = imprint.run("import", url, f"{pool}/back", *FLAGS)
    assert done.status == command.DONE, done
    cluster.get_image(pool, "back", tmp_path / "back.raw")
    assert same(tmp_path / "back.raw", expected)
    cluster.remove_image(pool, "back")


# ---- files

@pytest.mark.parametrize("name, make, layer_is_gzip", [
    ("fedora.raw", [], True),
    ("fedora.qcow2", ["-O", "qcow2"], True),
    ("small.qcow2", ["-c", "-O", "qcow2"], False),
])
def test_a_file(imprint, push, foreign, real, cluster, pool, raw, tmp_path, name, make,
                layer_is_gzip):
    path = tmp_path / name
    qemu_img("convert", "-f", "raw", *(make or ["-O", "raw"]), raw, path)
    url = real.url(f"command/{name}:1")
    said = push("push", path, url)
    manifest, config, disk, data = fetched(foreign, url, tmp_path)
    assert manifest["mediaType"] == oci_image.MANIFEST
    assert is_gzip(manifest) == layer_is_gzip
    assert (disk.name, disk.uid, disk.gid, disk.mode) == (f"disk/{name}", 107, 107, 0o440)
    assert data == path.read_bytes()
    assert config["os"] == "linux"
    assert said["digest"] == json.loads(foreign.skopeo("inspect", "--tls-verify=false", url))["Digest"]
    check_import(imprint, cluster, pool, url, tmp_path, raw)


def test_names_layers_and_platforms(push, foreign, real, raw, tmp_path):
    url = real.url("command/flags:1")
    push("push", f"file://{raw}", url, "--disk-name=d.img", "--layer=none", "--platform=arm64/v8")
    manifest, config, disk, _ = fetched(foreign, url, tmp_path, "--override-arch=arm64")
    assert disk.name == "disk/d.img"
    assert not is_gzip(manifest)
    assert (config["architecture"], config["variant"]) == ("arm64", "v8")


# ---- RBD images

def test_an_rbd_image(imprint, push, foreign, real, cluster, pool, source, raw, tmp_path):
    url = real.url("command/rbd:1")
    digest = push("push", source, url)["digest"]
    manifest, _, disk, data = fetched(foreign, url, tmp_path)
    assert is_gzip(manifest)
    assert (disk.name, disk.uid, disk.gid) == ("disk/disk.img", 107, 107)
    (tmp_path / "x.qcow2").write_bytes(data)
    qemu_img("check", tmp_path / "x.qcow2")
    qemu_img("compare", "-f", "qcow2", "-F", "raw", tmp_path / "x.qcow2", raw)
    # A snapshot of the same content, and export, make the very same image.
    assert push("push", f"{source}@one", url)["digest"] == digest
    assert push("push", f"rbd:{source}", url)["digest"] == digest
    assert push("export", source, url)["digest"] == digest
    check_import(imprint, cluster, pool, url, tmp_path, raw)
    assert [snap["name"] for snap in cluster.snapshots(pool, "pushed")] == ["one"]


@pytest.mark.parametrize("flags, is_compressed", [
    (["--compress=zlib"], False), (["--compress=zstd", "--layer=gzip"], True), (["--format=raw"], True)])
def test_formats_of_an_rbd_image(imprint, push, foreign, real, cluster, pool, source, raw, tmp_path,
                                 flags, is_compressed):
    url = real.url("command/formats:1")
    push("push", source, url, *flags)
    manifest, _, _, data = fetched(foreign, url, tmp_path)
    assert is_gzip(manifest) == is_compressed
    (tmp_path / "x").write_bytes(data)
    qemu_img("compare", tmp_path / "x", raw, "-F", "raw", "-f", "raw" if "raw" in flags[0] else "qcow2")
    check_import(imprint, cluster, pool, url, tmp_path, raw)


# ---- nothing twice

@pytest.mark.parametrize("kind", ["file", "image"])
def test_what_the_registry_has_is_not_sent(push, fake, source, raw, kind):
    what = raw if kind == "file" else source
    first = push("push", what, fake.url())["digest"]
    patches, uploads = fake.count("PATCH", ""), fake.count("POST", "/blobs/uploads/")
    assert patches > 0
    assert push("push", what, fake.url())["digest"] == first
    assert push("push", what, fake.url("t/disk:other"))["digest"] == first
    assert fake.count("PATCH", "") == patches
    assert fake.count("POST", "/blobs/uploads/") == uploads
    assert fake.manifests["latest"] == fake.manifests["other"]


# ---- a registry that loses uploads

BREAK = ("break", 100_000)
UNKNOWN = ("status", 404)


@pytest.mark.parametrize("kind", ["file", "image"])
@pytest.mark.parametrize("faults, put_faults", [
    ([BREAK], []), ([None, BREAK, None, BREAK], []), ([UNKNOWN], []), ([None, UNKNOWN], []),
    ([], [("status", 404)])], ids=["reset", "reset-twice", "unknown", "unknown-later", "unknown-last"])
def test_an_upload_that_is_lost_begins_anew(push, imprint, fake, source, raw, kind, faults, put_faults):
    """What is pushed can be read again: as a file, or from a snapshot."""
    what = raw if kind == "file" else source
    fake.forgets_uploads = True
    fake.patch_faults = [fault or ("none",) for fault in faults]
    fake.put_faults = list(put_faults)
    digest = push("push", what, fake.url(), "--layer=none", "--format=raw")["digest"]
    assert not fake.patch_faults and not fake.put_faults and not fake.uploads
    starts = fake.count("POST", "/blobs/uploads/")
    assert starts == (3 if faults.count(BREAK) < 2 else 4)  # the layer, the configuration, and again
    assert push("push", what, fake.url("t/disk:again"), "--layer=none", "--format=raw")["digest"] == digest
    if kind == "image":
        fake.blobs.clear()
        fake.patch_faults = [BREAK]
        done = imprint.run("export", source, fake.url(), "--layer=none", "--format=raw", "--json", *FLAGS)
        assert done.status == command.DONE and done.result["digest"] == digest
        assert [event["attempt"] for event in done.events if event["event"] == "retry"] == [1]


@pytest.mark.parametrize("kind", ["file", "image"])
def test_a_registry_that_loses_every_upload(imprint, fake, source, raw, kind):
    fake.forgets_uploads = True
    fake.patch_faults = [BREAK] * 100
    done = imprint.run("push", raw if kind == "file" else source, fake.url(), *FLAGS)
    assert done.status == command.UNREACHABLE, done
    assert "given the upload up" in done.stderr
    assert fake.count("POST", "/blobs/uploads/") == 3
    assert not fake.uploads and not fake.manifests


def test_a_lost_upload_of_the_configuration(push, fake, source):
    """Of which the layer knows nothing."""
    first = push("push", source, fake.url())["digest"]
    (layer,) = [digest for digest, blob in fake.blobs.items() if len(blob) > 10_000]
    for digest in [digest for digest in fake.blobs if digest != layer]:
        del fake.blobs[digest]
    fake.patch_faults = [UNKNOWN, UNKNOWN]
    assert push("push", source, fake.url())["digest"] == first


# ---- who may

def test_credentials(imprint, sandboxed, foreign, raw, folder, tmp_path):
    with Registry(folder / "guarded", "tls", "password") as guarded:
        url = guarded.url("command/secret:1")
        flags = ["--allow-local-addresses", f"--ca-bundle={guarded.ca}"]
        password = {"IMPRINT_PASSWORD": PASSWORD}
        done = sandboxed.run("push", raw, url, *flags, f"--user={USER}", environment=password)
        assert done.status == command.DONE, done
        digest = done.stdout.decode().strip()
        assert json.loads(foreign.skopeo("inspect", "--tls-verify=false", "--creds",
                                         f"{USER}:{PASSWORD}", url))["Digest"] == digest
        for environment, given in (({}, []), ({"IMPRINT_PASSWORD": "wrong " + PASSWORD},
                                              [f"--user={USER}"])):
            done = imprint.run("push", raw, guarded.url("command/no:1"), *flags, *given,
                               environment=environment)
            assert done.status == command.NOT_ALLOWED
            assert PASSWORD not in done.stderr
    # Nobody sees it on a command line, and no flag would take it.
    done = imprint.run("push", raw, "docker://127.0.0.1:1/a/b", f"--password={PASSWORD}")
    assert done.status == command.REFUSED


# ---- what goes wrong

@pytest.mark.parametrize("what, url, flags, status, text", [
    ("/nowhere.img", "docker://127.0.0.1:1/a/b:1", [], command.NOT_FOUND, "/nowhere.img"),
    ("imprint/nothing", "docker://127.0.0.1:1/a/b:1", [], command.NOT_FOUND, "nothing"),
    ("/etc/hostname", "s3://a/b", [], command.REFUSED, "imprint export"),
    ("/etc/hostname", "docker://127.0.0.1:1/a/b:1", ["--layer=xz"], command.REFUSED, "--layer"),
    ("/etc/hostname", "docker://127.0.0.1:1/a/b:1", ["--retries=1"], command.UNREACHABLE, "127.0.0.1"),
    ("/etc", "docker://127.0.0.1:1/a/b:1", [], command.REFUSED, "/etc"),
])
def test_what_cannot_be_pushed(imprint, what, url, flags, status, text):
    done = imprint.run("push", what, url, *FLAGS, *flags)
    assert done.status == status, done
    (line,) = done.stderr.splitlines()
    assert text in line


def test_a_stopped_push_leaves_nothing(imprint, fake, cluster, pool, source, raw):
    """Ctrl-C: what was sent is taken back, and no tag appears."""
    fake.patch_seconds = 30
    for what in (raw, source):
        running = imprint.start("push", what, fake.url(), "--layer=none", "--format=raw", *FLAGS)
        deadline = time.monotonic() + 60
        while not fake.uploads or not fake.count("PATCH", ""):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.signal(signal.SIGINT)
        fake.patch_seconds = 0
        done = running.wait()
        assert done.status == command.STOPPED, done
        assert not fake.uploads and not fake.manifests
        fake.requests.clear()
        fake.patch_seconds = 30
    assert [snap["name"] for snap in cluster.snapshots(pool, "pushed")] == ["one"]


def test_progress_is_told(imprint, real, raw):
    done = imprint.run("push", raw, real.url("command/progress:1"), "--json", *FLAGS)
    last = [event for event in done.events if event["event"] == "progress"][-1]
    assert (last["verb"], last["percent"]) == ("push", 100.0)
    assert done.result["image"] == real.url("command/progress:1")
    assert os.path.getsize(raw) <= done.result["fetched"] <= 2 * os.path.getsize(raw)


def test_the_result_is_json_whatever_the_name(imprint, raw, tmp_path):
    url = f'oci-archive:{tmp_path}/a"b\\c.tar'
    assert imprint.run("push", raw, url, "--json", *FLAGS).result["image"] == url
