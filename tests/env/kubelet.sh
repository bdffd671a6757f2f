#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# This machine as a node of the private Kubernetes (kube.sh): containerd, runc and kubelet, with
# real pods.
#
# Source it for the functions, or run it: `kubelet.sh kubelet_restart DIR`.
#
#   kubelet_up DIR KUBE_DIR          a node, named $KUBELET_NODE, that is Ready; DIR/kubelet is
#                                    kubelet's folder
#   kubelet_down DIR                 ends its pods, containerd and kubelet by pid; undoes its mounts
#   kubelet_restart DIR              kubelet anew; pods go on
#   kubelet_image DIR NAME FOLDER ENTRYPOINT
#                                    makes a container image of a folder; ENTRYPOINT is JSON
#   kubelet_ctr DIR ARGUMENT…        containerd's own client, in the namespace of kubelet's images
#   kubelet_drop_foreign_mounts      in mounts of one's own: lets go of copies of other people's volumes
#   kubelet_ready                    for groups: all of that, as steps, in $KUBELET_DIR, behind
#                                    kube_ready kubelet …
#
# Images are never pulled: imagePullPolicy Never, and a name that kubelet_image made. There are
# $KUBELET_BUSYBOX, and the pause container. Pods have an address of a bridge of their own, or the
# host's network, and reach the API server as pods do, at $KUBE_SERVICE_IP.
#
# Addresses, cgroups and some sysctls are the machine's, so only one node runs on it at a time:
# another one waits.

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  KUBELET_SH_DIR=$(dirname "$(realpath "$0")")
  for KUBELET_SH_PART in console signals process; do
    # shellcheck disable=SC1090
    source "$KUBELET_SH_DIR/$KUBELET_SH_PART.sh"
  done
fi

KUBELET_NODE=node1
KUBELET_ADDRESS=10.98.0.1 # kubelet refuses a loopback address
KUBELET_PODS=10.97.0.0/24
KUBELET_BRIDGE=imprint-pods
KUBELET_BUSYBOX=localhost/imprint/busybox:1
KUBELET_PAUSE=localhost/imprint/pause:1
# kubelet's folder: DIR/kubelet, unless it is to be where nodes have it
KUBELET_FOLDER=${KUBELET_FOLDER:-}
KUBELET_LOCK=/run/lock/imprint-kubelet
KUBELET_LOCK_SECONDS=1200
KUBELET_SYSCTLS=(vm/overcommit_memory kernel/panic kernel/panic_on_oops) # it sets them itself
export KUBELET_NODE KUBELET_BUSYBOX

# kubelet_drop_foreign_mounts: a volume that is mounted anywhere cannot be unmapped.
kubelet_drop_foreign_mounts() {
  awk '$10 ~ "^/dev/(loop|rbd|nbd)" || $9 ~ "^/dev/(loop|rbd|nbd)" { print $5 }' /proc/self/mountinfo |
    tac | xargs -r -n 1 umount -l
}

# kubelet_up DIR KUBE_DIR
kubelet_up() {
  local dir kube
  dir=$(realpath -m "$1") kube=$(realpath "$2")
  exec {KUBELET_LOCK_FD}>"$KUBELET_LOCK"
  flock -w "$KUBELET_LOCK_SECONDS" "$KUBELET_LOCK_FD" || {
    echo "another test has a node on this machine: $KUBELET_LOCK"
    return 1
  }
  mkdir -p "$dir"/{pids,log,cri/cni,kubelet,images}
  ln -sfn "$kube" "$dir/kube"
  kubelet_keep_sysctls "$dir"
  kubelet_network "$dir"
  kubelet_shared_folder "$dir/kubelet" "${KUBELET_FOLDER:-$dir/kubelet}"
  kubelet_start_containerd "$dir"
  kubelet_base_images "$dir"
  kubelet_identity "$dir"
  kubelet_config "$dir" >"$dir/kubelet.yaml"
  kubelet_start "$dir"
  wait_for 60 kubelet_is_registered "$dir"
  kubelet_kubectl "$dir" wait --for=condition=Ready "node/$KUBELET_NODE" --timeout=90s
}

kubelet_kubectl() { # DIR ARGUMENT…
  local dir=$1
  shift
  "$dir/kube/bin/kubectl" --kubeconfig "$dir/kube/kubeconfig" "$@"
}

kubelet_keep_sysctls() { # DIR
  local name
  for name in "${KUBELET_SYSCTLS[@]}"; do
    printf '%s %s\n' "$name" "$(<"/proc/sys/$name")"
  done >"$1/sysctls"
}

