# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered, and installed into a real API server by helm."""

import os

import pytest

from chart import CHART, FULL, NAMESPACE, template
from kube import Kube


@pytest.fixture(scope="session")
def rendered():
    """With the chart's own values."""
    status, documents = template()
    assert status == 0, documents
    return documents


@pytest.fixture(scope="session")
def rendered_full():
    status, documents = template(values=FULL)
    assert status == 0, documents
    return documents


@pytest.fixture(scope="session")
def kube():
    return Kube(os.environ["KUBE_DIR"])


@pytest.fixture(scope="session")
def installed(kube):
    """The chart with its own values and a StorageClass. No node is there, so no pod starts."""
    kube.helm("install", "imprint", CHART, "-n", NAMESPACE, "--create-namespace",
              "--set", "storageClasses[0].name=vms,storageClasses[0].parameters.pool=vms")
    kube("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kube("create", "namespace", "golden-images")
    return kube
