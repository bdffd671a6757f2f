#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: under ThreadSanitizer: the unit tests, and the whole controller with mixed calls on a real Ceph

source "$(dirname "$(realpath "$0")")/../env.sh"

build_preset tsan
ctest_run tsan -L '^(unit|tsan)$'
ceph_ready
pytest_run "$ROOT/tests/tsan"