# kubelet_network DIR: the node's address, and the API server at the address that pods know it by.
kubelet_network() {
  local dir=$1
  ip address replace "$KUBELET_ADDRESS/32" dev lo
  ip address replace "$KUBE_SERVICE_IP/32" dev lo
  process_start "$dir/pids" api-relay "$dir/log/api-relay.log" socat \
    "TCP-LISTEN:443,bind=$KUBE_SERVICE_IP,fork,reuseaddr" "TCP:$(<"$dir/kube/address")"
  jq -n --arg bridge "$KUBELET_BRIDGE" --arg subnet "$KUBELET_PODS" --arg data "$dir/cri/ipam" \
    '{cniVersion: "0.4.0", name: "pods", plugins: [
       {type: "bridge", bridge: $bridge, isDefaultGateway: true, hairpinMode: true,
        ipam: {type: "host-local", ranges: [[{subnet: $subnet}]], dataDir: $data}}]}' \
    >"$dir/cri/cni/10-pods.conflist"
}

# kubelet_shared_folder FOLDER PLACE: mounts below it reach pods, and those of pods reach us.
kubelet_shared_folder() {
  mkdir -p "$2"
  mount --bind "$1" "$2"
  mount --make-rshared "$2"
}

kubelet_start_containerd() { # DIR
  local dir=$1
  kubelet_containerd_config "$dir" >"$dir/cri/config.toml"
  process_start "$dir/pids" containerd "$dir/log/containerd.log" \
    containerd -c "$dir/cri/config.toml"
  wait_for 30 kubelet_ctr "$dir" version >/dev/null
}

# What it lacks here: CAP_SYS_RESOURCE, and the kernel's parts for most snapshotters.
kubelet_containerd_config() { # DIR
  cat <<CONFIG
version = 2
root = "$1/cri/root"
state = "$1/cri/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.internal.v1.opt"]
[grpc]
  address = "$1/cri/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$KUBELET_PAUSE"
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$1/cri/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "runc"
CONFIG
}

kubelet_ctr() { # DIR ARGUMENT…
  local dir=$1
  shift
  ctr -a "$dir/cri/c.sock" -n k8s.io "$@" 2>&1
}

# kubelet_image DIR NAME FOLDER ENTRYPOINT: as docker saves one: a layer, a configuration, a list.
kubelet_image() {
  local dir=$1 work=$1/images/work digest
  rm -rf "$work"
  mkdir "$work"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$3" -cf "$work/layer.tar" .
  digest=$(sha256sum "$work/layer.tar")
  jq -n --arg digest "sha256:${digest%% *}" --argjson entrypoint "$4" \
    '{architecture: "amd64", os: "linux", config: {Entrypoint: $entrypoint,
      Env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
      rootfs: {type: "layers", diff_ids: [$digest]}}' >"$work/config.json"
  jq -n --arg name "$2" '[{Config: "config.json", RepoTags: [$name], Layers: ["layer.tar"]}]' \
    >"$work/manifest.json"
  tar -C "$work" -cf "$dir/images/image.tar" manifest.json config.json layer.tar
  kubelet_ctr "$dir" images import "$dir/images/image.tar"
  rm -rf "$work" "$dir/images/image.tar"
}

kubelet_base_images() { # DIR
  local root=$1/images/busybox
  mkdir -p "$root"/{bin,tmp,proc,sys,dev,etc,root,run,mnt}
  cp /bin/busybox "$root/bin/"
  chroot "$root" /bin/busybox --install -s /bin
  kubelet_image "$1" "$KUBELET_PAUSE" "$root" '["/bin/sleep", "2147483647"]'
  kubelet_image "$1" "$KUBELET_BUSYBOX" "$root" '["/bin/sh"]'
}

kubelet_identity() { # DIR
  kube_certificate "$1/kube" kubelet "/CN=kubelet" "subjectAltName = IP:$KUBELET_ADDRESS"
  kube_user "$1/kube" "$1/kube/pki/kubelet.kubeconfig" "system:node:$KUBELET_NODE" system:nodes
}

# cgroups are of version 1 here, and no disk is ever too full for a test.
kubelet_config() { # DIR
  local pki=$1/kube/pki
  kubelet_cgroup "$1"
  cat <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $KUBELET_ADDRESS
port: 10250
healthzPort: 0
readOnlyPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: "$pki/ca.crt"}
authorization: {mode: Webhook}
tlsCertFile: "$pki/kubelet.crt"
tlsPrivateKeyFile: "$pki/kubelet.key"
containerRuntimeEndpoint: "unix://$1/cri/c.sock"
cgroupDriver: cgroupfs
cgroupRoot: /$REPLY
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
resolvConf: ""
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
podLogsDir: "$1/pod-logs"
volumePluginDir: "$1/kubelet/volumeplugins"
enforceNodeAllocatable: [pods]
syncFrequency: 5s
nodeStatusUpdateFrequency: 5s
kubeAPIQPS: 500
kubeAPIBurst: 1000
CONFIG
}

