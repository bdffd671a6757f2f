#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: kill -9 after every Ceph call, the OSD stopped under load, SIGTERM in flight

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=faults
build_preset $PRESET
ceph_ready
pytest_run "$ROOT/tests/faults"
