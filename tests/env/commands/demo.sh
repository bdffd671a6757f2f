#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev demo
#: The tour: build, start a private Ceph, boot a machine from an image, put volumes through their life.
#:
#: Makes a small bootable disk, imports it as a compressed qcow2 over HTTP, clones it through the CSI
#: socket, boots virtual machines from the clones, loses a disk and rolls it back, and exports it to
#: an object store. Then it creates, snapshots, restores, clones, expands and deletes volumes, and
#: shows that the space came back. At the end it starts a Kubernetes control plane with the chart and
#: goes the same way by kubectl: image, two volumes, a machine, snapshot, rollback, export. Each step
#: is printed with its time, and what it says is checked. Everything is stopped and removed at the
#: end. The first run builds Kubernetes, which takes minutes.

source "$(dirname "$(realpath "$0")")/../env.sh"

source "$ROOT/tests/env/boot_disk.sh"

export BOOT_DISK=$SCRATCH/boot.img BOOT_MARKER='This disk came from Imprint'
export IMPRINT=$ROOT/build/release/cli/imprint

packages_ready
build_preset release imprint imprint-controller imprint-populator
step 'Make a bootable disk' boot_disk "$BOOT_DISK" "$BOOT_MARKER"
ceph_ready
ceph_real_pace "$CEPH_DIR" >/dev/null # the times are those of a Ceph as people run it
at_exit radosgw_down "$CEPH_DIR"
step 'Start radosgw' radosgw_up "$CEPH_DIR"
at_exit controller_stop "$CEPH_DIR"
step 'Start imprint-controller' controller_start "$CEPH_DIR" release
process_must demo "$PYTHON" "$ROOT/tests/env/demo.py"

printf '\n'
kube_ready csi-provisioner csi-snapshotter snapshot-controller helm
step 'Install the chart' kube_chart_install
process_must demo "$PYTHON" "$ROOT/tests/env/demo_kube.py"
