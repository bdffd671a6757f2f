# SPDX-License-Identifier: Apache-2.0
"""The API server that the group started (tests/env/kube.sh), killed and started."""

import os
import subprocess

KUBE_SH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "env", "kube.sh"))


def _do(function):
    subprocess.run([KUBE_SH, function, os.environ["KUBE_DIR"]], check=True, stdout=subprocess.DEVNULL)


def stop_api_server():
    _do("kube_stop_apiserver")


def start_api_server():
    """It serves."""
    _do("kube_start_apiserver")


def restart_api_server():
    _do("kube_restart_apiserver")
