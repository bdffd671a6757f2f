#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the chart as pods of images built here, on a real kubelet: docs/quickstart.md word for word

# beside others: it waits for pods most of the time

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/container_images.sh"

SIDECARS=(csi-provisioner csi-snapshotter csi-resizer)

# ---- outside, where packages can be fetched ------------------------------------------------------

# The names and versions that the chart has by default.
chart_images() {
  local version
  version=$(awk '$1 == "version:" { print $2 }' "$ROOT/charts/imprint/Chart.yaml")
  image_imprint "$IMAGES/controller.tar" "docker.io/imprint/imprint-controller:$version" controller "$PRESET"
  image_imprint "$IMAGES/node.tar" "docker.io/imprint/imprint-node:$version" node "$PRESET"
}

outside() {
  export IMAGES=$SCRATCH/images
  mkdir "$IMAGES"
  build_preset $PRESET
  step 'Build Kubernetes' kube_tools kubelet snapshot-controller helm "${SIDECARS[@]}"
  step 'Build images' chart_images
  process_must world env INSTALL_WORLD=1 unshare --net --mount "$0"
}

# ---- a world of its own ----------------------------------------------------------------------
# Pods reach Ceph by an address that only this network has, and what a node has in fixed places is
# nobody else's.

world_open() {
  kubelet_drop_foreign_mounts
  ip link set lo up
  ip address add "$KUBELET_ADDRESS/32" dev lo
  mount -t tmpfs -o mode=0755 run /run
  mount --make-shared /run # as systemd has it
  mkdir /run/lock
}

# What serves volumes outlives its pod, and a failed test. Its devices are known by the files behind
# them, which only this world has, and it by the network that it is in.
world_close() {
  local device file process own
  for device in /sys/block/loop*; do
    file=$(cat "$device/loop/backing_file" 2>/dev/null) || continue
    [[ $file != /run/imprint-node/* || ! -e $file ]] || losetup --detach "/dev/${device##*/}"
  done
  own=$(readlink /proc/self/ns/net)
  while read -r process; do
    [[ $(readlink "/proc/$process/ns/net") != "$own" ]] || kill -KILL "$process"
  done < <(cat /sys/fs/cgroup/devices/imprint-volumes/cgroup.procs 2>/dev/null)
  find /sys/fs/cgroup/*/imprint-volumes -maxdepth 0 -type d -exec rmdir {} + 2>/dev/null || true
}

ceph_for_pods() {
  ceph_up "$CEPH_DIR" "$KUBELET_ADDRESS"
  ceph auth rm client.imprint # the quick start makes it
  ceph mon dump --format json |
    jq -r '[.mons[].public_addrs.addrvec[] | select(.type == "v1").addr] | join(",")' >"$SCRATCH/monitors"
}

# sidecar_image NAME: as the chart names it.
sidecar_image() {
  awk -v name="$1" 'index($0, "/" name ",") && match($0, /repository: [^,]*, tag: [^,]*/) {
    split(substr($0, RSTART, RLENGTH), part, /repository: |, tag: /); print part[2] ":" part[3] }' \
    "$ROOT/charts/imprint/values.yaml"
}

load_images() {
  local archive name folder=$SCRATCH/sidecar
  for archive in "$IMAGES"/*.tar; do
    kubelet_ctr "$KUBELET_DIR" images import "$archive"
    rm "$archive"
  done
  kubelet_ctr "$KUBELET_DIR" images tag "$KUBELET_BUSYBOX" docker.io/library/busybox:1.36
  for name in "${SIDECARS[@]}"; do
    mkdir "$folder"
    cp "$KUBE_BIN/$name" "$folder/"
    kubelet_image "$KUBELET_DIR" "$(sidecar_image "$name")" "$folder" "[\"/$name\"]"
    rm -r "$folder"
  done
}

inside() {
  export CEPH_DIR=$SCRATCH/ceph CEPH_CONF=$SCRATCH/ceph/ceph.conf NODE_ADDRESS=$KUBELET_ADDRESS
  step 'Make a world' world_open
  at_exit ceph_down "$CEPH_DIR"
  step 'Start Ceph' ceph_for_pods
  KUBE_ADDRESS=$KUBELET_ADDRESS kube_ready kubelet snapshot-controller helm "${SIDECARS[@]}"
  at_exit world_close
  export KUBELET_FOLDER=/var/lib/kubelet
  kubelet_ready
  step 'Load images' load_images
  MONITORS=$(<"$SCRATCH/monitors")
  export MONITORS
  unset ONLY_CASES # each goes on from the one before
  pytest_run "$ROOT/tests/install" --reruns=0 -x
}

export PRESET=release
if [[ -z ${INSTALL_WORLD:-} ]]; then
  outside
else
  inside
fi
