# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The chart in a private Kubernetes that has no node: its kinds, rights and objects are there, its
# pods wait for a node that never comes. What they would run is run beside it, with the rights that
# the chart gives (tests/lib/chart_pod.py): one that is missing is missed.

# kube_chart_install: in $KUBE_DIR; needs helm. IMPRINT_KUBECONFIG is that of its service account,
# HOST_IMAGES_KUBECONFIG that of the pods which read files of nodes, in HOST_IMAGES. There are no golden
# images until a test asks for some: nothing may be left behind each.
kube_chart_install() {
  export HOST_IMAGES=$SCRATCH/host-images
  mkdir -p "$HOST_IMAGES"
  helm install imprint "$ROOT/charts/imprint" --namespace imprint-system --create-namespace \
    --set hostPathImages.enabled=true --set "hostPathImages.folder=$HOST_IMAGES" \
    --set goldenImages.enabled=false
  wait_for 60 kube_kinds_are_served "$KUBE_DIR"
  kube_service_account "$KUBE_DIR" "$SCRATCH/imprint.kubeconfig" imprint-system imprint-controller
  export IMPRINT_KUBECONFIG=$SCRATCH/imprint.kubeconfig
  kube_service_account "$KUBE_DIR" "$SCRATCH/host-images.kubeconfig" imprint-system imprint-host-images
  export HOST_IMAGES_KUBECONFIG=$SCRATCH/host-images.kubeconfig
}
