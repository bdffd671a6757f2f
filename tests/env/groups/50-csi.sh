#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the CSI services against a real Ceph: csi-sanity, and what it does not ask

source "$(dirname "$(realpath "$0")")/../env.sh"

# sanity_run: csi-sanity on the controller in CEPH_DIR. The specs of the node service belong to
# another program.
sanity_run() {
  local log=$SCRATCH/log/sanity.log parameters=$SCRATCH/parameters.yaml junit=$SCRATCH/sanity.xml
  printf 'clusterID: %s\npool: %s\n' "$CLUSTER_ID" "$POOL" >"$parameters"
  process_start "$SCRATCH/pids" node "$SCRATCH/log/node.log" \
    "$PYTHON" "$ROOT/tests/lib/node_stand_in.py" "$SCRATCH/node.sock" "$CEPH_DIR/csi.sock"
  suite_begin
  process_run csi-sanity case_output "$log" "$CSI_SANITY" \
    -csi.endpoint "unix://$SCRATCH/node.sock" \
    -csi.testvolumeparameters "$parameters" -csi.junitfile "$junit" -ginkgo.no-color \
    -ginkgo.skip 'Node Service'
  junit_report "$junit" --keep '^(?!.*Node Service)'
  suite_end csi-sanity "$log"
  process_stop "$SCRATCH/pids" node
}

sanity_build() {
  gotool sanity csi-sanity github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity
  CSI_SANITY=$REPLY
}

build_preset release
step 'Build csi-sanity' sanity_build
ceph_ready
at_exit controller_stop "$CEPH_DIR"
step 'Start imprint-controller' controller_start "$CEPH_DIR" release
sanity_run
case_run 'controller stops by itself' controller_stop "$CEPH_DIR"
pytest_run "$ROOT/tests/csi"
