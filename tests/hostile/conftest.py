# SPDX-License-Identifier: Apache-2.0
"""A controller and a node plugin, built with AddressSanitizer and UndefinedBehaviorSanitizer, that
every test of this folder attacks.

Behind each test both must live, answer, and have let go of every connection. At the end they must
leave in order: then LeakSanitizer has found nothing either."""

import os
import types

import pytest

import volumes
import wire_fields
from controller import ROOT, Controller
from node import Node

SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:quarantine_size_mb=32",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LSAN_OPTIONS": f"suppressions={ROOT}/tests/unit/lsan.supp:print_suppressions=0",
}
COMPLAINTS = ("Sanitizer", "runtime error:", "Assertion")


@pytest.fixture(scope="session")
def controller(cluster, tmp_path_factory):
    with Controller(cluster.dir, tmp_path_factory.mktemp("controller"), preset="asan",
                    environment=SANITIZERS) as running:
        with running.client() as client:
            volumes.listed_volumes(client)  # from here on it has its connections to Ceph
        yield running
    assert_no_complaint(running)


@pytest.fixture(scope="session")
def node(cluster):
    with Node(cluster.dir, preset="asan", environment=SANITIZERS) as running:
        with running.client() as client, volumes.refused(volumes.CODES.NOT_FOUND):
            client.NodeStageVolume(volume_id=f"1:{volumes.CLUSTER_ID}:1::none",
                                   staging_target_path=running.staging("none"),
                                   volume_capability=volumes.capability())
        yield running
    assert_no_complaint(running)


def assert_no_complaint(process):
    lines = [line for line in process.log_text().splitlines()
             if any(word in line for word in COMPLAINTS)]
    assert not lines, "\n".join(lines)


@pytest.fixture(scope="session")
def subjects(controller, node):
    """What is attacked, by name."""
    return {
        "controller": types.SimpleNamespace(
            process=controller, socket=controller.socket, probe="/csi.v1.Identity/Probe",
            methods=wire_fields.methods_of("Identity", "Controller")),
        "node": types.SimpleNamespace(
            process=node, socket=node.socket, probe="/csi.v1.Identity/Probe",
            methods=wire_fields.methods_of("Identity", "Node")),
        "registration": types.SimpleNamespace(
            process=node, socket=node.registration_socket,
            probe="/pluginregistration.Registration/GetInfo", methods={}),
    }


def files_of(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@pytest.fixture
def subject(request, subjects):
    """One of them, as the test is parametrized."""
    return subjects[request.param]


@pytest.fixture(autouse=True)
def unharmed(controller, node):
    """Both live, answer at once, and hold no more files open than before."""
    before = {process: files_of(process) for process in (controller, node)}
    yield
    for process, count in before.items():
        assert process.is_running(), f"it ended:\n{process.log_tail()}"
        with process.client() as client:
            client.wait_ready(10)
            assert client.Probe(timeout=10).ready.value
        # a few come and go with Ceph's own connections
        assert volumes.wait_until(lambda: files_of(process) <= count + 8, 20), (
            f"{count} files were open, now {files_of(process)}")
        assert_no_complaint(process)


@pytest.fixture
def client(controller):
    with controller.client() as connected:
        yield connected


@pytest.fixture
def emptied(cluster, client):
    """What the requests of a test made goes, and nothing of it is left."""
    yield
    volumes.delete_all(client)
    volumes.assert_nothing_left(cluster)
