#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the node plugin on a real Ceph, with the mapper that needs no kernel module: csi-sanity and more

source "$(dirname "$(realpath "$0")")/../env.sh"

sanity_build() {
  gotool sanity csi-sanity github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity
  CSI_SANITY=$REPLY
}

# sanity_run: reports a case each spec.
sanity_run() {
  local log=$SCRATCH/log/sanity.log
  suite_begin
  process_run csi-sanity "$PYTHON" "$ROOT/tests/node/sanity.py" "$CSI_SANITY" 2>"$log"
  suite_end csi-sanity "$log"
}

export PRESET=release
build_preset $PRESET
step 'Build csi-sanity' sanity_build
ceph_ready
sanity_run
pytest_run "$ROOT/tests/node" --ignore "$ROOT/tests/node/test_faults.py"
