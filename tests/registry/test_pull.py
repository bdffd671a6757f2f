# SPDX-License-Identifier: Apache-2.0
"""Images that skopeo and buildah pushed to a real registry, read by every way there is."""

import json
import os

import pytest

import oci_image
from registry import Failure, info, read_in_steps, tool


def pushed(foreign, real, tmp_path, name, *images, combined=None, flags=()):
    folder = oci_image.layout(tmp_path / "layout", *images, combined=combined)
    foreign.copy(f"oci:{folder}:latest", real.url(name), *flags)
    return real.url(name)


def layer_types(foreign, url):
    manifest = json.loads(foreign.skopeo("inspect", "--tls-verify=false", "--raw", url))
    return {layer["mediaType"].rpartition(".")[2].rpartition("+")[2] for layer in manifest["layers"]}


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_an_oci_image_of_one_layer(foreign, real, tmp_path, disk, compression):
    image = oci_image.Image(oci_image.tar(("disk", None), ("disk/fedora.img", disk)),
                            compression=compression, env=["X_KUBEVIRT_IO_Y=z", "PATH=/bin"])
    url = pushed(foreign, real, tmp_path, f"pull/{compression}:1", image,
                 flags=["--preserve-digests"])
    assert tool("cat", url) == disk
    facts = info(url)
    assert facts["size"] == len(disk)
    assert facts["identity"] == f"{image.digest}/disk/fedora.img"
    assert facts["env"] == {"X_KUBEVIRT_IO_Y": "z", "PATH": "/bin"}
    assert facts["seek"] == (compression == "none")
    assert facts["save"]
    assert tool("resolve", url).decode().strip() == image.digest


def test_an_uncompressed_layer_is_read_anywhere(foreign, real, tmp_path, disk):
    image = oci_image.Image(oci_image.tar(("etc/x", b"y"), ("disk/a", disk), ("zzz", b"z" * 3000)),
                            compression="none")
    url = pushed(foreign, real, tmp_path, "pull/seek:1", image, flags=["--preserve-digests"])
    assert tool("seek", url) == disk


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_another_process_goes_on(foreign, real, tmp_path, disk, compression):
    image = oci_image.Image(oci_image.tar(("disk/a", disk), ("etc/rest", b"r" * 100_000)),
                            compression=compression)
    url = pushed(foreign, real, tmp_path, f"pull/resume-{compression}:1", image,
                 flags=["--preserve-digests"])
    content, processes = read_in_steps(url, tmp_path, 500_000)
    assert content == disk
    assert processes > 6


@pytest.mark.parametrize("flags", [["--format", "v2s2"], ["--format", "oci"],
                                   ["--format", "oci", "--dest-compress-format", "zstd"]])
def test_formats_that_skopeo_writes(foreign, real, tmp_path, disk, flags):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), compression="none")
    url = pushed(foreign, real, tmp_path, f"pull/{'-'.join(flags).strip('-')}:1", image, flags=flags)
    kind = layer_types(foreign, url)
    assert kind == {"zstd" if "zstd" in flags else "gzip"}
    assert tool("cat", url) == disk
    digest = json.loads(foreign.skopeo("inspect", "--tls-verify=false", url))["Digest"]
    assert info(url)["identity"] == f"{digest}/disk/a"


def test_by_digest_and_by_tag(foreign, real, tmp_path, disk, other_disk):
    first = oci_image.Image(oci_image.tar(("disk/a", disk)))
    second = oci_image.Image(oci_image.tar(("disk/a", other_disk)))
    url = pushed(foreign, real, tmp_path / "1", "pull/tags:latest", first,
                 flags=["--preserve-digests"])
    pushed(foreign, real, tmp_path / "2", "pull/tags:latest", second, flags=["--preserve-digests"])
    bare = url.rpartition(":")[0]
    assert tool("cat", bare) == other_disk
    assert tool("cat", f"{bare}@{first.digest}") == disk
    assert tool("cat", f"{bare}:latest@{first.digest}") == disk
    assert tool("resolve", bare).decode().strip() == second.digest
    with pytest.raises(Failure, match="^NOT_FOUND: .*pull/tags/manifests/nothing"):
        tool("cat", f"{bare}:nothing")
    with pytest.raises(Failure, match="^NOT_FOUND"):
        tool("resolve", f"{bare}:nothing")


