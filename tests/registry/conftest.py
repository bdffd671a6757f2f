# SPDX-License-Identifier: Apache-2.0
"""What the tests of registries share: a real registry, a disk, skopeo and buildah."""

import pytest

import oci_image
from fake_registry import FakeRegistry
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
