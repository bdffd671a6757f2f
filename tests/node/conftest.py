# SPDX-License-Identifier: Apache-2.0
"""One controller for all tests of this folder; a node of its own for each.

Behind every test nothing may be left of it on the machine, nor in Ceph; at the end all that the
nodes logged, and the command lines of what they ran, are searched for keys."""

import configparser
import os

import pytest

import volumes
from controller import Controller
from node import Node


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
    with Controller(cluster.dir, tmp_path_factory.mktemp("controller")) as running:
        yield running


@pytest.fixture(scope="session")
def control(controller):
    """The controller's client."""
    with controller.client() as connected:
        yield connected


@pytest.fixture
def node(cluster):
    with Node(cluster.dir, arguments=["--log-level", "debug"]) as running:
        yield running
        assert running.leftovers() == []
    for key in keys_in(cluster.dir):
        assert key not in running.log_text(), "a Ceph key is in the log"


@pytest.fixture
def client(node):
    with node.client() as connected:
        yield connected


@pytest.fixture(autouse=True)
def emptied(request, cluster):
    """What a test made goes, and nothing of it is left."""
    yield
    if "control" in request.fixturenames:
        volumes.delete_all(request.getfixturevalue("control"))
        volumes.assert_nothing_left(cluster)


@pytest.fixture
def create(control):
    """create(name, …): a volume."""
    return lambda name, size=64 * volumes.MIB, **more: volumes.create(control, name, size, **more)
