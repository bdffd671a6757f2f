#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the CSI services against a real Ceph: csi-sanity, and what it does not ask

source "$(dirname "$(realpath "$0")")/../env.sh"

# sanity_run: csi-sanity on the controller that runs in CEPH_DIR. Specs of the node service belong to another program.
sanity_run() {
  local log=$SCRATCH/log/sanity.log parameters=$SCRATCH/parameters.yaml junit=$SCRATCH/sanity.xml
  printf 'clusterID: %s\npool: %s\n' "$CLUSTER_ID" "$POOL" >"$parameters"
  suite_begin
  process_run csi-sanity case_output "$log" "$CSI_SANITY" -csi.endpoint "unix://$CEPH_DIR/csi.sock" \
    -csi.testvolumeparameters "$parameters" -csi.junitfile "$junit" -ginkgo.no-color \
    -ginkgo.skip 'Node Service'
  junit_report "$junit" '^(?!.*Node Service)'
  suite_end csi-sanity "$log"
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
