#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the unit tests, those of the RPC layer's threads above all, under ThreadSanitizer

source "$(dirname "$(realpath "$0")")/../env.sh"

build_preset tsan
ctest_run tsan -L '^(unit|tsan)$'
