#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private Kubernetes control plane on one machine: etcd, kube-apiserver, kube-controller-manager,
# kube-scheduler, with the CRDs of volume snapshots and of ReferenceGrant.
#
# Everything lives in DIR, on free ports, so copies run side by side. Source it for the functions,
# or run it: `kube.sh kube_restart_apiserver DIR` (that is how Python tests call it).
#
#   kube_tools [PROGRAM…]    builds the control plane, kubectl and the named programs; KUBE_BIN is
#                            their folder
#   kube_up DIR [ADDR]       a control plane that answers; DIR/kubeconfig is its administrator's
#   kube_down DIR            stops it by pid and removes DIR
#   kube_ctl DIR ARGUMENT…   kubectl as administrator
#   kube_stop_apiserver DIR, kube_start_apiserver DIR [FLAG…], kube_restart_apiserver DIR [FLAG…]
#   kube_ready [PROGRAM…]    for groups: all of that, as steps, in $KUBE_DIR, with KUBECONFIG and
#                            PATH set; it listens on $KUBE_ADDRESS (127.0.0.1)
#
# There is no node: that is another concept. kube_identity.sh makes further users. Lines of
# KUBE_APISERVER_FLAGS in the environment are further flags of the API server; FLAG… hold until its
# next start.
#
# A restarted API server has forgotten what it could replay: watches that go on from an older
# resourceVersion get 410 Gone, which is how tests provoke it.

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  KUBE_SH_DIR=$(dirname "$(realpath "$0")")
  for KUBE_SH_PART in console signals process ports kube_identity; do
    # shellcheck disable=SC1090
    source "$KUBE_SH_DIR/$KUBE_SH_PART.sh"
  done
fi

KUBE_START_TRIES=5 # with other ports each time
KUBE_SERVICES=10.96.0.0/24
KUBE_SERVICE_IP=10.96.0.1 # what pods know the API server by
KUBE_CONTROL_PLANE=(kube-apiserver kube-controller-manager kube-scheduler kubectl)

declare -A KUBE_PACKAGES=(
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kube-scheduler]=k8s.io/kubernetes/cmd/kube-scheduler
  [kubelet]=k8s.io/kubernetes/cmd/kubelet
  [kubectl]=k8s.io/kubernetes/cmd/kubectl
  [csi-provisioner]=github.com/kubernetes-csi/external-provisioner/v5/cmd/csi-provisioner
  [csi-snapshotter]=github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter
  [snapshot-controller]=github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller
  [csi-resizer]=github.com/kubernetes-csi/external-resizer/cmd/csi-resizer
  [helm]=helm.sh/helm/v3/cmd/helm
)

