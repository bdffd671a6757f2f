#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: every fuzzer for FUZZ_SECONDS (60), from its committed corpus and FUZZ_SEED (1)

# beside others: it can wait

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/fuzz.sh"

# A change is judged by what it changed. New inputs are looked for by "./dev fuzz".
export FUZZ_SEED=${FUZZ_SEED:-1}
build_preset fuzz
fuzz_programs "$@"
fuzz_run "${FUZZ_SECONDS:-60}" "$SCRATCH"
