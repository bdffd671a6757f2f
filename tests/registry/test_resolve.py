# SPDX-License-Identifier: Apache-2.0
"""`imprint resolve`: which version is behind a URL."""

import json

import pytest

import imprint as command
import oci_image
from fault_server import FaultServer, File
from images import MIB

FLAGS = ["--json", "--insecure-registry", "--allow-local-addresses"]


@pytest.fixture(scope="module")
def digests(real, foreign, tmp_path_factory):
    """An image for each of several tags."""
    found = {}
    for seed, tag in enumerate(("latest", "v9.1", "v10.0.0-rc.1", "v10.0.0", "devel")):
        image = oci_image.Image(oci_image.tar(("disk/d.img", oci_image.make_disk(seed, 100_000))))
        layout = oci_image.layout(tmp_path_factory.mktemp("resolve") / "layout", image)
        foreign.copy(f"oci:{layout}:latest", real.url(f"versions:{tag}"))
        found[tag] = image.digest
        if tag == "latest":
            foreign.copy(f"oci:{layout}:latest", real.url("plain:latest"))
    return found


def resolve(imprint, url, *flags):
    done = imprint.run("resolve", url, *FLAGS, *flags)
    assert done.status == command.DONE, done
    return json.loads(done.stdout)


def test_a_tag_is_a_digest(imprint, real, digests):
    for tag, digest in digests.items():
        assert resolve(imprint, real.url(f"versions:{tag}")) == {
            "identity": digest, "tag": tag, "url": real.url(f"versions@{digest}")
        }


def test_without_a_tag_it_is_the_highest_version(imprint, real, digests):
    assert resolve(imprint, real.url("versions"))["tag"] == "v10.0.0"
    assert resolve(imprint, real.url("plain"))["identity"] == digests["latest"]


def test_other_servers_tell_by_their_headers_and_nothing_is_fetched(imprint):
    def handle(request, reply):
        status, headers, body = running.file.answer(request)
        reply.head(status, headers)
        if request.method != "HEAD":
            reply.send(body)

    with FaultServer(handle) as running:
        running.file = File(size=8 * MIB, seed=1, etag='"one"')
        first = resolve(imprint, running.url())
        assert resolve(imprint, running.url()) == first and set(first) == {"identity"}
        running.file = File(size=8 * MIB, seed=1, etag='"two"')
        assert resolve(imprint, running.url()) != first
        done = imprint.run("inspect", running.url(), "--identity", first["identity"], *FLAGS)
        assert done.status != 0 and "has changed since" in done.stderr, done
        now = resolve(imprint, running.url())["identity"]
        assert imprint.run("inspect", running.url(), "--identity", now, *FLAGS).status == 0
        assert running.sent < 2 * MIB


def test_failures_are_told(imprint, real, digests):
    for url, status in ((real.url("versions:none"), command.NOT_FOUND),
                        (real.url("nothing"), command.NOT_FOUND)):
        done = imprint.run("resolve", url, *FLAGS)
        assert done.status == status and url.rsplit(":", 1)[0] in done.stderr, done
