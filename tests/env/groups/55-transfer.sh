#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the imprint command: images of every kind in and out, from and to every place, and killed on the way

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=release
build_preset $PRESET
ceph_ready
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
pytest_run "$ROOT/tests/transfer"
