# SPDX-License-Identifier: Apache-2.0
"""What the tests of registries share: a real registry, a disk, skopeo and buildah."""

import pytest

import oci_image
import s3_store
from fake_registry import FakeRegistry
from imprint import Imprint
from registry import Foreign, Registry


@pytest.fixture(scope="session")
def disk():
    """3 MiB and a bit: no multiple of anything."""
    return oci_image.make_disk(1, (3 << 20) + 777)


@pytest.fixture(scope="session")
def other_disk():
    return oci_image.make_disk(2, 200_001)


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """A registry that everyone may use."""
    with Registry(tmp_path_factory.mktemp("registry") / "r") as running:
        yield running


@pytest.fixture(scope="session")
def foreign(tmp_path_factory):
    return Foreign(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def fake():
    with FakeRegistry() as running:
        yield running


@pytest.fixture(scope="session")
def store():
    return s3_store.load()


@pytest.fixture(scope="session")
def s3(store):
    """A foreign client of the S3 store, in which there is a bucket."""
    client = s3_store.client_of(store)
    client.create_bucket(Bucket="inspect")
    return client


@pytest.fixture(scope="session")
def imprint(cluster, store):
    """The command; leaks are looked for."""
    return Imprint(cluster, {
        "AWS_ENDPOINT_URL": store["plain"],
        "AWS_ACCESS_KEY_ID": store["access_key"],
        "AWS_SECRET_ACCESS_KEY": store["secret_key"],
    }, has_sandbox=False)


@pytest.fixture(scope="session")
def sandboxed(cluster):
    """The command as people run it: what its sandbox keeps from it, it does not get."""
    return Imprint(cluster)
