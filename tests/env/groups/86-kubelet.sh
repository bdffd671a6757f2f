#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: volumes in pods of a real kubelet and containerd, with the mapper that needs no kernel module

# beside others: it waits for kubelet most of the time

# Mounts of its own: whoever makes another such world meanwhile would take copies of ours along. For
# the same reason copies of others go.
if [[ -z ${KUBELET_WORLD:-} ]]; then
  KUBELET_WORLD=1 exec unshare --mount "$0"
fi

source "$(dirname "$(realpath "$0")")/../env.sh"
kubelet_drop_foreign_mounts

# Its workloads find no node: what they would run is run by the tests.
install_chart() {
  helm install imprint "$ROOT/charts/imprint" --namespace imprint-system --create-namespace \
    --set controller.nodeSelector.not=here --set node.nodeSelector.not=here \
    --set node.topology=node
  wait_for 60 kube_kinds_are_served "$KUBE_DIR"
  kube_service_account "$KUBE_DIR" "$SCRATCH/imprint.kubeconfig" imprint-system imprint-controller
  kube_service_account "$KUBE_DIR" "$SCRATCH/node.kubeconfig" imprint-system imprint-node
  export IMPRINT_KUBECONFIG=$SCRATCH/imprint.kubeconfig
  export IMPRINT_NODE_KUBECONFIG=$SCRATCH/node.kubeconfig
}

export PRESET=release
build_preset $PRESET imprint-controller imprint-node
ceph_ready
kube_ready kubelet csi-provisioner csi-snapshotter csi-resizer snapshot-controller helm
step 'Install the chart' install_chart
kubelet_ready
pytest_run "$ROOT/tests/kubelet"
