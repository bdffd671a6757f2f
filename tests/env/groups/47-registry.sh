#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: container disks out of registries and archives, and into them, with skopeo and buildah as judges

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=asan
export LSAN_OPTIONS=suppressions=$ROOT/tests/unit/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
build_preset $PRESET
ceph_ready
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
pytest_run "$ROOT/tests/registry"
