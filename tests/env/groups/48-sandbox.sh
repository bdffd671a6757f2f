#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: a program in the worker's sandbox tries to get out of it, and does its work in it

source "$(dirname "$(realpath "$0")")/../env.sh"

ceph_ready
# The build with sanitizers looks at the sandbox's own code; what is shipped is the other one.
for PRESET in release asan; do
  export PRESET
  build_preset "$PRESET"
  pytest_run "$ROOT/tests/sandbox"
done