def test_tags_are_listed(foreign, real, tmp_path, other_disk):
    image = oci_image.Image(oci_image.tar(("disk/a", other_disk)))
    for tag in ("v1.10.0", "v1.2.0", "latest", "v1.9.0-rc.1"):
        pushed(foreign, real, tmp_path / tag, f"pull/listed:{tag}", image)
    assert tool("tags", real.url("pull/listed")).decode().split() == \
        ["latest", "v1.10.0", "v1.2.0", "v1.9.0-rc.1"]
    with pytest.raises(Failure, match="^NOT_FOUND"):
        tool("tags", real.url("pull/nowhere"))


# ---- layers

def test_layers_are_read_from_the_top_down(foreign, real, tmp_path, disk, other_disk):
    layers = [oci_image.tar(("disk/a", other_disk), ("etc/os-release", b"x")),
              oci_image.tar(("disk/a", disk)),
              oci_image.tar(("usr/bin/tool", b"y" * 10_000))]
    for compression in ("gzip", "zstd", "none"):
        image = oci_image.Image(*layers, compression=compression)
        url = pushed(foreign, real, tmp_path / compression, f"pull/layers-{compression}:1", image,
                     flags=["--preserve-digests"])
        assert tool("cat", url) == disk


def test_a_file_beside_the_disk_in_another_layer(fake, disk, other_disk):
    """It is the image as a whole that must have one file there."""
    lower, note = ("disk/fedora.img", disk), ("disk/README", b"read me")
    for compression in ("gzip", "none"):
        fake.add(oci_image.Image(oci_image.tar(lower), oci_image.tar(note), compression=compression), "latest")
        with pytest.raises(Failure, match="^INVALID_ARGUMENT: .*several files.*'/disk/README', "
                                          "'/disk/fedora.img'.*by its path"):
            tool("cat", fake.url())
        assert tool("cat", fake.url(), path="/disk/fedora.img") == disk
    # what removes it may stand behind the disk, or between the two
    new = ("disk/new.img", other_disk)
    gone = ("disk/.wh.fedora.img", b"")
    for layers in ([[lower], [new, gone]], [[lower], [gone], [new]]):
        fake.add(oci_image.Image(*(oci_image.tar(*layer) for layer in layers)), "latest")
        assert tool("cat", fake.url()) == other_disk


@pytest.mark.parametrize("removed", ["disk/.wh.old.img", ".wh.disk", "disk/.wh..wh..opq"])
def test_whiteouts_count(foreign, real, tmp_path, disk, other_disk, removed):
    lowest = oci_image.tar(("disk/old.img", other_disk))
    whiteout = oci_image.tar((removed, b""))
    upper = oci_image.tar(("disk/new.img", disk))
    name = f"pull/whiteout-{''.join(c for c in removed if c.isalnum())}"
    gone = oci_image.Image(lowest, whiteout)
    url = pushed(foreign, real, tmp_path / "gone", f"{name}:gone", gone)
    with pytest.raises(Failure, match="^NOT_FOUND: .*no file at '/disk'"):
        tool("cat", url)
    replaced = oci_image.Image(lowest, whiteout, upper)
    url = pushed(foreign, real, tmp_path / "replaced", f"{name}:replaced", replaced)
    assert tool("cat", url) == disk


def test_an_opaque_folder_hides_only_what_is_below(foreign, real, tmp_path, disk, other_disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk), ("disk/sub/b", other_disk)),
                            oci_image.tar(("disk/sub/.wh..wh..opq", b"")))
    url = pushed(foreign, real, tmp_path, "pull/opaque:1", image)
    assert tool("cat", url) == disk


def test_several_disks_are_named(foreign, real, tmp_path, disk, other_disk):
    image = oci_image.Image(oci_image.tar(("disk/a.img", disk), ("disk/b.img", other_disk)))
    url = pushed(foreign, real, tmp_path, "pull/several:1", image)
    with pytest.raises(Failure, match="^INVALID_ARGUMENT: .*'/disk/a.img', '/disk/b.img'"):
        tool("cat", url)
    assert tool("cat", url, path="/disk/b.img") == other_disk


@pytest.mark.parametrize("entries", [
    [("images/x", True), ("disk/latest", "->../images/x")],
    [("images/x", True), ("disk", "->/images")],
    [("images/x", True), ("disk/hard", "=>images/x")],
    [("disk/real", True), ("disk/latest", "->real")],
])
def test_links_are_followed(foreign, real, tmp_path, disk, entries):
    archive = oci_image.tar(*((path, disk if what is True else what) for path, what in entries))
    name = f"pull/links-{abs(hash(str(entries)))}:1"
    url = pushed(foreign, real, tmp_path, name, oci_image.Image(archive))
    assert tool("cat", url) == disk


