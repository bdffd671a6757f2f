# SPDX-License-Identifier: Apache-2.0
"""A registry that lies, breaks off and sends nonsense: each case ends with the right bytes or with the
right complaint, and never with other bytes that look complete."""

import json

import pytest

import oci_image
from registry import Failure, info, read_in_steps, tool


@pytest.fixture(params=["none", "gzip", "zstd"])
def served(request, fake, disk):
    """The fake registry with an image of one layer; the layer's digest."""
    archive = oci_image.tar(("etc/before", b"x" * 5000), ("disk/a", disk), ("etc/behind", b"y" * 9000))
    image = fake.add(oci_image.Image(archive, compression=request.param), "latest")
    return fake, image, oci_image.digest(image.layers[0])


def readings(fake, compression_seeks):
    return ["cat", "seek"] if compression_seeks else ["cat"]


def can_seek(image):
    return b"tar+" not in image.manifest


def test_the_fake_one_is_right_when_it_does_not_lie(served, disk):
    fake, image, _ = served
    for command in readings(fake, can_seek(image)):
        assert tool(command, fake.url()) == disk
    # An image of one layer is fetched once, but for what a probe for ranges takes.
    assert fake.count("GET", oci_image.digest(image.layers[0])) <= (1 if not can_seek(image) else 90)


def flip(position):
    def change(data):
        position_now = position % len(data)
        return data[:position_now] + bytes([data[position_now] ^ 1]) + data[position_now + 1:]
    return change


@pytest.mark.parametrize("position", [0, 600, 100_000, 1_000_000, -20_000, -1])
def test_a_byte_that_is_wrong(served, position):
    fake, image, layer = served
    fake.change[layer] = flip(position)
    for command in readings(fake, can_seek(image)):
        with pytest.raises(Failure, match="^(DATA_LOSS|INVALID_ARGUMENT): "):
            tool(command, fake.url())


@pytest.mark.parametrize("kept", [0, 1, 511, 70_000, -1])
def test_a_layer_that_is_too_short(served, kept):
    fake, _, layer = served
    fake.change[layer] = lambda data: data[:kept]
    with pytest.raises(Failure, match="^(DATA_LOSS|INVALID_ARGUMENT): "):
        tool("cat", fake.url())


def test_a_layer_that_is_too_long(served):
    fake, image, layer = served
    fake.change[layer] = lambda data: data + b"z"
    with pytest.raises(Failure, match="^DATA_LOSS: .*longer than"):
        tool("cat", fake.url())
    if can_seek(image):  # it has another size, so it is not read anywhere
        assert info(fake.url())["seek"] == 0


def test_another_layer_altogether(served, fake, other_disk):
    fake, _, layer = served
    other = oci_image.tar(("disk/a", other_disk))
    fake.change[layer] = lambda data: other
    with pytest.raises(Failure, match="^(DATA_LOSS|INVALID_ARGUMENT): "):
        tool("cat", fake.url())


def test_connections_that_break(served, disk):
    fake, _, layer = served
    fake.break_after[layer] = [1000, 300_000, 1_000_000, 10]
    assert tool("cat", fake.url()) == disk
    assert fake.break_after[layer] == []


def test_connections_that_break_without_ranges(served, disk):
    fake, _, layer = served
    fake.has_ranges = False
    fake.break_after[layer] = [1000, 300_000, 1_000_000]
    assert info(fake.url())["seek"] == 0
    fake.break_after[layer] = [1000, 300_000, 1_000_000]
    assert tool("cat", fake.url()) == disk


def test_going_on_without_ranges(fake, tmp_path, disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)), compression="gzip")
    fake.add(image, "latest")
    fake.has_ranges = False
    state = tmp_path / "state"
    pieces = [tool("cat", fake.url(), stop_after=1_000_000, state=state) for _ in range(5)]
    assert b"".join(pieces) == disk


