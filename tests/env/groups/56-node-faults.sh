#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the node plugin killed behind every step that changes the node, and the call repeated

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=faults
build_preset $PRESET
ceph_ready
pytest_run "$ROOT/tests/node/test_faults.py"
