#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: malformed frames, oversized messages and garbage, under sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=asan
export LSAN_OPTIONS=suppressions=$ROOT/tests/unit/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
build_preset $PRESET
ceph_ready
pytest_run "$ROOT/tests/hostile"
