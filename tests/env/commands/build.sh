#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev build [PRESET...]
#: Build only; "release" unless presets are named.
#:
#: The presets of CMakePresets.json: release, clang, asan, tsan, faults, fuzz. Programs land in
#: build/PRESET/.

source "$(dirname "$(realpath "$0")")/../env.sh"

packages_ready
for PRESET in "${@:-release}"; do
  build_preset "$PRESET"
done
