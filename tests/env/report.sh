# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How test cases are reported.
#
# A case is one line in the file $RESULTS: `pass NAME`, `fail NAME REASON` or `skip NAME REASON`;
# NAME has no blanks. The line on the screen is printed as the case ends. tests/lib/results.py is
# the same for Python.

# report pass|fail|skip NAME [SECONDS] [REASON…]
report() {
  local outcome=$1 name=${2//[[:space:]]/_} seconds=${3:-} mark="$C_GOOD✓$C_OFF"
  shift $(($# < 3 ? $# : 3))
  case $outcome in
    fail) mark="$C_BAD✗$C_OFF" ;;
    skip) mark="$C_DIM-$C_OFF" ;;
  esac
  printf '%s %s%s\n' "$outcome" "$name" "${*:+ $*}" >>"$RESULTS"
  printf '  %s %-62s %7s%s\n' "$mark" "$name" "${seconds:+$seconds s}" "${*:+  $*}"
}

# case_run NAME COMMAND…: a case that passes when the program or function succeeds. Its output goes
# to a log; the end of that is shown on failure.
case_run() {
  local name=$1 start file=case-${1//[^A-Za-z0-9._-]/-}
  local log=$SCRATCH/log/$file.log
  shift
  now_ms
  start=$REPLY
  process_run "$file" case_output "$log" "$@"
  seconds_since "$start"
  if ((RUN_STATUS == 0)); then
    report pass "$name" "$REPLY"
  else
    report fail "$name" "$REPLY" "exit status $RUN_STATUS"
    log_tail "$log"
  fi
}

case_output() { # LOG COMMAND…
  local log=$1
  shift
  "$@" >"$log" 2>&1
}

# report_count FILE: passed, failed and skipped cases of a results file in COUNTS.
report_count() {
  read -ra COUNTS < <(
    awk '{ n[$1]++ } END { print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 }' "$1"
  )
}
