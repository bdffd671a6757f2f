# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A Ceph that is ready for volumes, and imprint-controller on it.
#
# Everything of the controller is beside the cluster in DIR: csi.sock, clusters.json, state/,
# controller.log. tests/lib/controller.py does the same for tests that kill and restart it.

export CLUSTER_ID=local POOL=imprint DATA_POOL=imprint-data NAMESPACE=tenant

# ceph_ready: a step that starts a cluster with pools in $CEPH_DIR, gone when the shell ends.
ceph_ready() {
  export CEPH_DIR=$SCRATCH/ceph CEPH_CONF=$SCRATCH/ceph/ceph.conf
  at_exit ceph_down "$CEPH_DIR"
  step 'Start Ceph' ceph_furnished "$CEPH_DIR"
}

# ceph_furnished DIR: the cluster, its pools, a namespace, and the controller's configuration.
ceph_furnished() {
  ceph_up "$1"
  ceph_pool "$1" "$POOL" "$NAMESPACE"
  ceph_pool "$1" "$DATA_POOL"
  imprint_config "$1" "$CLUSTER_ID"
}

# imprint_config DIR CLUSTER_ID: the controller's list of clusters: this one, as client.imprint.
imprint_config() {
  jq -n --arg id "$2" --arg dir "$1" \
    '{clusters: [{clusterID: $id, confFile: ($dir + "/ceph.conf"), user: "imprint",
                  keyring: ($dir + "/imprint.keyring")}]}' >"$1/clusters.json"
}

# controller_start DIR [PRESET] [ARGUMENT…]: returns when its socket accepts connections.
controller_start() {
  local dir=$1 preset=${2:-release}
  shift $(($# < 2 ? $# : 2))
  mkdir -p "$dir/state"
  process_start "$dir/pids" controller "$dir/controller.log" \
    "$ROOT/build/$preset/controllerplugin/imprint-controller" --endpoint "unix://$dir/csi.sock" \
    --config "$dir/clusters.json" --state-dir "$dir/state" --log-level info "$@"
  wait_for 30 controller_settled "$dir" || true
  if ! process_pid "$dir/pids" controller || ! controller_serves "$dir"; then
    echo 'the controller did not start; its log:'
    cat "$dir/controller.log"
    return 1
  fi
}

controller_serves() { # DIR
  "$PYTHON" -c 'import socket, sys
sys.exit(socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1]) != 0)' "$1/csi.sock"
}

controller_settled() { # DIR: it serves, or it is gone
  controller_serves "$1" || ! process_pid "$1/pids" controller
}

# controller_stop DIR: fails when it does not end by itself.
controller_stop() {
  process_stop "$1/pids" controller 30
}
