#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: malformed frames, oversized messages and garbage, under sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=asan
build_preset $PRESET
ceph_ready
pytest_run "$ROOT/tests/hostile"
