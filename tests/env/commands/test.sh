#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev test [GROUP...]
#: Run all tests, or the named groups.
#:
#: A group is a file tests/env/groups/NN-NAME.sh; the number is its place when all are run. The last
#: line is "N passed, N failed, N skipped"; the exit status is 1 when a case failed or none passed.
#: KEEP=1 keeps the logs. FUZZ_SECONDS sets how long each fuzzer runs (60), SOAK_SECONDS how long
#: the callers of the group soak call (60), GROUP_SECONDS how long a group may take (4200) and
#: CASE_SECONDS how long one case of it in Python (300).
#:
#: Groups: "./dev test --list" prints them.

source "$(dirname "$(realpath "$0")")/../env.sh"
source "$ROOT/tests/env/second_try.sh"

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

# group_open FILE: whose cases are reported from here on.
group_open() {
  group_name "$1"
  GROUP=$REPLY RESULTS=$SCRATCH/results-$GROUP
  export GROUP RESULTS
  : >"$RESULTS"
  now_ms
  STARTED_OF[$GROUP]=$REPLY
}

group_title() {
  printf '\n%s%s%s\n' "$C_BOLD" "$GROUP" "$C_OFF"
}

# group_close STATUS
group_close() {
  (($1 == 0)) || report fail "$GROUP" '' "the group ended with status $1"
  [[ -s $RESULTS ]] || report fail "$GROUP" '' 'the group reported no case'
  seconds_since "${STARTED_OF[$GROUP]}"
  SECONDS_OF[$GROUP]=$REPLY
  RAN+=("$GROUP")
}

# group_program FILE: in PROGRAM, what runs it. No group may take all the time that a run has: one
# that hangs is told to end, cleans up and has failed.
group_program() {
  PROGRAM=(timeout --foreground --kill-after=120 "${GROUP_SECONDS:-4200}" "$1")
}

# group_run FILE: in a process of its own, which cleans up after itself; what it should leave behind
# all the same (it was killed, say) is stopped here, unless it may belong to another.
group_run() {
  group_open "$1"
  group_title
  group_program "$1"
  process_run "group-$GROUP" "${PROGRAM[@]}"
  ((${#BESIDE_RUNNING[@]})) || scratch_sweep
  group_close "$RUN_STATUS"
}

# Groups that wait more than they work say "# beside others" in a line of their own. When all groups
# are run they go two at a time beside the rest; their lines are printed when they have ended.
BESIDE=()         # files that have not begun
BESIDE_RUNNING=() # those that run
BESIDE_MAX=2

group_is_beside() { # FILE
  grep -q '^# beside others' "$1"
}

# beside_start: the next ones, while there is room.
beside_start() {
  local file
  while ((${#BESIDE[@]} > 0 && ${#BESIDE_RUNNING[@]} < BESIDE_MAX)); do
    file=${BESIDE[0]}
    BESIDE=("${BESIDE[@]:1}")
    BESIDE_RUNNING+=("$file")
    group_open "$file"
    group_program "$file"
    # shellcheck disable=SC2016 # for the other shell
    process_start "$SCRATCH/pids" "group-$GROUP" "$SCRATCH/log/beside-$GROUP" \
      env IS_BESIDE=1 bash -c 'trap : HUP INT TERM; status=$1; shift; "$@"; echo $? >"$status"' \
      - "$SCRATCH/status-$GROUP" "${PROGRAM[@]}"
  done
}

# beside_finish: prints those that have ended, and starts the next ones.
beside_finish() {
  local status file running=()
  for file in "${BESIDE_RUNNING[@]}"; do
    group_name "$file"
    GROUP=$REPLY RESULTS=$SCRATCH/results-$REPLY
    if process_pid "$SCRATCH/pids" "group-$GROUP"; then
      running+=("$file")
      continue
    fi
    status=$(cat "$SCRATCH/status-$GROUP" 2>/dev/null) || status=137
    group_title
    cat "$SCRATCH/log/beside-$GROUP"
    group_close "$status"
  done
  BESIDE_RUNNING=("${running[@]}")
  beside_start
}

groups_run() {
  local file
  for file in "$@"; do
    beside_finish
    group_run "$file"
  done
  while ((${#BESIDE_RUNNING[@]} > 0)); do
    beside_finish
    sleep 0.5
  done
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

summary_second_tries() {
  ! grep -q '^pass .* in a second run$' "$SCRATCH"/results-* || {
    printf '\nPassed in a second run\n'
    sed -n 's/^pass \(.*\) in a second run$/  \1/p' "$SCRATCH"/results-*
  }
}

summary() {
  local group total=(0 0 0)
  summary_second_tries
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
declare -A SECONDS_OF=() STARTED_OF=()
RAN=()
IN_TURN=()
for FILE in "${FILES[@]}"; do
  if (($# == 0)) && group_is_beside "$FILE"; then
    BESIDE+=("$FILE")
  else
    IN_TURN+=("$FILE")
  fi
done
beside_start
groups_run "${IN_TURN[@]}"
for FILE in "${FILES[@]}"; do
  second_try "$FILE"
done
summary
