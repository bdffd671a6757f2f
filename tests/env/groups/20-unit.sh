#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: unit tests, as shipped and under AddressSanitizer and UndefinedBehaviorSanitizer

source "$(dirname "$(realpath "$0")")/../env.sh"

for PRESET in release asan; do
  build_preset "$PRESET"
  ctest_run "$PRESET" -L '^unit$'
done
