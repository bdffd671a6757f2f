# SPDX-License-Identifier: Apache-2.0
"""One controller for all tests of this folder, logging as much as it can, and an empty pool for
each.

Everything that a test leaves is deleted through the driver itself behind it, and then nothing may
be left in Ceph. At the end all that the controller logged is searched for secrets."""

import configparser
import os

import pytest

import volumes
from controller import Controller


def keys_in(folder):
    """Every key of the cluster's keyrings."""
    keys = set()
    for name in ("keyring", "imprint.keyring"):
        keyring = configparser.ConfigParser(strict=False)
        with open(os.path.join(folder, name), encoding="ascii") as file:
            keyring.read_string(file.read().replace("\t", ""))
        keys |= {section["key"] for section in keyring.values() if "key" in section}
    assert len(keys) >= 4
    return keys


@pytest.fixture(scope="session")
def controller(cluster, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("controller")
    with Controller(cluster.dir, workdir, arguments=["--log-level", "debug"]) as running:
        yield running
    for key in keys_in(cluster.dir):
        assert key not in running.log_text(), "a Ceph key is in the log"


@pytest.fixture(scope="session")
def client(controller):
    with controller.client() as connected:
        yield connected


@pytest.fixture(autouse=True)
def emptied(request, cluster):
    """What a test made goes, and nothing of it is left."""
    yield
    if "client" not in request.fixturenames:
        return
    volumes.delete_all(request.getfixturevalue("client"))
    volumes.assert_nothing_left(cluster)
