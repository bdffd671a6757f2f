#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: files from bad servers, redirects, proxies, nginx and radosgw, under the sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=asan
build_preset $PRESET
ceph_ready
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
pytest_run "$ROOT/tests/http"
