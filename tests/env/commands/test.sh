#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev test [GROUP...]
#: Run all tests, or the named groups.
#:
#: A group is a file tests/env/groups/NN-NAME.sh; the number is its place when all are run. The last
#: line is "N passed, N failed, N skipped"; the exit status is 1 when a case failed or none passed.
#: KEEP=1 keeps the logs. FUZZ_SECONDS sets how long each fuzzer runs (60), SOAK_SECONDS how long
#: the callers of the group soak call (60).
#:
#: Groups: "./dev test --list" prints them.

source "$(dirname "$(realpath "$0")")/../env.sh"

GROUPS_DIR=$ROOT/tests/env/groups

group_name() { # FILE
  REPLY=${1##*/}
  REPLY=${REPLY#[0-9][0-9]-}
  REPLY=${REPLY%.sh}
}

group_list() {
  local file
  for file in "$GROUPS_DIR"/*.sh; do
    group_name "$file"
    printf '  %-10s %s\n' "$REPLY" "$(sed -n 's/^#: //p' "$file")"
  done
}

# group_files NAME…: in FILES, those of the named groups in the order of the names; of all without
# names.
group_files() {
  local name found
  FILES=("$GROUPS_DIR"/*.sh)
  (($#)) || return 0
  FILES=()
  for name in "$@"; do
    found=("$GROUPS_DIR"/[0-9][0-9]-"$name".sh)
    [[ -e ${found[0]} ]] || die "there is no group '$name'; './dev test --list' prints them"
    FILES+=("${found[0]}")
  done
}

# group_run FILE: in a process of its own, which cleans up after itself; what it should leave behind
# all the same (it was killed, say) is stopped here.
group_run() {
  local start
  group_name "$1"
  GROUP=$REPLY RESULTS=$SCRATCH/results-$GROUP
  export GROUP RESULTS
  : >"$RESULTS"
  printf '\n%s%s%s\n' "$C_BOLD" "$GROUP" "$C_OFF"
  now_ms
  start=$REPLY
  process_run "group-$GROUP" "$1"
  scratch_sweep
  ((RUN_STATUS == 0)) || report fail "$GROUP" '' "the group ended with status $RUN_STATUS"
  [[ -s $RESULTS ]] || report fail "$GROUP" '' 'the group reported no case'
  seconds_since "$start"
  SECONDS_OF[$GROUP]=$REPLY
  RAN+=("$GROUP")
}

summary_cases() { # fail|skip TITLE
  local group
  ! grep -q "^$1 " "$SCRATCH"/results-* || {
    printf '\n%s\n' "$2"
    for group in "${RAN[@]}"; do
      sed -n "s|^$1 |  $group: |p" "$SCRATCH/results-$group"
    done
  }
}

summary() {
  local group total=(0 0 0)
  summary_cases skip Skipped
  summary_cases fail Failed
  printf '\n%-12s %8s %8s %8s %10s\n' group passed failed skipped seconds
  for group in "${RAN[@]}"; do
    report_count "$SCRATCH/results-$group"
    printf '%-12s %8d %8d %8d %10s\n' "$group" "${COUNTS[@]}" "${SECONDS_OF[$group]}"
    total=($((total[0] + COUNTS[0])) $((total[1] + COUNTS[1])) $((total[2] + COUNTS[2])))
  done
  printf '%d passed, %d failed, %d skipped\n' "${total[@]}"
  ((total[1] == 0 && total[0] > 0))
}

if [[ ${1:-} == --list ]]; then
  group_list
  exit 0
fi
group_files "$@"
packages_ready
declare -A SECONDS_OF=()
RAN=()
for FILE in "${FILES[@]}"; do
  group_run "$FILE"
done
summary