# kube_tools [PROGRAM…]
kube_tools() {
  local program snapshots=github.com/kubernetes-csi/external-snapshotter/client/v8
  local crd=config/crd/snapshot.storage.k8s.io_volumesnapshot
  for program in "${KUBE_CONTROL_PLANE[@]}" "$@"; do
    gotool kube "$program" "${KUBE_PACKAGES[$program]}"
  done
  gotool_files kube crds-snapshots "$snapshots" "$crd"{classes,contents,s}.yaml
  gotool_files kube crds-gateway sigs.k8s.io/gateway-api \
    config/crd/standard/gateway.networking.k8s.io_referencegrants.yaml
  export KUBE_BIN=${REPLY%/*}
}

kube_ctl() { # DIR ARGUMENT…
  local dir=$1
  shift
  "$dir/bin/kubectl" --kubeconfig "$dir/kubeconfig" "$@"
}

# kube_up DIR [ADDR]
kube_up() {
  local dir addr=${2:-127.0.0.1}
  dir=$(realpath -m "$1")
  mkdir -p "$dir"
  chmod 0700 "$dir" # keys
  mkdir "$dir"/{pids,log}
  ln -s "${KUBE_BIN:?kube_tools has not been called}" "$dir/bin"
  kube_authority "$dir"
  kube_certificate "$dir" apiserver /CN=kube-apiserver \
    "subjectAltName = IP:$addr, IP:$KUBE_SERVICE_IP, DNS:localhost, DNS:kubernetes.default.svc"
  # how the API server shows itself to kubelets, for logs and exec
  kube_certificate "$dir" kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client \
    'extendedKeyUsage = clientAuth'
  kube_start_api "$dir" "$addr"
  kube_start_managers "$dir"
  kube_ctl "$dir" apply --server-side -f "$dir/bin/crds-snapshots/" -f "$dir/bin/crds-gateway/"
  wait_for 60 kube_kinds_are_served "$dir"
  wait_for 60 kube_managers_work "$dir"
}

# kube_kinds_are_served DIR: kubectl fails on a definition that has no conditions yet.
kube_kinds_are_served() {
  kube_ctl "$1" wait --for=condition=Established crd --all --timeout=30s
}

# kube_start_api DIR ADDR: etcd and the API server, on ports that nobody else has taken meanwhile;
# and the administrator's kubeconfig, because the address is known from here.
kube_start_api() {
  local dir=$1 addr=$2 try
  for ((try = 0; try < KUBE_START_TRIES; try++)); do
    ports_block 3
    printf '%s:%s\n' "$addr" "$REPLY" >"$dir/address"
    printf 'http://%s:%s\n' "$addr" $((REPLY + 1)) >"$dir/etcd-client"
    printf 'http://%s:%s\n' "$addr" $((REPLY + 2)) >"$dir/etcd-peer"
    kube_user "$dir" "$dir/kubeconfig" admin system:masters
    kube_start_etcd "$dir"
    kube_launch_apiserver "$dir"
    wait_for 120 kube_api_settled "$dir" || break
    kube_runs "$dir" etcd apiserver && return 0
    process_stop "$dir/pids" apiserver 1 || true
    process_stop "$dir/pids" etcd 5 || true
    rm -rf "$dir/etcd"
  done
  echo "the API server did not start; its log:"
  tail -n 5 "$dir/log/etcd.log" "$dir/log/apiserver.log"
  return 1
}

kube_start_etcd() { # DIR
  local dir=$1 client peer
  client=$(<"$dir/etcd-client") peer=$(<"$dir/etcd-peer")
  process_start "$dir/pids" etcd "$dir/log/etcd.log" etcd --name tests --data-dir "$dir/etcd" \
    --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
    --initial-cluster "tests=$peer" --unsafe-no-fsync
}

# kube_launch_apiserver DIR [FLAG…]. No endpoints are announced: loopback addresses are refused
# there. A claim whose source is in another namespace needs a feature that is off by default.
kube_launch_apiserver() {
  local dir=$1 pki=$1/pki address extra
  shift
  address=$(<"$dir/address")
  mapfile -t extra <<<"${KUBE_APISERVER_FLAGS:-}"
  [[ -n ${extra[0]} ]] || extra=()
  process_start "$dir/pids" apiserver "$dir/log/apiserver.log" "$dir/bin/kube-apiserver" \
    --etcd-servers "$(<"$dir/etcd-client")" \
    --bind-address "${address%:*}" --secure-port "${address##*:}" \
    --endpoint-reconciler-type none --service-cluster-ip-range "$KUBE_SERVICES" \
    --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
    --client-ca-file "$pki/ca.crt" \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file "$pki/service-accounts.key" \
    --service-account-signing-key-file "$pki/service-accounts.key" \
    --kubelet-client-certificate "$pki/kubelet-client.crt" \
    --kubelet-client-key "$pki/kubelet-client.key" --kubelet-certificate-authority "$pki/ca.crt" \
    --kubelet-preferred-address-types InternalIP \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
    --allow-privileged=true --feature-gates CrossNamespaceVolumeDataSource=true \
    "${extra[@]}" "$@"
}

kube_answers() { # DIR
  local address
  address=$(<"$1/address")
  { : <>"/dev/tcp/${address%:*}/${address##*:}"; } 2>/dev/null || return 1
  kube_ctl "$1" get --raw /readyz >/dev/null 2>&1
}

kube_api_settled() { # DIR: it serves, or one of them is gone
  ! kube_runs "$1" etcd apiserver || kube_answers "$1"
}

kube_runs() { # DIR NAME…
  local dir=$1 name
  shift
  for name in "$@"; do
    process_pid "$dir/pids" "$name" || return 1
  done
}

# kube_start_managers DIR: the controller manager and the scheduler. They serve nothing, so they need
# no ports; they may ask more often than on a cluster that others use too.
kube_start_managers() {
  local dir=$1 pki=$1/pki name
  for name in controller-manager scheduler; do
    kube_user "$dir" "$pki/$name.kubeconfig" "system:kube-$name"
  done
  process_start "$dir/pids" controller-manager "$dir/log/controller-manager.log" \
    "$dir/bin/kube-controller-manager" --kubeconfig "$pki/controller-manager.kubeconfig" \
    --secure-port 0 --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000 \
    --use-service-account-credentials --root-ca-file "$pki/ca.crt" \
    --service-account-private-key-file "$pki/service-accounts.key" \
    --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
  process_start "$dir/pids" scheduler "$dir/log/scheduler.log" \
    "$dir/bin/kube-scheduler" --kubeconfig "$pki/scheduler.kubeconfig" \
    --secure-port 0 --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000
}

kube_managers_work() { # DIR: the first thing that the controller manager makes is there
  kube_runs "$1" controller-manager scheduler || {
    echo 'the controller manager or the scheduler ended; their logs:'
    tail -n 5 "$1/log/controller-manager.log" "$1/log/scheduler.log"
    exit 1
  }
  kube_ctl "$1" -n default get serviceaccount default
}

# kube_stop_apiserver DIR: like a crash, because it would wait a minute for those who watch.
kube_stop_apiserver() {
  process_stop "$1/pids" apiserver 2 || true
}

# kube_start_apiserver DIR [FLAG…]: returns when it serves.
kube_start_apiserver() {
  kube_launch_apiserver "$@"
  wait_for 120 kube_api_settled "$1"
  kube_runs "$1" apiserver || {
    echo 'the API server did not start again; its log:'
    tail -n 5 "$1/log/apiserver.log"
    return 1
  }
}

kube_restart_apiserver() { # DIR [FLAG…]
  kube_stop_apiserver "$1"
  kube_start_apiserver "$@"
}

# kube_down DIR: also of one that was never completed.
kube_down() {
  local dir name
  dir=$(realpath -m "$1")
  [[ -d $dir/pids ]] || return 0
  for name in scheduler controller-manager apiserver etcd; do
    process_stop "$dir/pids" "$name" 2 || true
  done
  [[ -n ${KEEP:-} ]] || rm -rf -- "$dir"
}

# kube_ready [PROGRAM…]
kube_ready() {
  export KUBE_DIR=$SCRATCH/kube KUBECONFIG=$SCRATCH/kube/kubeconfig
  step 'Build Kubernetes' kube_tools "$@"
  export PATH=$KUBE_BIN:$PATH
  at_exit kube_down "$KUBE_DIR"
  step 'Start Kubernetes' kube_up "$KUBE_DIR" "${KUBE_ADDRESS:-127.0.0.1}"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    kube_up)
      KUBE_HALF_MADE=${2:?which folder?}
      trap 'kube_down "$KUBE_HALF_MADE"' EXIT # failed or interrupted half-way
      signals_trap
      "$@"
      trap - EXIT
      ;;
    kube_down | kube_ctl | kube_user | kube_service_account) "$@" ;;
    kube_stop_apiserver | kube_start_apiserver | kube_restart_apiserver) "$@" ;;
    *) die "usage: $0 FUNCTION DIR …, with a function of the list in its header" ;;
  esac
fi