def test_connections_that_always_break(served):
    fake, _, layer = served
    fake.break_after[layer] = [100] * 1000
    with pytest.raises(Failure, match="^(UNAVAILABLE|DATA_LOSS): "):
        tool("cat", fake.url())


def test_a_length_that_is_a_lie(served):
    fake, image, layer = served
    fake.lie_length[layer] = len(image.layers[0]) + 100_000
    with pytest.raises(Failure, match="^(DATA_LOSS|UNAVAILABLE): "):
        tool("cat", fake.url())
    fake.lie_length[layer] = len(image.layers[0]) - 1000
    with pytest.raises(Failure, match="^(DATA_LOSS|UNAVAILABLE): "):
        tool("cat", fake.url())


# ---- documents

def test_a_manifest_that_is_not_the_one_of_its_digest(fake, disk):
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    fake.change[image.digest] = lambda data: data + b" "
    for url in (fake.url(), fake.url(f"t/disk@{image.digest}")):
        with pytest.raises(Failure, match="^DATA_LOSS: .*manifest.*digest"):
            tool("cat", url)


def test_a_registry_that_says_no_digest(fake, disk):
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    fake.has_digest_header = False
    assert info(fake.url())["identity"].startswith(image.digest)
    assert tool("resolve", fake.url()).decode().strip() == image.digest
    fake.has_digest_header = True
    fake.has_head = False
    assert tool("resolve", fake.url()).decode().strip() == image.digest


def test_a_configuration_that_is_wrong(fake, disk):
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk))), "latest")
    fake.change[oci_image.digest(image.config)] = flip(5)
    with pytest.raises(Failure, match="^DATA_LOSS: .*digest"):
        tool("cat", fake.url())
    fake.change[oci_image.digest(image.config)] = lambda data: data[:-1]
    with pytest.raises(Failure, match="^DATA_LOSS: .*bytes, not"):
        tool("cat", fake.url())


@pytest.mark.parametrize("manifest, message", [
    (b"", "INVALID_ARGUMENT: "),
    (b"<html>", "INVALID_ARGUMENT: .*JSON"),
    (b"[" * 100_000, "INVALID_ARGUMENT: .*JSON"),
    (b'{"schemaVersion":1,"fsLayers":[]}', "UNIMPLEMENTED: .*schema 1"),
    (b"{" + b" " * (5 << 20) + b"}", "RESOURCE_EXHAUSTED: .*larger than"),
    (b'{"schemaVersion":2,"config":{"digest":"sha256:' + b"0" * 64 +
     b'","size":99999999999},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar",'
     b'"digest":"sha256:' + b"0" * 64 + b'","size":1}]}', "INVALID_ARGUMENT: .*too large"),
    (b'{"schemaVersion":2,"config":{"digest":"sha256:' + b"0" * 64 +
     b'","size":9},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar",'
     b'"digest":"sha256:' + b"0" * 64 + b'","size":1}]}', "NOT_FOUND: "),
], ids=["empty", "html", "deep", "schema 1", "large", "large config", "no config"])
def test_manifests_that_make_no_sense(fake, manifest, message):
    fake.manifests["latest"] = (oci_image.MANIFEST, manifest)
    with pytest.raises(Failure, match="^" + message):
        tool("cat", fake.url())


def test_indexes_in_circles(fake):
    """Of bytes that name their own digest there are none; a long chain does the same."""
    data = b'{"schemaVersion":2,"manifests":[]}'
    for _ in range(10):
        fake.manifests[oci_image.digest(data)] = (oci_image.INDEX, data)
        entry = oci_image.descriptor(oci_image.INDEX, data,
                                     platform={"os": "linux", "architecture": "amd64"})
        data = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    fake.add_index(data, "latest")
    with pytest.raises(Failure, match="^INVALID_ARGUMENT: .*lead on and on"):
        tool("cat", fake.url(), platform="amd64")


