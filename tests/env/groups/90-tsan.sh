#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the threads of the RPC layer and of lib/base under ThreadSanitizer

source "$(dirname "$(realpath "$0")")/../env.sh"

# each suppression says why in the file
export TSAN_OPTIONS="suppressions=$ROOT/tests/tsan.supp halt_on_error=1 second_deadlock_stack=1"
build_preset tsan
ctest_run tsan -L '^(unit|tsan)$'
