# SPDX-License-Identifier: Apache-2.0
"""Two virtual machines for all tests of this folder, and a controller beside the Ceph; behind every
test the machines have nothing mapped or mounted."""

import concurrent.futures
import os

import pytest

import volumes
from controller import Controller
from guest import Guest


@pytest.fixture(scope="session")
def control(cluster, tmp_path_factory):
    with Controller(cluster.dir, tmp_path_factory.mktemp("controller")) as running:
        with running.client() as connected:
            yield connected


@pytest.fixture(scope="session")
def guests(cluster, tmp_path_factory):
    made = [Guest(os.environ["GUEST_FILES"], cluster.dir, number,
                  tmp_path_factory.mktemp(f"guest-{number}")) for number in (1, 2)]
    try:
        with concurrent.futures.ThreadPoolExecutor() as threads:  # without KVM, booting takes a while
            list(threads.map(Guest.start, made))
        yield made
    finally:
        for guest in made:
            guest.power_cut()


@pytest.fixture(autouse=True)
def emptied(request, cluster):
    yield
    if "guests" in request.fixturenames:
        for guest in request.getfixturevalue("guests"):
            assert guest.leftovers() == []
    volumes.delete_all(request.getfixturevalue("control"))
    volumes.assert_nothing_left(cluster)