def test_a_layer_that_is_too_large_to_be_true(fake, disk):
    image = oci_image.Image(oci_image.tar(("disk/a", disk)))
    manifest = json.loads(image.manifest)
    manifest["layers"][0]["size"] = 1 << 62
    fake.add(image)
    fake.manifests["latest"] = (oci_image.MANIFEST, json.dumps(manifest).encode())
    with pytest.raises(Failure, match="^DATA_LOSS: .*ends after"):
        tool("cat", fake.url())


def test_a_disk_that_is_larger_than_its_layer(fake):
    archive = bytearray(oci_image.tar(("disk/a", b"x" * 1000)))
    archive[124:136] = b"77777777777\0"
    archive[148:156] = b" " * 8
    archive[148:156] = b"%06o\0 " % sum(archive[:512])
    for compression in ("none", "gzip"):
        image = oci_image.Image(bytes(archive), compression=compression)
        fake.add(image, "latest")
        with pytest.raises(Failure, match="^DATA_LOSS: "):
            tool("cat", fake.url())


def test_a_bomb_beside_the_disk(fake):
    """Much that is nothing, in front of a disk: it is passed over, and memory stays small."""
    image = fake.add(oci_image.Image(oci_image.tar(("etc/zeros", bytes(300 << 20)), ("disk/a", b"d"))),
                     "latest")
    assert len(image.layers[0]) < 4 << 20
    assert tool("cat", fake.url()) == b"d"


# ---- the rest

def test_tags_come_in_pages(fake):
    fake.tags = sorted(f"v{i}" for i in range(50))
    assert tool("tags", fake.url()).decode().split() == fake.tags
    fake.tags = []
    assert tool("tags", fake.url()) == b""


def test_what_is_no_registry(fake):
    fake.challenge = None
    with pytest.raises(Failure, match="^(UNAVAILABLE|NOT_FOUND): "):
        tool("cat", "docker://127.0.0.1:1/t/disk:latest")
    with pytest.raises(Failure, match="^NOT_FOUND: "):
        tool("cat", fake.url("t/none:latest"))


# ---- types that are wrong

@pytest.mark.parametrize("said, compression", [
    ("gzip", "none"), ("none", "gzip"), ("gzip", "zstd"), ("none", "zstd frames"), ("gzip", "xz")])
def test_a_layer_is_what_its_bytes_are(fake, tmp_path, disk, said, compression):
    """Whatever its type says: the digest proves that these are the bytes that are meant."""
    archive = oci_image.tar(("etc/before", b"x" * 5000), ("disk/a", disk), ("etc/behind", b"y" * 9000))
    below = oci_image.tar(("etc/below", b"z"))
    image = fake.add(oci_image.Image(below, archive, compression=compression, said=said), "latest")
    url = "oci-archive:" + oci_image.archive(tmp_path / "image.tar",
                                             oci_image.layout(tmp_path / "layout", image))
    assert tool("seek" if compression == "none" else "cat", fake.url()) == disk
    assert info(url)["seek"] == (compression == "none")
    assert read_in_steps(url, tmp_path, 1_800_000)[0] == disk


def test_a_wrong_type_does_not_excuse_wrong_bytes(fake, disk):
    image = fake.add(oci_image.Image(oci_image.tar(("disk/a", disk)), compression="zstd", said="gzip"), "latest")
    fake.change[oci_image.digest(image.layers[0])] = flip(-100)
    with pytest.raises(Failure, match="^DATA_LOSS: "):
        tool("cat", fake.url())


def test_a_layer_that_is_nothing_is_judged_by_its_type(fake):
    for said, word in (("gzip", "gzip"), ("zstd", "zstd"), ("none", "tar")):
        fake.add(oci_image.Image(b"no archive at all" * 100, compression="none", said=said), "latest")
        with pytest.raises(Failure, match=f"^(DATA_LOSS|INVALID_ARGUMENT): .*{word}"):
            tool("cat", fake.url())
