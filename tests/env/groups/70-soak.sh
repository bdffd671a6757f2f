#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: 200 mixed calls at once for a minute (SOAK_SECONDS): every answer right, no growth, nothing left

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=release
build_preset release imprint-controller
ceph_ready
pytest_run "$ROOT/tests/soak"
