#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: krbd and rbd-nbd on a real kernel, in two virtual machines without KVM

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/guest.sh"

# ---- outside, where packages can be fetched ------------------------------------------------------

outside() {
  build_preset $PRESET
  build_preset faults imprint-node
  step "Fetch Debian's kernel" debian_kernel
  process_must network env VM_NETWORK=10.99.0.1 VM_US=10.99.0.254 unshare --net "$0"
}

# ---- a network of its own ------------------------------------------------------------------------
# The kernel's client insists on the address by which the monitors know themselves, so Ceph listens
# where the machines reach it. The tests have another address: a machine that is cut off from Ceph
# is still theirs.

network_up() {
  local number
  ip link set lo up
  ip link add br0 type bridge
  ip addr add "$VM_NETWORK/24" dev br0
  ip addr add "$VM_US/24" dev br0
  ip link set br0 up
  for number in 1 2; do
    ip tuntap add "tap$number" mode tap
    ip link set "tap$number" master br0 up
    ip route add "10.99.0.1$number/32" dev br0 src "$VM_US"
  done
}

ceph_for_guests() {
  ceph_up "$CEPH_DIR" "$VM_NETWORK"
  ceph_pool "$CEPH_DIR" "$POOL" "$NAMESPACE"
  ceph_pool "$CEPH_DIR" "$DATA_POOL"
  imprint_config "$CEPH_DIR" "$CLUSTER_ID"
}

inside() {
  export CEPH_DIR=$SCRATCH/ceph CEPH_CONF=$SCRATCH/ceph/ceph.conf GUEST_FILES=$SCRATCH/guest
  step 'Make a network' network_up
  step 'Make a machine' guest_files "$PRESET" "$GUEST_FILES" "$ROOT/build/faults/nodeplugin/imprint-node"
  at_exit ceph_down "$CEPH_DIR"
  step 'Start Ceph' ceph_for_guests
  pytest_run "$ROOT/tests/vm"
}

export PRESET=release
if [[ -z ${VM_NETWORK:-} ]]; then
  outside
else
  inside
fi
