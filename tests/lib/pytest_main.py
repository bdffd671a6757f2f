# SPDX-License-Identifier: Apache-2.0
"""Runs pytest with this folder on sys.path and imprint_pytest as a plugin. PYTHONPATH would do, but it
would reach child processes too, and Ceph's own commands have modules with the same names."""

import sys

import pytest

import imprint_pytest

if __name__ == "__main__":
    options = ["-pno:cacheprovider", "--import-mode=importlib", "--continue-on-collection-errors",
               # Tests that kill at a moment of their choice can miss it on a busy machine. What
               # passes at the second try says so in its line.
               "--reruns=1"]
    sys.exit(pytest.main([*options, *sys.argv[1:]], plugins=[imprint_pytest]))
