#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: every fuzzer for FUZZ_SECONDS (60), from its committed corpus

# beside others: it can wait

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/fuzz.sh"

build_preset fuzz
fuzz_programs "$@"
fuzz_run "${FUZZ_SECONDS:-60}" "$SCRATCH"
