# SPDX-License-Identifier: Apache-2.0
"""What the tests here share: the command, a store, a web server, and a disk to carry about."""

import itertools

import pytest

import s3_store
from certificates import Authority
from images import MIB, fill
from imprint import Imprint
from nginx import Nginx
from places import BUCKET, Places


@pytest.fixture(scope="session")
def store():
    return s3_store.load()


@pytest.fixture(scope="session")
def s3(store):
    client = s3_store.client_of(store)
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture(scope="session")
def nginx(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    certificate = authority.issue("nginx", "IP:127.0.0.1")
    with Nginx(tmp_path_factory.mktemp("nginx"), certificate) as server:
        server.authority = authority
        yield server


@pytest.fixture(scope="session")
def imprint(cluster, store):
    """The command, with what it needs to know of the store in its environment."""
    return Imprint(cluster, {
        "AWS_ENDPOINT_URL": store["plain"],
        "AWS_ACCESS_KEY_ID": store["access_key"],
        "AWS_SECRET_ACCESS_KEY": store["secret_key"],
    })


@pytest.fixture(scope="session")
def places(s3, nginx):
    return Places(s3, nginx)


@pytest.fixture(scope="session")
def numbers():
    return itertools.count(1)


@pytest.fixture
def name(numbers):
    """Of an image, an object, a file: unlike any other."""
    return f"t{next(numbers)}"


@pytest.fixture
def image(cluster, pool, name):
    """POOL/NAME for an import; whatever is of that name afterwards is removed."""
    yield f"{pool}/{name}"
    cluster.remove_image(pool, name)


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    """A raw disk with data of every kind in it; its last cluster is not a whole one."""
    return fill(tmp_path_factory.mktemp("disk") / "disk.raw", 80 * MIB + 512 * 5, pieces=120)
