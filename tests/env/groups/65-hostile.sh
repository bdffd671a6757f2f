#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: malformed frames, lying messages and too many connections, under the sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

build_preset asan imprint-controller imprint-node
ceph_ready
pytest_run "$ROOT/tests/hostile"
