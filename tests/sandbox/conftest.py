# SPDX-License-Identifier: Apache-2.0
"""What the tests of the sandbox share: the probe inside and outside, and those whom it tries to reach."""

import socket

import pytest

from sandbox import CONTAINER, Listener, run_probe


@pytest.fixture(scope="session")
def probe():
    """probe(OPTION..., ATTEMPT, ARGUMENT...): the outcome inside the sandbox."""
    return run_probe


@pytest.fixture(scope="session")
def outside():
    """The same without a sandbox: what an attempt comes to when nothing hinders it."""
    def run(*arguments, **options):
        return run_probe("--outside", *arguments, **options)
    return run


@pytest.fixture(scope="session")
def container():
    """A command that runs another one under the filter that containers have."""
    return CONTAINER


@pytest.fixture
def listener():
    here = Listener()
    yield here
    here.close()


@pytest.fixture
def other_listener():
    here = Listener()
    yield here
    here.close()


@pytest.fixture
def receiver():
    """A UDP socket; received() is what has come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 0))
        here.settimeout(0.2)
        here_address = here.getsockname()

        class Receiver:
            host, port = here_address

            @staticmethod
            def received():
                try:
                    return here.recv(100)
                except TimeoutError:
                    return None
        yield Receiver()
