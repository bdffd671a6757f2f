#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev demo
#: The tour: build, start a private Ceph, and put volumes through their life.
#:
#: Creates, snapshots, restores, clones, expands and deletes volumes through the CSI socket, prints
#: each step with its time, and shows that the space came back. Everything is stopped and removed at
#: the end.

source "$(dirname "$(realpath "$0")")/../env.sh"

packages_ready
build_preset release
ceph_ready
ceph_real_pace "$CEPH_DIR" >/dev/null # the times are those of a Ceph as people run it
at_exit controller_stop "$CEPH_DIR"
step 'Start imprint-controller' controller_start "$CEPH_DIR" release
printf '\n'
process_must demo "$PYTHON" "$ROOT/tests/env/demo.py"
