#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: many mixed calls at once, kills at random, memory from round to round

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=release
build_preset $PRESET
ceph_ready
pytest_run "$ROOT/tests/soak"
