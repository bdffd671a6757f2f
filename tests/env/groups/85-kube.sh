#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the populator on a real Kubernetes control plane, with the sidecars, Ceph and radosgw

# beside others: it waits for Kubernetes most of the time

source "$(dirname "$(realpath "$0")")/../env.sh"

# The chart as it is; its pods wait for a node that never comes, and what they would run is run by
# the tests, with the rights that the chart gives: one that is missing fails them.
install_chart() {
  helm install imprint "$ROOT/charts/imprint" --namespace imprint-system --create-namespace
  wait_for 60 kube_kinds_are_served "$KUBE_DIR"
  kube_service_account "$KUBE_DIR" "$SCRATCH/imprint.kubeconfig" imprint-system imprint-controller
  export IMPRINT_KUBECONFIG=$SCRATCH/imprint.kubeconfig
}

kubevirt_types() {
  gotool kubevirt decode .
  export KUBEVIRT_DECODE=$REPLY
}

export PRESET=release
build_preset $PRESET
ceph_ready
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
kube_ready csi-provisioner csi-snapshotter csi-resizer snapshot-controller helm
step 'Install the chart' install_chart
step "Build a program with KubeVirt's types" kubevirt_types
pytest_run "$ROOT/tests/kube"
