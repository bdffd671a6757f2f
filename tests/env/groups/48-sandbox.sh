#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: NBD, RBD and foreign formats as sources; a program in a sandbox does its work and tries to get out

source "$(dirname "$(realpath "$0")")/../env.sh"

ceph_ready
# The build with sanitizers looks at the code; what is shipped, and shut in tighter, is the other one.
export PRESET=release
build_preset $PRESET
pytest_run "$ROOT/tests/sandbox" "$ROOT/tests/disk/test_spool.py"
export PRESET=asan
build_preset $PRESET
pytest_run "$ROOT/tests/sandbox" "$ROOT/tests/disk"
