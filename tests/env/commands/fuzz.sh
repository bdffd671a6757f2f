#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev fuzz [NAME...]
#: Run the fuzzers overnight: eight hours, shared among all of them or the named ones.
#:
#: FUZZ_HOURS sets how long it takes in all, FUZZ_SECONDS how long each fuzzer runs. What they find is
#: kept in ~/.cache/imprint/fuzz, so the next night goes on from there: corpus/NAME are inputs that
#: reach new code, artifacts/NAME those that broke something. Each of the latter is printed with a
#: command that keeps it as a test. The exit status is 1 when there was one. NAME is that of
#: tests/fuzz/fuzz_NAME.c.

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/fuzz.sh"

packages_ready
build_preset fuzz
fuzz_programs "$@"
ROUNDS=$(((${#FUZZERS[@]} + $(nproc) - 1) / $(nproc)))
SECONDS_EACH=${FUZZ_SECONDS:-$((${FUZZ_HOURS:-8} * 3600 / ROUNDS))}
export RESULTS=$SCRATCH/results
: >"$RESULTS"
printf '%d fuzzers, %d at a time, %d seconds each; what they find is in %s\n' "${#FUZZERS[@]}" \
  "$(nproc)" "$SECONDS_EACH" "$CACHE/fuzz"
fuzz_run "$SECONDS_EACH" "$CACHE/fuzz"
report_count "$RESULTS"
((COUNTS[1] == 0)) || exit 1
