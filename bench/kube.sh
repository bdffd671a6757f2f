#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: from claim to Bound on a real control plane, beside bare calls, and memory [--quick] [--rounds N] [--json]
#
# A private control plane with the chart's kinds and rights, the provisioner and the populator as its pod runs them,
# on one Ceph.

source "$(dirname "$(realpath "$0")")/../tests/env/env.sh"

build_preset release
ceph_ready
ceph_real_pace "$CEPH_DIR" >/dev/null # the times are those of a Ceph as people run it
at_exit controller_stop "$CEPH_DIR"
step 'Start imprint-controller' controller_start "$CEPH_DIR" release
process_pid "$CEPH_DIR/pids" controller
export CONTROLLER_PID=$REPLY
kube_ready csi-provisioner csi-snapshotter snapshot-controller helm
step 'Install the chart' kube_chart_install
process_must kube "$PYTHON" "$ROOT/bench/kube" "$@"
