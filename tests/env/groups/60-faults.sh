#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: kill -9 behind every Ceph call and at random, and what a kill inside of librbd leaves

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=release
build_preset release imprint-controller
build_preset faults imprint-controller imprint
ceph_ready
pytest_run "$ROOT/tests/faults"