# kubelet_cgroup DIR: in REPLY. Of this kubelet alone: it ends what it does not know below it.
kubelet_cgroup() {
  REPLY=$(realpath -m "$1" | cksum)
  REPLY=imprint-tests-${REPLY%% *}
}

kubelet_start() { # DIR
  local dir=$1 folder
  kubelet_cgroup "$dir"
  for folder in /sys/fs/cgroup/*/; do
    [[ -L ${folder%/} ]] || mkdir -p "$folder$REPLY"
  done
  process_start "$dir/pids" kubelet "$dir/log/kubelet.log" "$dir/kube/bin/kubelet" \
    --config "$dir/kubelet.yaml" --kubeconfig "$dir/kube/pki/kubelet.kubeconfig" \
    --root-dir "${KUBELET_FOLDER:-$dir/kubelet}" --cert-dir "$dir/kubelet/pki" \
    --hostname-override "$KUBELET_NODE" --node-ip "$KUBELET_ADDRESS" --v=2
}

kubelet_is_registered() { # DIR
  process_pid "$1/pids" kubelet || {
    echo 'kubelet ended; its log:'
    tail -n 5 "$1/log/kubelet.log"
    exit 1
  }
  kubelet_kubectl "$1" get node "$KUBELET_NODE"
}

kubelet_restart() { # DIR
  process_stop "$1/pids" kubelet 10 || true
  kubelet_start "$1"
}

# kubelet_down DIR: also of one that was never completed.
kubelet_down() {
  local dir name
  dir=$(realpath -m "$1")
  [[ -d $dir/pids ]] || return 0
  process_stop "$dir/pids" kubelet 10 || true
  kubelet_end_containers "$dir"
  process_stop "$dir/pids" containerd 10 || true
  process_stop "$dir/pids" api-relay 5 || true
  kubelet_unmount "$dir"
  kubelet_remove_cgroups "$dir"
  ip link delete "$KUBELET_BRIDGE" 2>/dev/null || true
  ip address delete "$KUBELET_ADDRESS/32" dev lo 2>/dev/null || true
  ip address delete "$KUBE_SERVICE_IP/32" dev lo 2>/dev/null || true
  while read -r name value; do
    echo "$value" >"/proc/sys/$name"
  done <"$dir/sysctls"
  [[ -n ${KEEP:-} ]] || rm -rf --one-file-system -- "$dir"
  [[ -z ${KUBELET_LOCK_FD:-} ]] || exec {KUBELET_LOCK_FD}>&-
}

kubelet_end_containers() { # DIR
  local name
  process_pid "$1/pids" containerd || return 0
  for name in $(kubelet_ctr "$1" tasks list -q); do
    kubelet_ctr "$1" tasks kill -s KILL "$name" || true
  done
  for name in $(kubelet_ctr "$1" tasks list -q); do
    kubelet_ctr "$1" tasks delete -f "$name" || true
  done
  for name in $(kubelet_ctr "$1" containers list -q); do
    kubelet_ctr "$1" containers delete "$name" || true
  done
}

kubelet_unmount() { # DIR
  local point
  while read -r point; do
    umount "$point" 2>/dev/null || umount -l "$point" || true
  done < <(awk -v dir="$1/" -v folder="${KUBELET_FOLDER:-$1}" \
    'index($5 "/", dir) == 1 || index($5 "/", folder "/") == 1 { print $5 }' /proc/self/mountinfo | tac)
}

kubelet_remove_cgroups() { # DIR
  local folder
  kubelet_cgroup "$1"
  for folder in /sys/fs/cgroup/*/"$REPLY" /sys/fs/cgroup/*/k8s.io; do
    [[ ! -d $folder ]] || find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}

# kubelet_ready
kubelet_ready() {
  export KUBELET_DIR=$SCRATCH/n # short: paths of sockets have 107 bytes
  at_exit kubelet_down "$KUBELET_DIR"
  step 'Start kubelet' kubelet_up "$KUBELET_DIR" "$KUBE_DIR"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    kubelet_restart) "$@" ;;
    *) die "usage: $0 kubelet_restart DIR" ;;
  esac
fi
