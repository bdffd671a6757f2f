#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the controller beside ceph-csi and bare librbd on one Ceph [--quick] [--rounds N] [--json]
#
# Every subject has a pool of its own, so that none lists or frees what is another's. ceph-csi comes from
# $IMPRINT_PEERS, by default ../shared/peers beside the checkout; see cephcsi.sh there.

source "$(dirname "$(realpath "$0")")/../tests/env/env.sh"

PEERS=${IMPRINT_PEERS:-$ROOT/../shared/peers}
export FLOOR_POOL=bench-floor

pools() {
  ceph_pool "$CEPH_DIR" "$FLOOR_POOL"
  ceph_real_pace "$CEPH_DIR" # the times are those of a Ceph as people run it
}

# The peer's own script: all that it writes is in PEER_DIR.
peer_script() {
  WORK=$PEER_DIR CEPH_DIR=$CEPH_DIR POOL=$PEER_POOL "$PEERS/cephcsi.sh" "$@"
}

peer_start() {
  mkdir -p "$PEER_DIR/pids"
  ceph_pool "$CEPH_DIR" "$PEER_POOL"
  signals_hold
  peer_script start
  process_record "$PEER_DIR/pids" ceph-csi "$(peer_script pid)"
  signals_release
}

build_preset release
ceph_ready
step 'Prepare pools' pools
at_exit controller_stop "$CEPH_DIR"
step 'Start imprint-controller' controller_start "$CEPH_DIR" release
process_pid "$CEPH_DIR/pids" controller
export CONTROLLER_PID=$REPLY
if [[ -x $PEERS/cephcsi.sh ]]; then
  export PEER_DIR=$SCRATCH/peer PEER_POOL=bench-ceph-csi
  at_exit process_stop "$PEER_DIR/pids" ceph-csi
  step 'Start ceph-csi' peer_start
  process_pid "$PEER_DIR/pids" ceph-csi
  export PEER_PID=$REPLY
else
  echo "  ceph-csi is left out: there is no $PEERS/cephcsi.sh; IMPRINT_PEERS says where else" >&2
fi
process_must compare "$PYTHON" "$ROOT/bench/compare" "$@"
