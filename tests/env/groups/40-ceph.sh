#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: lib/ceph against a real Ceph, under the address and undefined-behaviour sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

build_preset asan
ceph_ready
ctest_run asan -L '^ceph$' --parallel 1
