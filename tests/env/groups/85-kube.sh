#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the populator on a real Kubernetes control plane, with the sidecars, Ceph and radosgw

# beside others: it waits for Kubernetes most of the time

source "$(dirname "$(realpath "$0")")/../env.sh"

kubevirt_types() {
  gotool kubevirt decode .
  export KUBEVIRT_DECODE=$REPLY
}

virt_controller() {
  gotool virt crds .
  export KUBEVIRT_CRDS=$REPLY
  gotool virt virt-controller kubevirt.io/kubevirt/cmd/virt-controller
  export VIRT_CONTROLLER=$REPLY
}

export PRESET=release
build_preset $PRESET
ceph_ready
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
kube_ready csi-provisioner csi-snapshotter csi-resizer snapshot-controller helm
step 'Install the chart' kube_chart_install
step "Build a program with KubeVirt's types" kubevirt_types
step "Build KubeVirt's virt-controller" virt_controller
pytest_run "$ROOT/tests/kube"
