#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: volumes on a node, by each mapper, beside the same device made by hand and bare librbd [--quick] [--rounds N] [--only TEXT] [--json]

# krbd and nbd need a kernel that has them: a virtual machine, which reaches Ceph in a network of its
# own. Figures of it are slow, as there is no KVM; ratios are of one machine each.

source "$(dirname "$(realpath "$0")")/../tests/env/env.sh"
source "$ROOT/tests/env/guest.sh"

if [[ -z ${BENCH_NETWORK:-} ]]; then
  step "Fetch Debian's kernel" debian_kernel # while there is a way to the packages
  process_must network env BENCH_NETWORK=10.99.0.1 unshare --net bash "$0" "$@"
  exit
fi

GUEST_PROGRAMS+=(/usr/bin/fio /usr/sbin/blockdev)

network_up() {
  ip link set lo up
  ip link add br0 type bridge
  ip addr add "$BENCH_NETWORK/24" dev br0
  ip link set br0 up
  ip tuntap add tap1 mode tap
  ip link set tap1 master br0 up
}

ceph_for_bench() {
  ceph_up "$CEPH_DIR" "$BENCH_NETWORK"
  ceph_pool "$CEPH_DIR" "$POOL" "$NAMESPACE"
  imprint_config "$CEPH_DIR" "$CLUSTER_ID"
}

export PRESET=release CEPH_DIR=$SCRATCH/ceph CEPH_CONF=$SCRATCH/ceph/ceph.conf
export GUEST_FILES=$SCRATCH/guest
build_preset $PRESET imprint-controller imprint-node
step 'Make a network' network_up
step 'Make a machine' guest_files "$PRESET" "$GUEST_FILES"
at_exit ceph_down "$CEPH_DIR"
step 'Start Ceph' ceph_for_bench
process_must compare "$PYTHON" "$ROOT/bench/node" "$@"