# ---- platforms

def test_an_index_is_chosen_from(foreign, real, tmp_path, disk, other_disk):
    amd64 = oci_image.Image(oci_image.tar(("disk/a", disk)), architecture="amd64")
    arm64 = oci_image.Image(oci_image.tar(("disk/a", other_disk)), architecture="arm64")
    combined = oci_image.index(amd64, arm64)
    for flags, name in ((["--preserve-digests"], "oci"), (["--format", "v2s2"], "docker")):
        url = pushed(foreign, real, tmp_path / name, f"pull/index-{name}:1", amd64, arm64,
                     combined=combined, flags=["--all", *flags])
        raw = foreign.skopeo("inspect", "--tls-verify=false", "--raw", url)
        assert json.loads(raw)["mediaType"].endswith("index.v1+json" if name == "oci"
                                                     else "list.v2+json")
        assert tool("cat", url, platform="amd64") == disk
        assert tool("cat", url, platform="linux/arm64/v8") == other_disk
        assert tool("resolve", url).decode().strip() == oci_image.digest(raw)
        assert tool("cat", url) == (disk if os.uname().machine == "x86_64" else other_disk)
        with pytest.raises(Failure, match="^NOT_FOUND: .*not there for linux/s390x; it is for "
                                          "linux/amd64, linux/arm64"):
            tool("cat", url, platform="s390x")


def test_attestations_beside_an_image_are_passed_over(foreign, real, tmp_path, disk):
    """docker pushes one for each image, for no platform; here it comes first."""
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), architecture="amd64")
    attestation = oci_image.Image(oci_image.tar(("statement.json", b"{}")), architecture="unknown")
    url = pushed(foreign, real, tmp_path, "pull/attested:1", attestation, image,
                 combined=oci_image.index(attestation, image), flags=["--all", "--preserve-digests"])
    assert tool("cat", url, platform="amd64") == disk


def test_one_image_alone_is_for_everyone_who_does_not_ask(foreign, real, tmp_path, disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), architecture="s390x")
    url = pushed(foreign, real, tmp_path, "pull/alone:1", image)
    assert tool("cat", url) == disk
    assert tool("cat", url, platform="s390x") == disk
    with pytest.raises(Failure, match="^NOT_FOUND: .*not there for amd64; it is for s390x only"):
        tool("cat", url, platform="amd64")


# ---- buildah

def test_an_image_that_buildah_built(foreign, real, tmp_path, disk, other_disk):
    source = tmp_path / "disk.img"
    source.write_bytes(other_disk)
    first = foreign.buildah("from", "scratch")
    foreign.buildah("add", "--chown", "107:107", first, source, "/disk/old.img")
    foreign.buildah("config", "--env", "INSTANCETYPE_KUBEVIRT_IO_DEFAULT=u1.small", first)
    foreign.buildah("commit", "--tls-verify=false", first, real.url("pull/buildah:1"))
    assert tool("cat", real.url("pull/buildah:1")) == other_disk
    facts = info(real.url("pull/buildah:1"))
    assert facts["env"]["INSTANCETYPE_KUBEVIRT_IO_DEFAULT"] == "u1.small"

    # A second layer that removes the file of the first, as a container's changes are recorded.
    second = foreign.buildah("from", "--tls-verify=false", real.url("pull/buildah:1"))
    root = foreign.buildah("mount", second)
    os.unlink(os.path.join(root, "disk", "old.img"))
    with open(os.path.join(root, "disk", "new.img"), "wb") as file:
        file.write(disk)
    foreign.buildah("umount", second)
    for format in ("oci", "docker"):
        foreign.buildah("commit", "--tls-verify=false", "--format", format, second,
                        real.url(f"pull/buildah:2-{format}"))
        assert tool("cat", real.url(f"pull/buildah:2-{format}")) == disk

    # … and one that only removes it.
    third = foreign.buildah("from", "--tls-verify=false", real.url("pull/buildah:1"))
    root = foreign.buildah("mount", third)
    os.unlink(os.path.join(root, "disk", "old.img"))
    foreign.buildah("umount", third)
    foreign.buildah("commit", "--tls-verify=false", third, real.url("pull/buildah:3"))
    with pytest.raises(Failure, match="^NOT_FOUND"):
        tool("cat", real.url("pull/buildah:3"))
