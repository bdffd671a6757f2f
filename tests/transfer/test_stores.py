# SPDX-License-Identifier: Apache-2.0
"""How an S3 store is told of: buckets in the path or in the host's name, by a flag or by the environment;
and buckets that keep every version."""

import pytest

import imprint as command
import s3_store
from images import MIB
from imprint import Imprint

BUCKET = "versions"
KEY = "a b/ü+%41.raw"
CONTENT = b"2" * (3 * MIB)


@pytest.fixture(scope="module")
def versions(s3):
    """A bucket with two versions of an object."""
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    for content in (b"1" * MIB, CONTENT):
        s3.put_object(Bucket=BUCKET, Key=KEY, Body=content)


WAYS = {
    # name: (host of the endpoint, flags, environment, whether the bucket is in the host's name)
    "by address": ("127.0.0.1", [], {}, False),
    "by host": ("s3.localhost", [], {}, False),
    "flag": ("s3.localhost", ["--s3-host-style"], {}, True),
    "environment": ("s3.localhost", [], {"IMPRINT_S3_HOST_STYLE": "true"}, True),
    "both": ("s3.localhost", ["--s3-path-style"], {"IMPRINT_S3_HOST_STYLE": "true"}, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_bucket_is_where_it_was_said(cluster, pool, imprint, store, versions, name, image, way):
    host, flags, environment, is_in_host = WAYS[way]
    with s3_store.through(store, lambda request, body: body) as server:
        endpoint = server.url("", host=host)
        done = imprint.run("import", f"s3://{BUCKET}/{KEY}", image, "--allow-local-addresses", *flags,
                           environment={**environment, "AWS_ENDPOINT_URL": endpoint})
        seen = {(request.headers["host"].startswith(f"{BUCKET}."),
                 request.target.startswith(f"/{BUCKET}/")) for request in server.requests}
    assert done.status == command.DONE, done
    assert seen == {(is_in_host, not is_in_host)}
    with cluster.image(pool, name, read_only=True) as opened:
        assert opened.read(0, 3 * MIB) == CONTENT


def test_keys_are_where_other_programs_keep_them(cluster, store, versions, tmp_path):
    """In a file of profiles, which only a person's command looks at; and variables that are more particular."""
    other = tmp_path / "keys"
    home = tmp_path / ".aws" / "credentials"
    home.parent.mkdir()
    lines = f"""aws_access_key_id = {store['access_key']}
        aws_secret_access_key={store['secret_key']}\n"""
    home.write_text(f"# mine\n[default]\n{lines}[x]\naws_access_key_id = y\n")
    other.write_text(f"[default]\naws_access_key_id=no\naws_secret_access_key=no\n[other]\n{lines}")
    mine = Imprint(cluster, {"HOME": str(tmp_path), "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
                             "AWS_ENDPOINT_URL_S3": store["plain"], "AWS_DEFAULT_REGION": "default"})
    for environment, status in (
            ({}, command.DONE),
            ({"AWS_SHARED_CREDENTIALS_FILE": str(other), "AWS_PROFILE": "other"}, command.DONE),
            ({"AWS_SHARED_CREDENTIALS_FILE": str(other)}, command.NOT_ALLOWED),
            ({"AWS_PROFILE": "none"}, command.NOT_ALLOWED)):
        done = mine.run("inspect", f"s3://{BUCKET}/{KEY}", "--allow-local-addresses",
                        environment=environment)
        assert done.status == status, done
        assert store["secret_key"] not in done.stderr
    done = mine.run("inspect", f"s3://{BUCKET}/{KEY}", "--allow-local-addresses", "--retries=1",
                    "--s3-endpoint=http://127.0.0.1:1")
    assert done.status == command.UNREACHABLE


def test_a_new_version_amid_an_import(cluster, pool, imprint, store, s3, versions, name, image):
    """The object that was begun with is the one that is gone on with, or none."""
    key = "replaced.raw"
    s3.put_object(Bucket=BUCKET, Key=key, Body=b"1" * (24 * MIB))
    gets = []

    def replace(request, _):
        if request.method == "GET":
            gets.append(request)
            if len(gets) == 4:
                s3.put_object(Bucket=BUCKET, Key=key, Body=b"3" * (24 * MIB))
        return False

    with s3_store.through(store, lambda request, body: body, before=replace) as server:
        done = imprint.run("import", f"s3://{BUCKET}/{key}", image, "--allow-local-addresses", "--jobs",
                           "1", environment={"AWS_ENDPOINT_URL": server.url("", host="127.0.0.1")})
    assert done.status == command.WRONG_STATE and "changed" in done.stderr, done
    assert name not in cluster.images(pool)
